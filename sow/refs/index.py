"""`.sow/refs/index.yaml`, read and changed: which references the repository has.

Owns the steps of a change: lock, read, validate, change, validate, write. Comments and order
survive, and nothing is written that could not be read again.
"""

import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from msgspec import UNSET, to_builtins

from sow.errors import StateError
from sow.files import NotWritten, locked_folder, read_regular, write_atomically
from sow.paths import Workspace
from sow.refs.refs_errors import RefsFolderTaken, UnknownReference
from sow.schema.references import Reference, ReferenceIndex
from sow.state.state_errors import InvalidState, RefusedChange
from sow.state.version import refuse_newer
from sow.yamlfile import YamlProblem, read_yaml

LIMIT = 1 << 20
HEADER = b"# Kept by sow: `sow refs add`, `sow refs list`. Comments stay.\n"


def read_index(workspace: Workspace) -> ReferenceIndex:
    """Return the index; an empty one where there is none. Raises InvalidState, NewerState."""
    return _parsed(workspace.reference_index, _read(workspace.reference_index))


def parse_index(path: Path, text: bytes) -> ReferenceIndex:
    """Return what the bytes of an index say. Raises InvalidState, NewerState."""
    return _parsed(path, text)


def reference_named(index: ReferenceIndex, name: str) -> Reference:
    """Return the reference of an id. Raises UnknownReference."""
    for reference in index.references:
        if reference.id == name:
            return reference
    raise UnknownReference(name, [reference.id for reference in index.references])


def references_named(index: ReferenceIndex, names: Sequence[str]) -> list[Reference]:
    """Return the references of some ids, each once; all of them where none is named."""
    if not names:
        return list(index.references)
    return [reference_named(index, name) for name in dict.fromkeys(names)]


@contextmanager
def locked_refs(workspace: Workspace) -> Iterator[int]:
    """Hold the lock of `.sow/refs`, and give the folder, open. It is made if it is not there.

    Whatever is done through the descriptor happens in that very folder, though somebody put a
    link in its place meanwhile. Raises RefsFolderTaken, StateLocked, NotWritten.
    """
    folder = workspace.refs
    refuse_foreign(workspace)
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise NotWritten(folder, error) from error
    with locked_folder(folder):
        descriptor = _open(folder)
        try:
            yield descriptor
        finally:
            os.close(descriptor)


def refuse_foreign(workspace: Workspace) -> None:
    """Raise RefsFolderTaken where `.sow/refs` is there, and no folder of its own."""
    try:
        mode = workspace.refs.lstat().st_mode
    except OSError:
        return
    if not stat.S_ISDIR(mode):
        raise RefsFolderTaken(workspace.refs)


def _open(folder: Path) -> int:
    try:
        return os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        raise RefsFolderTaken(folder) from None


def change_index(
    workspace: Workspace, change: Callable[[ReferenceIndex], Sequence[Reference]]
) -> ReferenceIndex:
    """Replace the references by what `change` makes of them. The caller holds `locked_refs`.

    Raises InvalidState, NewerState, RefusedChange, NotWritten; nothing is written then.
    """
    path = workspace.reference_index
    text = _read(path)
    index = _parsed(path, text)
    wanted = list(change(index))
    if wanted == index.references:
        return index
    result = with_references(path, text, wanted)
    try:
        changed = read_yaml(result, ReferenceIndex, path=path)
    except YamlProblem as problem:
        raise RefusedChange(problem) from problem
    if changed.references != wanted:
        raise StateError(
            f"{path} cannot be changed so that only the references change",
            hint="Write it plainly: a list below `references:`, without anchors.",
        )
    write_atomically(path, result)
    return changed


def with_references(path: Path, text: bytes, references: Sequence[Reference]) -> bytes:
    """Return the bytes of an index with other references. Raises RefusedChange."""
    # A reader needs no writer.
    from sow.yamlfile.editing import dump_yaml, edit_yaml

    plain = [as_written(reference) for reference in references]
    if not text.strip():
        return HEADER + dump_yaml({"references": plain})
    try:
        return edit_yaml(text, {"references": plain}, path=path)
    except YamlProblem as problem:
        raise RefusedChange(problem) from problem


def as_written(reference: Reference) -> dict[str, Any]:
    """Return a reference as it stands in the file: without what it does not have."""
    found: dict[str, Any] = to_builtins(reference)
    return {key: value for key, value in found.items() if value not in ("", [], UNSET)}


def _read(path: Path) -> bytes:
    try:
        return read_regular(path, LIMIT)
    except FileNotFoundError:
        return b""


def _parsed(path: Path, text: bytes) -> ReferenceIndex:
    refuse_newer(path, text)
    try:
        return read_yaml(text, ReferenceIndex, path=path)
    except YamlProblem as problem:
        raise InvalidState(problem) from problem
