"""`.sow/refs/index.yaml`, read and changed: which references the repository has.

Owns the steps of a change: lock, read, validate, change, validate, write. Comments and order
survive, and nothing is written that could not be read again.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from msgspec import UNSET, to_builtins

from sow.errors import StateError
from sow.files import read_regular_in, write_in
from sow.paths import Workspace
from sow.refs.folder import opened_refs
from sow.schema.references import Reference, ReferenceIndex
from sow.state.state_errors import RefusedChange
from sow.state.statefiles import parse_state
from sow.yamlfile import YamlProblem, read_yaml

LIMIT = 1 << 20
HEADER = b"# Kept by sow: `sow refs add`, `sow refs list`. Comments stay.\n"


def read_index(workspace: Workspace) -> ReferenceIndex:
    """Return the index; an empty one where there is none.

    Raises InvalidState, NewerState, NotAFile, RefsFolderTaken.
    """
    return parse_state(index_text(workspace), ReferenceIndex, path=workspace.reference_index)


def index_text(workspace: Workspace) -> bytes:
    """Return the bytes of the index; none where there is none. Raises NotAFile, RefsFolderTaken."""
    with opened_refs(workspace) as folder:
        return b"" if folder is None else _read(folder, workspace.reference_index)


def reference_named(index: ReferenceIndex, name: str) -> Reference:
    """Return the reference of an id. Raises StateError."""
    for reference in index.references:
        if reference.id == name:
            return reference
    known = [reference.id for reference in index.references]
    from difflib import get_close_matches  # heavy, and for an error's hint alone

    near = get_close_matches(name, known, n=1)
    guess = f"Did you mean {near[0]}? " if near else ""
    there = f"There are: {', '.join(known)}." if known else "There is none yet."
    raise StateError(
        f"there is no reference {name!r}",
        hint=f"{guess}{there} `sow refs list` shows them.",
    )


def references_named(index: ReferenceIndex, names: Sequence[str]) -> list[Reference]:
    """Return the references of some ids, each once; all of them where none is named."""
    if not names:
        return list(index.references)
    return [reference_named(index, name) for name in dict.fromkeys(names)]


def change_index(
    folder: int, workspace: Workspace, change: Callable[[ReferenceIndex], Sequence[Reference]]
) -> ReferenceIndex:
    """Replace the references by what `change` makes of them. `folder` is of `locked_refs`.

    Raises InvalidState, NewerState, RefusedChange, NotWritten; nothing is written then.
    """
    path = workspace.reference_index
    text = _read(folder, path)
    index = parse_state(text, ReferenceIndex, path=path)
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
    write_in(folder, path, result)
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


def _read(folder: int, path: Path) -> bytes:
    try:
        return read_regular_in(folder, path, LIMIT)
    except FileNotFoundError:
        return b""
