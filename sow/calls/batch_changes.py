"""A batch on record, found and changed: which tasks it is made of, its policy, its pauses."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from sow.calls.caller import Caller
from sow.errors import StateError
from sow.ids import JobId, ProjectId, TaskId, parse_phase, parse_task_id
from sow.jobs import batches, jobs, workers
from sow.jobs.batches import UnknownBatch
from sow.jobs.database import Database
from sow.lifecycle.stages import WHOLE_PHASE
from sow.schema.batch import PAUSED_BY_PERSON, Batch, BatchState, ItemState, Selection
from sow.schema.job import JobState
from sow.schema.kinds import KINDS
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


UNHAPPY = frozenset({ItemState.FAILED, ItemState.NEEDS_PERSON})
"""What an item may have come to, as was told of it last."""
CAME_TO_NOTHING = frozenset({JobState.FAILED, JobState.CANCELLED})
"""How an agent's last job has ended, be that told of its item yet or not."""


class BatchHasEnded(StateError):
    """A batch that has ended cannot be changed."""

    def __init__(self, batch: Batch) -> None:
        super().__init__(
            f"batch {batch.id} is {batch.state.value}",
            hint=f"`sow batch show {batch.id}` shows how it ended; `sow batch run` starts a new"
            " batch with the unfinished tasks.",
        )


def find(caller: Caller, database: Database | None, name: str | None) -> Batch:
    """Return the batch of a number or name; without one the newest. Raises UnknownBatch."""
    project_id = ProjectId(read_project(caller.workspace).id)
    if database is None:
        raise UnknownBatch(name or "on record")
    if name is not None:
        return batches.find_batch(database, project_id, name)
    newest = batches.all_batches(database, project_id, limit=1)
    if not newest:
        raise UnknownBatch("on record")
    return newest[0]


def add(
    caller: Caller,
    database: Database,
    batch: Batch,
    task_ids: Sequence[TaskId],
    *,
    before_approval: bool = False,
) -> None:
    """Add tasks to a batch that goes on; a person may say that they begin before the plan.

    Raises BatchHasEnded, StateError, UnknownTask, WaitsForItself,
    BeforeApproval.
    """
    _refuse_ended(batch)
    if read_project(caller.workspace).id != batch.project_id:
        raise StateError(
            f"batch {batch.id} belongs to another project, which is not checked out",
            hint="`sow batch list` shows the batches of this one.",
        )
    meant = [named_task(caller, database, batch.project_id, task_id) for task_id in task_ids]
    known = {item.task_id for item in batches.items_of(database, batch.id)}
    new = [task_id for task_id in dict.fromkeys(meant) if task_id not in known]
    if not new:
        return
    if not before_approval:
        refuse_unplanned(caller, new, "sow batch run")
    with database.transaction():
        current = batches.get_batch(database, batch.id)
        _refuse_ended(current)
        add_items(database, batch, new)
        if before_approval and not current.policy.before_approval:
            policy = msgspec.structs.replace(current.policy, before_approval=True)
            batches.change_batch(database, batch.id, policy=policy)
    workers.wake(caller.workspace)


def refuse_unplanned(caller: Caller, task_ids: Sequence[TaskId], override: str) -> None:
    """Refuse tasks that may not begin before the project's plan. Raises BeforeApproval."""
    # Whoever only finds a batch admits nothing.
    from sow.calls.admission import refuse_before_approval

    refuse_before_approval(
        caller.workspace,
        lambda: [read_task(caller.workspace, task) for task in task_ids],
        override=override,
    )


def add_items(database: Database, batch: Batch, task_ids: Sequence[TaskId]) -> None:
    """Add tasks; what they have failed with before is forgiven, for somebody asks for them now."""
    batches.add_items(database, batch, task_ids)
    for task_id in task_ids:
        newest = jobs.newest_id(database)
        batches.change_item(database, batch.id, task_id, forgiven=newest)


