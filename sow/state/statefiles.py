"""One `state.yaml`: read, changed and written, whole or not at all.

Owns the steps of a change: read, validate, change, validate, write. The
caller holds the lock of the file's folder. Knows no field of any schema.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Generic, TypeVar

from msgspec import UNSET

from sow.files import (
    discard_written,
    read_regular,
    refuse_link_out,
    write_atomically,
    write_beside,
)
from sow.plain_record import PlainRecord
from sow.state.due_entries import settle
from sow.state.kept.copies import read, wrote
from sow.state.kept.guard import has_changed
from sow.state.kept.store import Kept, kept_for
from sow.state.state_errors import InvalidState, MissingState, RefusedChange
from sow.state.version import (
    FIRST_VERSION,
    file_version,
    needed_version,
    raise_version,
    refuse_newer,
)
from sow.unchanged_files import unchanged
from sow.yamlfile import Changes, YamlProblem, read_shared

T = TypeVar("T")

STATE_LIMIT = 1 << 20
"""The largest state file that is read, in bytes: each command reads it whole and at once. The lists
of a long task take a hundredth of that."""
HEADER = b"# Kept by sow. Comments stay; `sow task set` changes a task safely while agents run.\n"


def read_state(path: Path, type: type[T], kept: Kept | None = None) -> T:
    """Return the file as a `type`; `kept` as in `read_bytes`. Raises MissingState, InvalidState.

    For one that hardly ever changes.
    """
    settle(path.parent)
    kept = kept or kept_for(path)
    paths = (str(path), *([kept.copy(kept.name(path))] if kept is not None else ()))
    text = unchanged(lambda: _compared(path, kept), *paths)
    return parse_state(text, type, path=path)


def read_bytes(path: Path, kept: Kept | None = None) -> bytes:
    """Return the bytes of a state file, put back first if git has taken it while a job lives.

    `kept` is where the copies lie; whoever reads many files looks that up once.
    Raises MissingState, NotAFile.
    """
    settle(path.parent)
    return _compared(path, kept or kept_for(path))


def _compared(path: Path, kept: Kept | None) -> bytes:
    data = _read(path)
    if kept is not None and has_changed(kept, path, data):
        data = kept.put_back.get(kept.name(path)) or _read(path)
    if data is None:
        raise MissingState(path)
    return data


def _read(path: Path) -> bytes | None:
    refuse_link_out(path)
    try:
        return read_regular(path, STATE_LIMIT)
    except FileNotFoundError:
        return None


def parse_state(text: bytes, type: type[T], *, path: Path) -> T:
    """Return `text`, the bytes of `path`, as a `type`, which nobody changes.

    Raises NewerState, InvalidState.
    """
    refuse_newer(path, text)
    try:
        return read_shared(text, type, path=path)
    except YamlProblem as problem:
        raise InvalidState(problem) from problem


def effective(
    present: object, changes: Mapping[str, object], *, key: str
) -> dict[tuple[str, ...], object]:
    """Return those of some new values that are not there already, by key path below `key`.

    `changes` names a field, or `field.name` for one name of a table in it.
    """
    found: dict[tuple[str, ...], object] = {}
    for name, value in changes.items():
        field, _, part = name.partition(".")
        there = getattr(present, field)
        if part:
            there = there.get(part, UNSET)
        if there != value:
            found[(key, field, part) if part else (key, field)] = value
    return found


class Draft(PlainRecord, Generic[T]):
    """A change of a state file that was worked out before the lock of its folder is held."""

    text: bytes
    changes: Changes
    result: bytes
    state: T
    file: Path
    """Where `result` lies beside the state file, to be put in its place."""


def drafted(path: Path, text: bytes, changes: Changes, type: type[T]) -> Draft[T]:
    """Return a change of `text`, the bytes of `path`, all but put in place. Raises RefusedChange.

    Its file goes with the next change of the state, or by `discard_draft`.
    """
    result, state = rewritten(path, text, changes, type)
    return Draft(text, changes, result, state, write_beside(path, result))


def discard_draft(draft: Draft[T]) -> None:
    """Remove the file of a draft, if it was not put in place."""
    discard_written(draft.file)


def rewrite_state(
    path: Path, text: bytes, changes: Changes, type: type[T], *, draft: Draft[T] | None = None
) -> T:
    """Write `text`, the bytes of `path`, with `changes` made, and return what stands there then.

    `draft` saves the work where it is of the same text and changes.
    Raises RefusedChange, with nothing written, where the result is invalid.
    """
    written: Path | None = None
    if draft is not None and (draft.text, draft.changes) == (text, changes):
        result, state, written = draft.result, draft.state, draft.file
    else:
        result, state = rewritten(path, text, changes, type)
    needed = needed_version(state)
    if needed > FIRST_VERSION:
        raise_version(path, needed)
    write_atomically(path, result, written=written)
    wrote(path, result, before=text)
    return state


def rewritten(path: Path, text: bytes, changes: Changes, type: type[T]) -> tuple[bytes, T]:
    """Return `text` with `changes` made, and what stands in it then. Raises RefusedChange.

    A file that no reader takes is never made.
    """
    # A reader needs no writer.
    from sow.yamlfile.editing import edit_yaml

    try:
        result = edit_yaml(text, changes, path=path)
        state = read_shared(result, type, path=path)
        needed = needed_version(state)
        if needed > file_version(text):
            result = edit_yaml(result, {"version": needed}, path=path)
            state = read_shared(result, type, path=path)
        _refuse_too_large(result, path)
    except YamlProblem as problem:
        raise RefusedChange(problem) from problem
    return result, state


def _refuse_too_large(text: bytes, path: Path) -> None:
    """Raise YamlProblem for a state file that no command would read again."""
    if len(text) > STATE_LIMIT:
        limit = f"{STATE_LIMIT >> 20} MiB"
        raise YamlProblem(f"{path} would be larger than {limit}, the limit of this file", path=path)


def restore_state(path: Path, otherwise: bytes | None) -> None:
    """Write what was kept of a state file, else `otherwise`, over what is there.

    Nothing is written where there is neither. The caller holds the folder's lock.
    """
    kept = kept_for(path)
    copy = read(kept.copy(kept.name(path))) if kept is not None else None
    data = copy if isinstance(copy, bytes) else otherwise
    if data is not None:
        write_atomically(path, data)
        wrote(path, data)


def new_state(data: Mapping[str, object], type: type[T], *, path: Path) -> bytes:
    """Return the text of a new state file, proven to read as a `type`. Raises RefusedChange."""
    # A reader needs no writer.
    from sow.yamlfile.editing import dump_yaml

    text = HEADER + dump_yaml(data)
    try:
        _refuse_too_large(text, path)
        needed = needed_version(read_shared(text, type, path=path))
    except YamlProblem as problem:
        raise RefusedChange(problem) from problem
    if needed > FIRST_VERSION:
        text += f"version: {needed}\n".encode()
        raise_version(path, needed)
    return text
