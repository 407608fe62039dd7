"""What a caller asks for, and what it gets: the values that a call is made of."""

from dataclasses import dataclass, field
from pathlib import Path

from sow.executors.base import Executor
from sow.ids import ProjectId, TaskId
from sow.schema.job import Job, Verb
from sow.schema.job_terms import JobTerms, MergeTerms
from sow.schema.kinds import KINDS, JobKind, SessionUse
from sow.schema.task import Task


@dataclass(frozen=True)
class Request:
    """What a caller asks for."""

    verb: Verb
    task_id: TaskId
    """Empty where it is about the project as a whole."""
    agent: str | None = None
    """The role to spawn; None is the task's own, as always for a resume."""
    prompt: str = ""
    fresh: bool = False
    again: bool = False
    """Run anew even where an outcome of the same call is owed."""
    ignore_deps: bool = False
    reassign: bool = False
    """Give the task to `agent` where another one was to do it."""
    cwd: Path | None = None
    clone: bool | None = None
    """Whether its agent works in a clone of its own; None leaves it to the settings."""
    terms: JobTerms | None = None
    """What the job's kind alone is asked for."""

    @property
    def tasks(self) -> tuple[TaskId, ...]:
        """The tasks that it is about; none where that is the project as a whole."""
        if isinstance(self.terms, MergeTerms):
            return self.terms.tasks
        return (self.task_id,) if self.task_id else ()

    @property
    def kind(self) -> JobKind:
        """The kind of the job that it asks for."""
        return KINDS[self.verb]

    @property
    def begins_session(self) -> bool:
        """Whether it asks for a session of its own, not for more of the one on record."""
        return self.kind.session is SessionUse.BEGINS

    @property
    def continues_session(self) -> bool:
        """Whether it asks for more of the session on record."""
        return self.kind.session is SessionUse.CONTINUES


@dataclass(frozen=True)
class Resolved:
    """A request with everything looked up that it names."""

    request: Request
    project_id: ProjectId
    task: Task
    agent: str
    executor: Executor
    cwd: str
    clone: bool = False
    """Whether the agent works in a clone of its own."""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Placed:
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