def remove(caller: Caller, database: Database, batch: Batch, task_ids: Sequence[TaskId]) -> None:
    """Take tasks out of a batch; their jobs go on without what it asks of them.

    Raises BatchHasEnded, StateError.
    """
    # As in `refuse_unplanned`.
    from sow.calls.features import call_features

    with database.transaction():
        _refuse_ended(batches.get_batch(database, batch.id))
        known = {item.task_id for item in batches.items_of(database, batch.id)}
        for task_id in task_ids:
            if task_id not in known:
                raise StateError(
                    f"task {task_id} is not in batch {batch.id}",
                    hint=f"`sow batch show {batch.id}` shows its tasks.",
                )
        for found in batches.jobs_of(database, batch.id):
            if found.task_id in task_ids and not found.state.is_final:
                for feature in call_features():
                    feature.on_leaving(database, jobs.get_job(database, found.id))
        batches.remove_items(database, batch, task_ids)
    workers.wake(caller.workspace)


def pause(database: Database, batch: Batch) -> Batch:
    """Begin nothing more of a batch; what runs goes on. Raises BatchHasEnded."""
    with database.transaction():
        batch = batches.get_batch(database, batch.id)
        _refuse_ended(batch)
        if batch.state is not BatchState.PAUSED:
            changes = {"state": BatchState.PAUSED, "reason": PAUSED_BY_PERSON}
            batches.change_batch(database, batch.id, **changes)
    return batches.get_batch(database, batch.id)


def resume(caller: Caller, database: Database, batch: Batch) -> Batch:
    """Let a batch go on; its items that have failed, or were refused, are put to work again.

    Raises BatchHasEnded.
    """
    with database.transaction():
        batch = batches.get_batch(database, batch.id)
        _refuse_ended(batch)
        newest = jobs.newest_id(database)
        _forgive(database, batch, newest)
        changes = {"state": BatchState.RUNNING, "reason": "", "forgiven": newest, "seen": 0}
        batches.change_batch(database, batch.id, **changes)
        if batch.state is BatchState.RUNNING:
            from sow.jobs import batch_news  # who only finds a batch tells nobody

            batch_news.reopen(database, batch.id)
    workers.wake(caller.workspace)
    return batches.get_batch(database, batch.id)


def _forgive(database: Database, batch: Batch, newest: JobId) -> None:
    """Forgive the items that have come to nothing, up to their last end.

    A job that lives (one that is held, say) may fail yet: that is not forgiven beforehand,
    or its task would be run once more than anybody has asked for.
    """
    last = {job.task_id: job for job in batches.jobs_of(database, batch.id)}
    for item in batches.items_of(database, batch.id):
        job = last.get(item.task_id)
        has_failed = job is not None and KINDS[job.verb].is_agents and job.state in CAME_TO_NOTHING
        if item.refusal or item.state in UNHAPPY or has_failed:
            upto = newest if job is None or job.state.is_final else job.id - 1
            forgiven = max(item.forgiven, upto)
            batches.change_item(database, batch.id, item.task_id, forgiven=forgiven, refusal="")


def ask_features(database: Database, batch: Batch, asked: Mapping[str, Any]) -> None:
    """Give a batch, and its jobs that live, what a call asks of features.

    What the old policy has stopped goes on: workers look at the batch anew. Raises BatchHasEnded.
    """
    # As in `refuse_unplanned`, and in `resume`.
    from sow.calls.features import call_features
    from sow.jobs import batch_news

    features = call_features()
    with database.transaction():
        batch = batches.get_batch(database, batch.id)
        _refuse_ended(batch)
        policy = batch.policy
        for feature in features:
            policy = feature.policy_asked(policy, asked)
        if policy == batch.policy:
            return
        batches.change_batch(database, batch.id, policy=policy)
        batches.forget_refusals(database, batch.id)
        batch_news.reopen(database, batch.id)
        for found in batches.jobs_of(database, batch.id):
            if KINDS[found.verb].is_agents and not found.state.is_final:
                for feature in features:
                    feature.on_policy(database, jobs.get_job(database, found.id), policy)


def _refuse_ended(batch: Batch) -> None:
    if batch.state.has_ended:
        raise BatchHasEnded(batch)
