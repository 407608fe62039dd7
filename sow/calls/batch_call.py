"""Making a batch, or finding the one that the same call has made; and changing one.

Owns which tasks a call means, and what makes two calls the same: project and
selection, while the batch goes on. What a batch does is the workers' matter.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from sow.agents.roles import get_agent
from sow.calls.ancestry import refuse_task_of_ancestor, tasks_above
from sow.calls.budgeting import CannotBeKept, unkept
from sow.calls.caller import Caller
from sow.calls.ended_project import refuse_without_project
from sow.calls.plan_gate import refuse_before_approval
from sow.config.checks import checks_of, chosen, read_repository
from sow.errors import StateError, UsageError
from sow.ids import BatchId, JobId, ProjectId, TaskId, parse_phase, parse_task_id
from sow.jobs import batch_news, batches, jobs, workers
from sow.jobs.batches import SameBatchGoesOn, UnknownBatch
from sow.jobs.database import Database, open_existing_queue
from sow.lifecycle.stages import WHOLE_PHASE
from sow.schema.batch import (
    PAUSED_BY_PERSON,
    Batch,
    BatchPolicy,
    BatchState,
    ItemState,
    Selection,
)
from sow.schema.budget import Amounts, Budgets
from sow.schema.job import JobState
from sow.schema.kinds import KINDS
from sow.schema.task import Task, TaskStatus
from sow.state.projects import read_project
from sow.state.state_errors import UnknownPhase
from sow.state.tasks import list_tasks, read_task

FINISHED = frozenset({TaskStatus.COMPLETED, TaskStatus.ABANDONED})
UNHAPPY = frozenset({ItemState.FAILED, ItemState.NEEDS_PERSON})
"""What an item may have come to, as was told of it last."""
CAME_TO_NOTHING = frozenset({JobState.FAILED, JobState.CANCELLED})
"""How an agent's last job has ended, be that told of its item yet or not."""


class BatchHasEnded(StateError):
    """A batch that has ended cannot be changed."""

    def __init__(self, batch: Batch) -> None:
        super().__init__(
            f"batch {batch.id} is {batch.state.value}",
            hint=f"`sow batch show {batch.id}` shows how it ended;"
            " `sow batch run` makes a new one of what is not finished.",
        )


class OtherProjectsBatch(StateError):
    """A batch belongs to a project that is not checked out: its tasks are not those here."""

    def __init__(self, batch: Batch) -> None:
        super().__init__(
            f"batch {batch.id} belongs to another project, which is not checked out",
            hint="`sow batch list` shows the batches of this one.",
        )


class NotInBatch(StateError):
    """A task is no item of a batch."""

    def __init__(self, task_id: str, batch: Batch) -> None:
        super().__init__(
            f"task {task_id} is not in batch {batch.id}",
            hint=f"`sow batch show {batch.id}` shows its tasks.",
        )


