"""The project of a branch: its folder and its `state.yaml`.

Owns how a project begins, the steps of each change of it, and which phases it
has. Its tasks are `state.tasks`.
"""

import os
from collections.abc import Callable, Mapping, Sequence

from sow.clock import format_time
from sow.errors import StateError
from sow.files import (
    NotWritten,
    discard_tree,
    locked_folder,
    locked_once,
    make_folder,
    move,
    refuse_leading_out,
    remove_empty,
    sync_folder,
    write_atomically,
)
from sow.ids import PhaseName, ProjectId, TaskId, parse_phase
from sow.lifecycle.stages import STAGES, ProjectType
from sow.paths import Workspace
from sow.schema.project import Project, ProjectState
from sow.state.due_entries import owed
from sow.state.kept.putback import adopt
from sow.state.kept.store import Kept, kept_for
from sow.state.log_writing import LogEntry
from sow.state.places import first_file, has_project, is_missing
from sow.state.state_errors import NoProject, ProjectWithoutState
from sow.state.statefiles import (
    effective,
    new_state,
    parse_state,
    read_bytes,
    read_state,
    rewrite_state,
)
from sow.state.transitions import moment
from sow.state.version import check_version
from sow.state.workspace_init import share_logs

FirstTasks = Mapping[TaskId, Mapping[str, bytes]]
"""The files of a project's first tasks, by their names, by the tasks' ids."""
DRAFT = ".project.{}.tmp"
"""A project's folder on its way into place."""
Change = Callable[[Project], Mapping[str, object]]
"""Given the project as it stands, returns new values by field (`metadata.KEY` too), or raises."""


def read_project(workspace: Workspace, kept: Kept | None = None) -> Project:
    """Return the project; `kept` is where the copies lie, if the caller has looked that up.

    Raises NoProject, NewerState, InvalidState.
    """
    check_version(workspace)
    _refuse_missing(workspace)
    return read_state(workspace.project_state, ProjectState, kept).project


def _refuse_missing(workspace: Workspace) -> None:
    """Raise NoProject where there is no `state.yaml`; of another kind where other files are."""
    if os.path.isfile(workspace.project_state):  # noqa: PTH113 - as it mostly is
        return
    if has_project(workspace) and not is_missing(workspace.project_state):
        return
    file = first_file(workspace.project)
    raise ProjectWithoutState(workspace.project, file) if file else NoProject(workspace.project)


def new_project(
    workspace: Workspace,
    *,
    name: str,
    project_id: ProjectId,
    now: float,
    description: str = "",
    branch: str | None = None,
    phases: Sequence[str] | None = None,
    kind: ProjectType | None = None,
    tasks: FirstTasks | None = None,
    inputs: Sequence[Mapping[str, object]] = (),
    metadata: Mapping[str, str] | None = None,
) -> Project:
    """Make the project's folder, whole or not at all, and return what stands in its state.

    `project_id` is a new UUID. Without a `kind` the project says neither type
    nor state: it is a standard one in execution. Without `phases` it has its
    type's. `tasks` are the files of its first tasks, in its first phase, and
    `inputs` the files that it is begun from. Raises StateError where there is a project.
    """
    check_version(workspace)
    refuse_leading_out(workspace.project)
    if has_project(workspace):
        _refuse_missing(workspace)
    stages = STAGES[kind or ProjectType.STANDARD]
    chosen = stages.phases if phases is None else phases
    names = [parse_phase(phase) for phase in dict.fromkeys(chosen)]
    fields: dict[str, object] = {
        "id": project_id,
        "name": name,
        **({"description": description} if description else {}),
        **({"branch": branch} if branch else {}),
        **({"type": kind.value, "state": stages.first} if kind is not None else {}),
        "phases": names,
        "created_at": moment(now),
        "updated_at": moment(now),
        **({"inputs": [dict(found) for found in inputs]} if inputs else {}),
        "metadata": dict(metadata or {}),
    }
    text = new_state({"project": fields}, ProjectState, path=workspace.project_state)
    share_logs(workspace)
    with locked_folder(workspace.sow):
        if not is_missing(workspace.project_state):
            raise StateError(
                f"a project exists already: {workspace.project}",
                hint="`sow project status` shows it. A branch can have only one project.",
            )
        _build(workspace, text, names, tasks or {})
        _keep(workspace)
    if tasks:
        _note(workspace, names[0], tasks, now=now)
    return read_project(workspace)


def _note(workspace: Workspace, phase: PhaseName, tasks: FirstTasks, *, now: float) -> None:
    """Note the statuses of a new project's tasks for the record of changes."""
    # Few projects are begun with tasks.
    from sow.schema.task import TaskState
    from sow.state.status_notes import note_status
    from sow.state.task_folder import STATE

    for task_id, files in tasks.items():
        path = workspace.task(phase, task_id) / STATE
        note_status(workspace, path, parse_state(files[STATE], TaskState, path=path).task, now=now)


def _build(
    workspace: Workspace,
    text: bytes,
    phases: Sequence[PhaseName],
    tasks: FirstTasks,
) -> None:
    """Make the folder under a name of its own and put it in place by one rename.

    Whoever makes one holds the lock of `.sow`, so that what lies there under such a name
    was left by somebody who was killed.
    """
    for left in workspace.sow.glob(DRAFT.format("*")):
        discard_tree(left)
    draft = workspace.sow / DRAFT.format(os.urandom(6).hex())
    try:
        make_folder(draft / "context")
        for phase in phases:
            make_folder(draft / "phases" / phase / "tasks")
        for task_id, files in tasks.items():
            folder = draft / "phases" / phases[0] / "tasks" / task_id
            make_folder(folder / "feedback")
            for name, data in files.items():
                write_atomically(folder / name, data)
        write_atomically(draft / "log.md", b"")
        write_atomically(draft / "state.yaml", text)
        remove_empty(workspace.project)
        move(draft, workspace.project)
        sync_folder(workspace.sow)
    except OSError as error:
        raise NotWritten(workspace.project, error) from error
    finally:
        discard_tree(draft)


def _keep(workspace: Workspace) -> None:
    """Keep copies of a new project, and of what lies beside it."""
    kept = kept_for(workspace.project_state)
    if kept is not None:
        adopt(kept)


def change_project(
    workspace: Workspace,
    change: Change,
    *,
    now: float,
    entries: Callable[[], Sequence[LogEntry]] = tuple,
) -> Project:
    """Change the project under its lock and return it as it then stands.

    `change` sees the project as it is under the lock; what it raises passes
    through. Values that are there already are not written, and `updated_at`
    moves only with another field. Where something has changed, the project's
    log gets `entries`, which are asked for after `change`. Raises what `read_project`
    does, StateLocked, RefusedChange and NotWritten; in every case the file is as it was.
    """
    check_version(workspace)
    _refuse_missing(workspace)
    path = workspace.project_state
    with locked_once(workspace.project):
        text = read_bytes(path)
        project = parse_state(text, ProjectState, path=path).project
        changes = effective(project, change(project), key="project")
        if changes:
            changes[("project", "updated_at")] = moment(now)
            with owed(workspace.project, entries(), text, at=format_time(now)):
                project = rewrite_state(path, text, changes, ProjectState).project
        return project


def add_phase(workspace: Workspace, phase: PhaseName, *, now: float) -> Project:
    """Add `phase` to the project's list if it is not there. Raises what `change_project` does."""

    def change(project: Project) -> Mapping[str, object]:
        return {"phases": list(dict.fromkeys([*project.phases, phase]))}

    return change_project(workspace, change, now=now)
