"""The indexes of references and of knowledge: whether they can be read, and name what is there.

And how two sides of one are merged. Reads files, changes none, and asks no remote.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

from sow.errors import SowError
from sow.files import NotAFile, read_inside
from sow.knowledge.index import LIMIT, entry_files
from sow.knowledge.items import is_inside, is_there
from sow.paths import Workspace
from sow.refs.index import index_text, with_references
from sow.refs.refs_errors import RefsFolderTaken
from sow.schema.knowledge import KnowledgeEntry
from sow.schema.references import PREFIX, Reference, ReferenceIndex
from sow.state.state_errors import InvalidState, NewerState
from sow.state.statefiles import parse_state
from sow.validation.kinds import Defect, Kind
from sow.validation.marks import Conflict, conflict_in
from sow.validation.tree import ProjectTree, Tree


def reference_defects(tree: Tree) -> Iterator[Defect]:
    """Yield what is wrong with the index, and the tasks that name what it does not have."""
    path = tree.workspace.reference_index
    try:
        text = index_text(tree.workspace)
    except NotAFile as error:
        yield Defect(kind=Kind.UNREADABLE, path=path, what=f"it cannot be read: {error.reason}")
        return
    except RefsFolderTaken as error:
        what = "it is a symbolic link or not a folder, so sow reads no references there"
        yield Defect(kind=Kind.UNREADABLE, path=error.folder, what=what)
        return
    if conflict_in(text) is not None:
        return
    try:
        index = parse_state(text, ReferenceIndex, path=path)
    except (NewerState, InvalidState) as error:
        yield _misread(path, error)
    else:
        if tree.project is not None:
            yield from _unknown(tree.project, index)


def _unknown(project: ProjectTree, index: ReferenceIndex) -> Iterator[Defect]:
    known = {reference.id for reference in index.references}
    for folder in project.tasks:
        if folder.state is None:
            continue
        for number, entry in enumerate(folder.state.content.references):
            if not isinstance(entry, str) or not entry.startswith(PREFIX):
                continue
            name = entry.removeprefix(PREFIX)
            if name not in known:
                what = f"there is no reference {name!r}"
                keys = ("task", "references", number)
                yield folder.state.defect(Kind.UNKNOWN_REFERENCE, *keys, what=what)


def merged_index(workspace: Workspace, conflict: Conflict, base: bytes | None) -> bytes | str:
    """Return the index that has what both sides have done; or why only a person can say.

    Each reference is taken as a whole. One that both sides have changed is in dispute.
    """
    path = workspace.reference_index
    try:
        ours, theirs = (
            _by_id(parse_state(side, ReferenceIndex, path=path))
            for side in (conflict.ours, conflict.theirs)
        )
        before = _by_id(parse_state(base or b"", ReferenceIndex, path=path))
    except SowError as error:
        return f"one side cannot be read: {getattr(error, 'reason', error.message)}"
    names = list(dict.fromkeys([*ours, *theirs]))
    disputed = [name for name in names if _is_disputed(name, before, ours, theirs)]
    if disputed:
        return f"both sides have changed {', '.join(disputed)}"
    kept = [
        theirs[name] if name in theirs and ours.get(name) == before.get(name) else ours[name]
        for name in names
        if not _was_removed(name, before, ours, theirs)
    ]
    try:
        result = with_references(path, conflict.ours, kept)
        parse_state(result, ReferenceIndex, path=path)
    except SowError as error:
        return f"the merged file would be invalid: {getattr(error, 'reason', error.message)}"
    return result


def _by_id(index: ReferenceIndex) -> dict[str, Reference]:
    return {reference.id: reference for reference in index.references}


Side = Mapping[str, Reference]


def _is_disputed(name: str, before: Side, ours: Side, theirs: Side) -> bool:
    mine, its, old = ours.get(name), theirs.get(name), before.get(name)
    return mine != its and old not in (mine, its)


def _was_removed(name: str, before: Side, ours: Side, theirs: Side) -> bool:
    """Whether one side has taken out what the other has left as it was."""
    return name in before and (name not in ours or name not in theirs)


def knowledge_defects(workspace: Workspace) -> Iterator[Defect]:
    """Yield what is wrong with the entries."""
    for path in entry_files(workspace):
        try:
            text = read_inside(path, workspace.root, LIMIT)
        except FileNotFoundError:
            continue
        except NotAFile as error:
            yield Defect(kind=Kind.UNREADABLE, path=path, what=f"it cannot be read: {error.reason}")
            continue
        if conflict_in(text) is None:
            yield from _of_entry(workspace, path, text)


def later_entry(path: Path, conflict: Conflict) -> bytes | str:
    """Return the later of two entries of one project; or why only a person can say."""
    try:
        ours, theirs = (
            parse_state(side, KnowledgeEntry, path=path)
            for side in (conflict.ours, conflict.theirs)
        )
    except (InvalidState, NewerState) as error:
        return f"one side cannot be read: {getattr(error, 'reason', error.message)}"
    if ours.project.id != theirs.project.id:
        return "the two sides are of different projects"
    return conflict.theirs if theirs.at > ours.at else conflict.ours


def _of_entry(workspace: Workspace, path: Path, text: bytes) -> Iterator[Defect]:
    try:
        entry = parse_state(text, KnowledgeEntry, path=path)
    except (NewerState, InvalidState) as error:
        yield _misread(path, error)
        return
    if not is_inside(workspace, entry.path):
        what = f"{entry.path} leads out of the repository"
    elif not is_there(workspace, entry.path):
        what = f"there is no {entry.path}"
    else:
        return
    line = next(
        (number for number, row in enumerate(text.splitlines(), 1) if row.startswith(b"path:")), 1
    )
    yield Defect(kind=Kind.KNOWLEDGE_MISSING, path=path, line=line, what=what)


def _misread(path: Path, error: NewerState | InvalidState) -> Defect:
    """Return the defect of an index, or of an entry, that cannot be read."""
    if isinstance(error, NewerState):
        what = f"its format is {error.version}, which this sow cannot read"
        return Defect(kind=Kind.NEWER, path=path, line=1, what=what)
    what = f"{error.key}: {error.reason}" if error.key else error.reason
    return Defect(kind=Kind.FORM, path=path, line=error.line or 1, what=what)