class NumberForName(UsageError):
    """A batch is to be called by a number, which other commands would take for another batch's."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"a batch cannot be called {name}: that would be the number of one",
            hint=f"Add a letter: --name b{name}.",
        )


class NameIsTaken(StateError):
    """A batch is to be called as another one that goes on."""

    def __init__(self, batch: Batch) -> None:
        super().__init__(
            f"batch {batch.id}, which goes on, is called {batch.name} already",
            hint=f"Give another --name; `sow batch add {batch.label} TASK` adds to that one.",
        )


class NothingToCheck(StateError):
    """The checks of a batch are to accept work, and it runs none."""

    def __init__(self) -> None:
        super().__init__(
            "--accept check needs --check", hint="Without checks only a person, or a reviewer, can."
        )


@dataclass(frozen=True)
class Wanted:
    """What a call asks for."""

    selection: Selection
    policy: BatchPolicy
    name: str = ""
    has_budget: bool = False
    """Whether the call itself gives the budget."""


@dataclass(frozen=True)
class Made:
    """A batch on record, and how this call came to it."""

    batch: Batch
    attached: bool = False
    notes: tuple[str, ...] = ()


def make_or_attach(caller: Caller, database: Database, wanted: Wanted) -> Made | None:
    """Return the batch of a selection: the one that goes on, else a new one.

    Where no task is left it is the last one of that selection, None where none was.

    Raises NumberForName, NameIsTaken, UnknownPhase, UnknownTask, TaskInBatch, UnknownAgent,
    UnknownCheck, NoChecks, NothingToCheck, BeforeApproval.
    """
    if wanted.name.isdecimal():
        raise NumberForName(wanted.name)
    project_id = ProjectId(read_project(caller.workspace).id)
    found = batches.open_batch(database, project_id, wanted.selection)
    if found is not None:
        return _attached(caller, database, found, wanted)
    for other in batches.going_on(database, project_id) if wanted.name else ():
        if other.name == wanted.name:
            raise NameIsTaken(other)
    refuse_policy(caller, wanted.policy)
    meant = tasks_of(caller, database, project_id, wanted.selection)
    if not meant:
        last = batches.last_batch(database, project_id, wanted.selection)
        return None if last is None else Made(last, attached=True)
    if not wanted.policy.before_approval:
        _refuse_unplanned(caller, meant, "sow batch run")
    _refuse_unkept(caller, wanted.policy, meant)
    try:
        batch = _insert(caller, database, project_id, wanted, meant)
    except SameBatchGoesOn:  # another call was first
        return make_or_attach(caller, database, wanted)
    workers.wake(caller.workspace)
    return Made(batch)


def _attached(caller: Caller, database: Database, batch: Batch, wanted: Wanted) -> Made:
    """Return a batch that goes on, with what is meant and is not in it.

    That was added to the project since, or taken out of the batch: it is asked for now.
    """
    policy = wanted.policy
    meant = tasks_of(caller, database, batch.project_id, wanted.selection)
    add(caller, database, batch, meant, before_approval=policy.before_approval)
    notes = []
    if wanted.name not in ("", batch.name):
        known = f"is called {batch.name}" if batch.name else "has no name"
        notes.append(f"batch {batch.id} {known}, as it was made")
    if wanted.has_budget:
        give_budget(database, batch, policy.budget, unmetered=policy.unmetered)
        workers.wake(caller.workspace)
    kept = {
        "budget": policy.budget,
        "unmetered": policy.unmetered,
        "before_approval": policy.before_approval,
    }
    if policy != msgspec.structs.replace(batch.policy, **kept):
        notes.append(f"batch {batch.id} goes on with the policy that it was made with")
    return Made(batch, attached=True, notes=tuple(notes))


def give_budget(
    database: Database, batch: Batch, budget: Amounts | None, *, unmetered: bool
) -> None:
    """Give a batch a new total, and its jobs that live; without one it keeps what it has.

    What the old one has stopped goes on: workers look at the batch anew. Raises BatchHasEnded.
    """
    with database.transaction():
        batch = batches.get_batch(database, batch.id)
        _refuse_ended(batch)
        policy = msgspec.structs.replace(
            batch.policy,
            budget=budget or batch.policy.budget,
            unmetered=unmetered or batch.policy.unmetered,
        )
        if policy == batch.policy:
            return
        batches.change_batch(database, batch.id, policy=policy)
        batches.forget_refusals(database, batch.id)
        batch_news.tell_anew(database, batch.id)
        for found in batches.jobs_of(database, batch.id):
            if KINDS[found.verb].is_agents and not found.state.is_final:
                bound = jobs.get_job(database, found.id).budgets or Budgets()
                unmetered = bound.unmetered or policy.unmetered
                bound = msgspec.structs.replace(bound, batch=policy.budget, unmetered=unmetered)
                jobs.change_job(database, found.id, budgets=bound)


def _refuse_unkept(caller: Caller, policy: BatchPolicy, task_ids: Sequence[TaskId]) -> None:
    """Refuse a budget that an agent of the batch could not keep. Raises CannotBeKept."""
    if policy.budget is None or policy.unmetered:
        return
    config = caller.load_configuration()
    roles = {read_task(caller.workspace, task_id).assigned_agent for task_id in task_ids}
    roles |= {policy.reviewer} if policy.review else set()
    for role in sorted(roles & set(config.bindings)):
        for words in unkept(config.binding(role).executor, Budgets(batch=policy.budget)):
            raise CannotBeKept(words)


def tasks_of(
    caller: Caller, database: Database, project_id: ProjectId, selection: Selection
) -> list[TaskId]:
    """Return the tasks of a selection. Those that are named come whatever their status.

    An agent's own task is not meant, nor one above it: the batch would wait for who waits for
    it. Raises UnknownTask, UnknownPhase, WaitsForItself.
    """
    if selection.tasks:
        return [_named(caller, database, project_id, task) for task in selection.tasks]
    taken = {*batches.open_tasks(database, project_id), *tasks_above(caller, database, project_id)}
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


def _named(caller: Caller, database: Database, project_id: ProjectId, task_id: str) -> TaskId:
    found = TaskId(read_task(caller.workspace, task_id).id)
    refuse_task_of_ancestor(caller, database, project_id, found)
    return found


def _is_meant(task: Task, phase: str | None) -> bool:
    """Whether a task is of the phase; without one, whether it is part of the project's work."""
    return task.phase != WHOLE_PHASE if phase is None else task.phase == phase


