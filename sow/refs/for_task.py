"""The references that a task names: which they are, and where its agent finds them.

What an agent may read is
taken from the index and the cache alone: a link that somebody else put into `.sow/refs` leads
nowhere.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

from msgspec import Struct

from sow.errors import SowError
from sow.paths import Workspace
from sow.refs.cache import cached
from sow.refs.index import read_index, reference_named
from sow.refs.linking import Presence, look
from sow.schema.references import PREFIX, Reference, ReferenceIndex, named_in


class TaskReference(Struct, frozen=True):
    """A reference that a task names."""

    name: str
    reference: Reference | None
    """None where the index has none of that id."""
    folder: Path | None = None
    """Where its files lie; None where they are not on this machine."""
    readable: Path | None = None
    """The folder that its agent is to read: the tree's own, or the copy."""


def entries_for(workspace: Workspace, names: Sequence[str]) -> list[str]:
    """Return the entries by which a task names references. Raises StateError."""
    if not names:
        return []
    index = read_index(workspace)
    return [f"{PREFIX}{reference_named(index, name).id}" for name in names]


def refuse_unknown(workspace: Workspace, entries: Iterable[object]) -> None:
    """Raise StateError where an entry names a reference that the index does not have."""
    entries_for(workspace, named_in(entries))


def references_of(workspace: Workspace, entries: Iterable[object]) -> list[TaskReference]:
    """Return the references that a task names, as they are on this machine. Raises nothing."""
    names = list(dict.fromkeys(named_in(entries)))
    if not names:
        return []
    try:
        index = read_index(workspace)
    except SowError:  # `sow validate` tells of it; the agent is told that they are not here
        index = ReferenceIndex()
    known = {reference.id: reference for reference in index.references}
    return [_found(workspace, name, known.get(name)) for name in names]


def _found(workspace: Workspace, name: str, reference: Reference | None) -> TaskReference:
    if reference is None:
        return TaskReference(name, None)
    found = look(workspace, reference, cached(reference.source))
    if found.folder is None:
        return TaskReference(name, reference)
    is_tree = found.presence is Presence.LINKED
    readable = found.folder.parent if is_tree else found.folder
    return TaskReference(name, reference, found.folder, readable)
