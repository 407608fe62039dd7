"""The index of knowledge: whether its entries can be read, and what they name is there.

Reads files, changes none.
"""

from collections.abc import Iterator
from pathlib import Path

from sow.files import NotAFile, read_inside
from sow.knowledge.index import LIMIT, entry_files, parse_entry
from sow.knowledge.items import is_inside, is_there
from sow.paths import Workspace
from sow.state.state_errors import InvalidState, NewerState
from sow.validation.kinds import Defect, Kind
from sow.validation.marks import Conflict, conflict_in


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
        ours, theirs = (parse_entry(path, side) for side in (conflict.ours, conflict.theirs))
    except (InvalidState, NewerState) as error:
        return f"one side cannot be read: {getattr(error, 'reason', error.message)}"
    if ours.project.id != theirs.project.id:
        return "the two sides are of different projects"
    return conflict.theirs if theirs.at > ours.at else conflict.ours


def _of_entry(workspace: Workspace, path: Path, text: bytes) -> Iterator[Defect]:
    try:
        entry = parse_entry(path, text)
    except NewerState as error:
        what = f"its form is {error.version}, which this sow does not read"
        yield Defect(kind=Kind.NEWER, path=path, line=1, what=what)
        return
    except InvalidState as error:
        what = f"{error.key}: {error.reason}" if error.key else error.reason
        yield Defect(kind=Kind.FORM, path=path, line=error.line or 1, what=what)
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
