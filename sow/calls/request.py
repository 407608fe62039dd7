"""What a caller asks for, and what it gets: the values that a call is made of."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from sow.ids import BatchId, ProjectId, TaskId
from sow.schema.job import Job, Verb
from sow.schema.job_terms import Fallback, JobTerms, tasks_of
from sow.schema.kinds import KINDS, JobKind, SessionUse
from sow.schema.project import Project
from sow.schema.task import Task
from sow.state.kept.store import Kept

if TYPE_CHECKING:
    from sow.executors.base import Executor
    from sow.jobs.unrecorded_agents import StrayLooks
    from sow.schema.executor import ExecutorConfig


class BatchPart(Struct, frozen=True):
    """Which part of a batch a request is. What was asked for once is never asked for again."""

    batch: BatchId
    step: int
    action: str


class Request(Struct, frozen=True):
    """What a caller asks for."""

    verb: Verb
    task_id: TaskId
    """Empty where it is about the project as a whole."""
    agent: str | None = None
    """The role to spawn; None is the task's own, as always for a resume."""
    prompt: str = ""
    answers: bool = False
    """Whether a resume is the answer to a question: only a paused task takes one."""
    fresh: bool = False
    again: bool = False
    """Run anew even where an outcome of the same call is owed."""
    ignore_deps: bool = False
    when_ready: bool = False
    """Hold the job until the tasks that its own depends on are completed."""
    priority: int | None = None
    """That of the job; None leaves it to the task."""
    before_approval: bool = False
    """Begin the task though the project's plan is not approved and begun: a person says so."""
    reassign: bool = False
    """Give the task to `agent` where another one was to do it."""
    cwd: Path | None = None
    clone: bool | None = None
    """Whether its agent works in a clone of its own; None leaves it to the settings."""
    anywhere: bool = False
    """Whether a resume need not wait for the host on which its session lies."""
    asked: Mapping[str, Any] = {}
    """What it asks of features, by their options."""
    terms: JobTerms | None = None
    """What the job's kind alone is asked for."""
    part: BatchPart | None = None
    """Of which batch it is, where that asks."""

    @property
    def tasks(self) -> tuple[TaskId, ...]:
        """The tasks that it is about; none where that is the project as a whole."""
        return tasks_of(self.terms) or ((self.task_id,) if self.task_id else ())

    @property
    def kind(self) -> JobKind:
        """The kind of the job that it asks for."""
        return KINDS[self.verb]

    @property
    def batch_fields(self) -> dict[str, Any]:
        """What the job's record says of the batch that asks."""
        if self.part is None:
            return {}
        part = self.part
        return {"batch": part.batch, "batch_step": part.step, "batch_deed": part.action}

    @property
    def begins_session(self) -> bool:
        """Whether it asks for a session of its own, not for more of the one on record."""
        return self.kind.session is SessionUse.BEGINS

    @property
    def continues_session(self) -> bool:
        """Whether it asks for more of the session on record."""
        return self.kind.session is SessionUse.CONTINUES


class Known(Struct, frozen=True):
    """What one look has found for the requests of a group, none of which asks for it again.

    It decides who may be placed with others. What a refusal rests on is asked again when a job is
    inserted, and under its task's lock.
    """

    project: Project
    kept: Kept | None
    """Where the copies of the project lie."""
    with_jobs: frozenset[TaskId]
    """The tasks of which a job is on record."""
    strays: "StrayLooks"
    """The looks of the call for agents that are on no record."""


class Resolved(Struct, frozen=True):
    """A request with everything looked up that it names."""

    request: Request
    project_id: ProjectId
    task: Task
    agent: str
    executor: "Executor"
    cwd: str
    others: tuple["ExecutorConfig", ...] = ()
    """The executors that may take its place, in their order."""
    fallback: Fallback | None = None
    """The same as the job's record keeps it, once one was chosen; None without others."""
    waits_for_plan: bool = False
    """Whether tasks of its phase begin only once the project's plan is approved and begun."""
    clone: bool = False
    """Whether the agent works in a clone of its own."""
    notes: tuple[str, ...] = ()


class Placed(Struct, frozen=True):
    """A job on record, and how this call came to it."""

    job: Job
    attached: bool = False
    """The same call had placed the job before; it still runs."""
    owed: bool = False
    """The same call had placed the job before, and went away; it has ended."""
    anew_with: str | None = None
    """The option that makes this call run an owed one anew, if any does."""
    notes: tuple[str, ...] = field(default=())
    """What the caller should know, a sentence each."""
