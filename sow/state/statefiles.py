"""One `state.yaml`: read, changed and written, whole or not at all.

Owns the steps of a change: read, validate, change, validate, write. The
caller holds the lock of the file's folder. Knows no field of any schema.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

from sow.files import read_regular, write_atomically
from sow.state.errors import InvalidState, MissingState, RefusedChange
from sow.yamlfile import Changes, YamlProblem, read_yaml

T = TypeVar("T")

STATE_LIMIT = 1 << 20
"""The largest state file that is read, in bytes: each command reads it whole and at once. The lists
of a long task take a hundredth of that."""
HEADER = b"# Kept by sow. Comments stay; `sow task set` changes a task safely while agents run.\n"


def read_state(path: Path, type: type[T]) -> T:
    """Return the file as a `type`. Raises MissingState, InvalidState."""
    return parse_state(read_bytes(path), type, path=path)


def read_bytes(path: Path) -> bytes:
    """Return the bytes of a state file. Raises MissingState, NotAFile."""
    try:
        return read_regular(path, STATE_LIMIT)
    except FileNotFoundError:
        raise MissingState(path) from None


def parse_state(text: bytes, type: type[T], *, path: Path) -> T:
    """Return `text`, the bytes of `path`, as a `type`. Raises InvalidState."""
    try:
        return read_yaml(text, type, path=path)
    except YamlProblem as problem:
        raise InvalidState(problem) from problem


def rewrite_state(path: Path, text: bytes, changes: Changes, type: type[T]) -> T:
    """Write `text`, the bytes of `path`, with `changes` made, and return what stands there then.

    Raises RefusedChange, with nothing written, where the result is invalid.
    """
    from sow.yamlfile.editing import edit_yaml

    try:
        result = edit_yaml(text, changes, path=path)
        state = read_yaml(result, type, path=path)
    except YamlProblem as problem:
        raise RefusedChange(problem) from problem
    write_atomically(path, result)
    return state


def new_state(data: Mapping[str, object], type: type[T], *, path: Path) -> bytes:
    """Return the text of a new state file, proven to read as a `type`. Raises RefusedChange."""
    from sow.yamlfile.editing import dump_yaml

    text = HEADER + dump_yaml(data)
    try:
        read_yaml(text, type, path=path)
    except YamlProblem as problem:
        raise RefusedChange(problem) from problem
    return text