def _is_left(task: Task) -> bool:
    return task.status not in FINISHED


def selection_of(tasks: Sequence[str], phase: str | None) -> Selection:
    """Return a selection in its one form: two calls that mean the same are the same."""
    named = sorted({parse_task_id(task) for task in tasks}, key=lambda task: (int(task), task))
    return Selection(tasks=tuple(named), phase=phase)


def refuse_policy(caller: Caller, policy: BatchPolicy) -> None:
    """Refuse what could only be refused in the middle of the night."""
    get_agent(policy.reviewer)
    if policy.accept == "check" and not policy.check:
        raise NothingToCheck
    if policy.check:
        path = caller.workspace.repository_config
        chosen(checks_of(read_repository(path)), (), path)


def _insert(
    caller: Caller,
    database: Database,
    project_id: ProjectId,
    wanted: Wanted,
    task_ids: Sequence[TaskId],
) -> Batch:
    with database.transaction():
        refuse_without_project(caller.workspace, project_id)
        batch = batches.insert_batch(
            database,
            Batch(
                id=BatchId(0),
                project_id=project_id,
                name=wanted.name,
                selection=wanted.selection,
                policy=wanted.policy,
                by_job=caller.job_id,
                path_variable=caller.path_variable,
                forgiven=jobs.newest_id(database),
                made_at=caller.now(),
            ),
        )
        _add(database, batch, task_ids)
    return batch


def _add(database: Database, batch: Batch, task_ids: Sequence[TaskId]) -> None:
    """Add tasks; what they have failed with before is forgiven, for somebody asks for them now."""
    batches.add_items(database, batch, task_ids)
    for task_id in task_ids:
        newest = jobs.newest_id(database)
        batches.change_item(database, batch.id, task_id, forgiven=newest)


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


def _refuse_unplanned(caller: Caller, task_ids: Sequence[TaskId], override: str) -> None:
    """Refuse tasks that may not begin before the project's plan. Raises BeforeApproval."""
    refuse_before_approval(
        caller.workspace,
        lambda: [read_task(caller.workspace, task) for task in task_ids],
        override=override,
    )


def add(
    caller: Caller,
    database: Database,
    batch: Batch,
    task_ids: Sequence[TaskId],
    *,
    before_approval: bool = False,
) -> None:
    """Add tasks to a batch that goes on; a person may say that they begin before the plan.

    Raises BatchHasEnded, OtherProjectsBatch, UnknownTask, TaskInBatch, WaitsForItself,
    BeforeApproval.
    """
    _refuse_ended(batch)
    if read_project(caller.workspace).id != batch.project_id:
        raise OtherProjectsBatch(batch)
    meant = [_named(caller, database, batch.project_id, task_id) for task_id in task_ids]
    known = {item.task_id for item in batches.items_of(database, batch.id)}
    new = [task_id for task_id in dict.fromkeys(meant) if task_id not in known]
    if not new:
        return
    if not before_approval:
        _refuse_unplanned(caller, new, "sow batch run")
    with database.transaction():
        current = batches.get_batch(database, batch.id)
        _refuse_ended(current)
        _add(database, batch, new)
        if before_approval and not current.policy.before_approval:
            policy = msgspec.structs.replace(current.policy, before_approval=True)
            batches.change_batch(database, batch.id, policy=policy)
    workers.wake(caller.workspace)


def remove(caller: Caller, database: Database, batch: Batch, task_ids: Sequence[TaskId]) -> None:
    """Take tasks out of a batch; their jobs go on, and know its budget no more.

    Raises BatchHasEnded, NotInBatch.
    """
    with database.transaction():
        _refuse_ended(batches.get_batch(database, batch.id))
        known = {item.task_id for item in batches.items_of(database, batch.id)}
        for task_id in task_ids:
            if task_id not in known:
                raise NotInBatch(task_id, batch)
        for found in batches.jobs_of(database, batch.id):
            if found.task_id in task_ids and not found.state.is_final:
                bound = jobs.get_job(database, found.id).budgets
                if bound is not None:
                    bound = msgspec.structs.replace(bound, batch=None)
                    jobs.change_job(database, found.id, budgets=bound)
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
            batch_news.tell_anew(database, batch.id)
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


def _refuse_ended(batch: Batch) -> None:
    if batch.state.has_ended:
        raise BatchHasEnded(batch)


def open_records(caller: Caller) -> Database | None:
    """Open the queue; None where there is none, and so no batch."""
    return open_existing_queue(caller.workspace)
