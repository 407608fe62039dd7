"""What a breakdown has on record of a work unit that gets another id.

Owns the approval, which goes along if it was theirs and held, and the file in
which the unit was published.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import UNSET

from sow.files import NotAFile, read_regular, remove_file
from sow.ids import TaskId
from sow.paths import Workspace
from sow.schema.project import Project, ProjectState
from sow.state import units
from sow.state.artifacts import LARGEST
from sow.state.lifecycle import unit_content_at
from sow.state.projects import change_project
from sow.state.statefiles import read_state
from sow.state.tasks import read_task
from sow.validation.same_ids import Pair


def renumber_units(
    workspace: Workspace, pairs: Sequence[Pair], ids: Mapping[str, TaskId], *, now: float
) -> Iterator[tuple[Path, str]]:
    """Have approvals and published files of theirs follow; yield what was done."""
    project = read_state(workspace.project_state, ProjectState).project
    approved = () if project.units is UNSET else project.units
    for pair in pairs:
        for unit in approved:
            if unit.id == pair.id and unit.content == _content(workspace, pair, ids):
                _approve_anew(workspace, pair, ids, now)
                yield (
                    workspace.project_state,
                    f"the approval of {pair.id} is that of {ids[pair.id]}",
                )
        yield from _published(workspace, project, pair, ids)


def _content(workspace: Workspace, pair: Pair, ids: Mapping[str, TaskId]) -> str:
    """Return what told theirs from other units before it got its new id."""
    description = pair.their_folder.with_name(ids[pair.id]) / "description.md"
    return unit_content_at(workspace, pair.theirs, description)


def _approve_anew(workspace: Workspace, pair: Pair, ids: Mapping[str, TaskId], now: float) -> None:
    """Write the approval of theirs under its new id."""
    task = read_task(workspace, ids[pair.id])
    description = pair.their_folder.with_name(ids[pair.id]) / "description.md"
    content = unit_content_at(workspace, task, description)

    def change(project: Project) -> Mapping[str, object]:
        there = [] if project.units is UNSET else project.units
        rows: list[object] = []
        for unit in there:
            fields = {name: getattr(unit, name) for name in unit.__struct_fields__}
            is_theirs = unit.id == pair.id and unit.content == _content(workspace, pair, ids)
            rows.append({**fields, "id": task.id, "content": content} if is_theirs else fields)
        return {"units": rows}

    change_project(workspace, change, now=now)


def _published(
    workspace: Workspace, project: Project, pair: Pair, ids: Mapping[str, TaskId]
) -> Iterator[tuple[Path, str]]:
    """Write their published file anew, where there was one that is not ours."""
    old, mine = units.path_of(project, pair.theirs), units.path_of(project, pair.ours)
    path = workspace.root / old
    if old == mine or not path.is_file() or path.is_symlink():
        return
    try:
        before = read_regular(path, LARGEST)
    except NotAFile:
        return
    task = read_task(workspace, ids[pair.id])
    (new,) = units.publish(workspace, project, [task])
    if before.partition(b"\n---\n")[2] == units.text_of(workspace, task).partition(b"\n---\n")[2]:
        remove_file(path)
    yield workspace.root / new, f"{old} is published under its new id"
