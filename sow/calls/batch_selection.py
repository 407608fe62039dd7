"""Which tasks a batch is made of: those that a call names, a phase, or all that are left."""

from collections.abc import Sequence

from sow.calls.caller import Caller
from sow.ids import ProjectId, TaskId, parse_phase, parse_task_id
from sow.jobs import batches
from sow.jobs.database import Database
from sow.lifecycle.stages import WHOLE_PHASE
from sow.schema.batch import Selection
from sow.schema.task import Task, TaskStatus
from sow.state.projects import read_project
from sow.state.state_errors import UnknownPhase
from sow.state.tasks import list_tasks, read_task

FINISHED = frozenset({TaskStatus.COMPLETED, TaskStatus.ABANDONED})


def selection_of(tasks: Sequence[str], phase: str | None) -> Selection:
    """Return a selection in its one form: two calls that mean the same are the same."""
    named = sorted({parse_task_id(task) for task in tasks}, key=lambda task: (int(task), task))
    return Selection(tasks=tuple(named), phase=phase)


def tasks_of(
    caller: Caller, database: Database, project_id: ProjectId, selection: Selection
) -> list[TaskId]:
    """Return the tasks of a selection. Those that are named come whatever their status.

    An agent's own task is not meant, nor one above it: the batch would wait for who waits for
    it. Raises UnknownTask, UnknownPhase, WaitsForItself.
    """
    if selection.tasks:
        return [named_task(caller, database, project_id, task) for task in selection.tasks]
    taken = {*batches.open_tasks(database, project_id), *caller.tasks_above(database, project_id)}
    phase = parse_phase(selection.phase) if selection.phase else None
    tasks = list_tasks(caller.workspace)
    if phase is not None and all(task.phase != phase for task in tasks):
        phases = read_project(caller.workspace).phases
        if phase not in phases:
            raise UnknownPhase(phase, phases, may_make=False)
    return [
        TaskId(task.id)
        for task in tasks
        if _is_left(task) and task.id not in taken and _is_meant(task, phase)
    ]


def named_task(caller: Caller, database: Database, project_id: ProjectId, task_id: str) -> TaskId:
    """Return a task that a call names. Raises UnknownTask, WaitsForItself."""
    found = TaskId(read_task(caller.workspace, task_id).id)
    caller.refuse_waiting_for(database, project_id, found)
    return found


def _is_meant(task: Task, phase: str | None) -> bool:
    """Whether a task is of the phase; without one, whether it is part of the project's work."""
    return task.phase != WHOLE_PHASE if phase is None else task.phase == phase


def _is_left(task: Task) -> bool:
    return task.status not in FINISHED
