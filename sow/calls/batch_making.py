"""Making a batch, or finding the one that the same call has made.

Owns what makes two calls the same: project and selection, while the batch goes on. What a
batch does is the workers' matter.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from sow.agents.roles import get_agent
from sow.calls.admission import refuse_without_project
from sow.calls.batch_changes import add, add_items, ask_features, refuse_unplanned, tasks_of
from sow.calls.caller import Caller
from sow.calls.features import call_features
from sow.config.checks import checks_of, chosen, read_repository
from sow.errors import StateError, UsageError
from sow.features import OPTIONS
from sow.ids import BatchId, ProjectId, TaskId
from sow.jobs import batches, jobs, workers
from sow.jobs.batches import SameBatchGoesOn
from sow.jobs.database import Database
from sow.schema.batch import Batch, Selection
from sow.schema.batch_policy import BatchPolicy
from sow.schema.executor import ExecutorConfig
from sow.state.projects import read_project
from sow.state.tasks import read_task


class NothingToCheck(StateError):
    """The checks of a batch are to accept work, and it runs none."""

    def __init__(self) -> None:
        super().__init__(
            "--accept check needs --check",
            hint="Without checks, only a person or a reviewer can accept work.",
        )


@dataclass(frozen=True)
class Wanted:
    """What a call asks for."""

    selection: Selection
    policy: BatchPolicy
    name: str = ""
    asked: Mapping[str, Any] = field(default_factory=dict)
    """What the call asks of features."""


@dataclass(frozen=True)
class Made:
    """A batch on record, and how this call came to it."""

    batch: Batch
    attached: bool = False
    notes: tuple[str, ...] = ()


def make_or_attach(caller: Caller, database: Database, wanted: Wanted) -> Made | None:
    """Return the batch of a selection: the one that goes on, else a new one.

    Where no task is left it is the last one of that selection, None where none was.

    Raises UsageError, StateError, UnknownPhase, UnknownTask, UnknownAgent,
    UnknownCheck, NoChecks, NothingToCheck, BeforeApproval.
    """
    if wanted.name.isdecimal():
        raise UsageError(
            f"a batch cannot be named {wanted.name}: a number alone is the id of a batch",
            hint=f"Add a letter to the name: --name b{wanted.name}.",
        )
    project_id = ProjectId(read_project(caller.workspace).id)
    found = batches.open_batch(database, project_id, wanted.selection)
    if found is not None:
        return _attached(caller, database, found, wanted)
    for other in batches.going_on(database, project_id) if wanted.name else ():
        if other.name == wanted.name:
            raise StateError(
                f"batch {other.id} is still running and already has the name {other.name}",
                hint="Choose another --name, or add tasks to that batch: `sow batch add"
                f" {other.label} TASK`.",
            )
    refuse_policy(caller, wanted.policy)
    meant = tasks_of(caller, database, project_id, wanted.selection)
    if not meant:
        last = batches.last_batch(database, project_id, wanted.selection)
        return None if last is None else Made(last, attached=True)
    if not wanted.policy.before_approval:
        refuse_unplanned(caller, meant, "sow batch run")
    executors = _executors(caller, wanted.policy, meant)
    for feature in call_features():
        feature.refuse_batch(wanted.policy, executors)
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
        notes.append(f"batch {batch.id} {known}; --name does not change it")
    if wanted.asked:
        ask_features(database, batch, wanted.asked)
        workers.wake(caller.workspace)
    kept = {name: getattr(policy, name) for name in ("before_approval", *OPTIONS)}
    if policy != msgspec.structs.replace(batch.policy, **kept):
        notes.append(f"batch {batch.id} keeps the options that it was started with")
    return Made(batch, attached=True, notes=tuple(notes))


def refuse_policy(caller: Caller, policy: BatchPolicy) -> None:
    """Refuse what could only be refused in the middle of the night."""
    get_agent(policy.reviewer)
    if policy.accept == "check" and not policy.check:
        raise NothingToCheck
    if policy.check:
        path = caller.workspace.repository_config
        chosen(checks_of(read_repository(path)), (), path)


def _executors(
    caller: Caller, policy: BatchPolicy, task_ids: Sequence[TaskId]
) -> Iterator[ExecutorConfig]:
    """Yield the executors of a batch's agents, once somebody asks for them."""
    config = caller.load_configuration()
    roles = {read_task(caller.workspace, task_id).assigned_agent for task_id in task_ids}
    roles |= {policy.reviewer} if policy.review else set()
    for role in sorted(roles & set(config.bindings)):
        yield config.binding(role).executor


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
        add_items(database, batch, task_ids)
    return batch
