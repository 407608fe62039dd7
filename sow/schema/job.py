"""Jobs, attempts and workers as the queue's database records them.

Owns the words for their states; why an attempt can end is `causes`, and all SQL is
`sow.jobs`. Times are seconds since the epoch (float), as SQLite stores them.
"""

from enum import StrEnum

import msgspec
from msgspec import UNSET

from sow.ids import AttemptId, BatchId, JobId, ProjectId, TaskId, WorkerId
from sow.schema.amounts import Amounts, ReachedLimit, ScopeKind
from sow.schema.causes import Cause
from sow.schema.executor import ExecutorConfig
from sow.schema.job_terms import (
    AuthorTerms,
    CheckTerms,
    Fallback,
    JobTerms,
    MergeTerms,
    MergeWay,
    NextExecutor,
    ReviewTerms,
    tasks_of,
)
from sow.schema.task import TaskStatus


class Verb(StrEnum):
    """What the caller asked for."""

    SPAWN = "spawn"
    RESUME = "resume"
    OPEN = "open"
    """A person takes the session over on a terminal. No worker runs it; the job holds the task."""
    REVIEW = "review"
    """An agent judges the task's work; it makes none, and the task stays as it is."""
    CHECK = "check"
    """The project's own command lines are run on what stands there; no agent has a part in it."""
    UPDATE = "update"
    """The project's branch is brought into a task's clone; no agent has a part in it."""
    MERGE = "merge"
    """The work of some tasks is merged into the project's branch; no agent has a part in it."""


class JobState(StrEnum):
    """Where a job stands."""

    PREPARING = "preparing"
    """The call that makes it has not finished; no worker can take it yet."""
    QUEUED = "queued"
    """It waits for a worker and for a free slot."""
    RUNNING = "running"
    """A worker has taken it, or a person has opened its session on a terminal."""
    BACKOFF = "backoff"
    """It waits for the time at which it is tried again."""
    PARKED = "parked"
    """It waits until a usage limit resets."""
    HELD = "held"
    """It waits for a person (`sow trust`) or for other tasks. It keeps no worker alive."""
    DONE = "done"
    """Its agent has reported and ended, or its check or merge has succeeded."""
    FAILED = "failed"
    """It has ended in another way and is not tried again."""
    CANCELLED = "cancelled"
    """Somebody has cancelled it."""

    @property
    def is_final(self) -> bool:
        """Whether the job has ended for good."""
        return self in FINAL_STATES


class HeldFor(StrEnum):
    """What a job is held for."""

    TRUST = "trust"
    """A person's word that the repository's command lines may run (`sow trust`)."""
    DEPENDENCIES = "dependencies"
    """The tasks that its own depends on."""
    SHARE = "budget"
    """The agents that run: they have reserved the rest of a budget. Its job is `backoff`, and keeps
    its place in the queue."""


FINAL_STATES = frozenset({JobState.DONE, JobState.FAILED, JobState.CANCELLED})
WAITING_STATES = (JobState.QUEUED, JobState.BACKOFF, JobState.PARKED)
"""Those in which a job has a row in the queue and waits for its turn, or for its time."""


NOT_BROUGHT_BACK = "its work was not brought into the repository"
"""How a job's warning begins whose work stayed in its clone: nobody can judge it so."""
CHANGED_NOTHING = "its agent set needs_review and changed nothing"
"""A job's warning: there is nothing to judge, unless the task asked for no change."""
STEP_RETRIES = 2
"""How often a job without an agent is tried again whose program has crashed."""


class ProcessIdentity(msgspec.Struct, frozen=True, kw_only=True):
    """A process for ever: a pid alone is reused.

    Linux: `start_ticks` is field 22 of /proc/PID/stat, `boot_id` is
    /proc/sys/kernel/random/boot_id, `pid_namespace` the inode of
    /proc/PID/ns/pid. The portable back end puts psutil's create_time in
    `start_ticks`, its boot_time in `boot_id`, and marks `pid_namespace` as its own.

    `machine` is the system's own id of itself, never the host name, which a
    recreated container has anew; empty where the system has none, and in what
    an older sow has written.
    """

    pid: int
    start_ticks: str
    boot_id: str = ""
    pid_namespace: str = ""
    machine: str = ""


class Budgets(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The budgets that bind a job, as they stood when it was placed."""

    task: Amounts | None = None
    executor: Amounts | None = None
    batch: Amounts | None = None
    project: Amounts | None = None
    unmetered: bool = False
    """Whether it may run although its use cannot be counted in time."""

    def of(self, kind: ScopeKind) -> Amounts | None:
        """Return the budget of one kind; None where there is none."""
        amounts: Amounts | None = getattr(self, kind.value)
        return amounts or None


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """One queued request, for one task, or for the project as a whole."""

    id: JobId
    project_id: ProjectId
    task_id: TaskId
    """The task's id; empty if the job is about the whole project."""
    phase: str
    verb: Verb
    agent: str
    """The role; empty for a job without an agent."""
    executor: ExecutorConfig | None
    """The settings of its executor when it was queued; null for a job without an agent."""
    prompt: str
    """The text of the call: `--prompt` of a spawn, the text of a resume. Often empty."""
    cwd: str
    """The folder in which the agent runs, relative to the folder with .sow."""
    path_variable: str
    """The caller's PATH, in which the agent's programs are searched."""
    config_file: str
    """The file from which the worker reads the values of the executor's `env`; empty if none."""
    terms: JobTerms | None = None
    """What was asked for besides, depending on the kind of the job."""
    budgets: Budgets | None = None
    """The budgets that limit it, with their figures when it was queued; null if none."""
    reached: ReachedLimit | None = None
    """The budget that has ended it; null if none has."""
    batch: BatchId | None = None
    """The batch to which its task belonged when it was queued."""
    batch_step: int | None = None
    """Its number among the jobs that the batch itself has queued for this task, from 1; else
    null."""
    batch_deed: str | None = None
    """The action of the batch that it carries out, such as `review` or `correct`."""
    fresh: bool = False
    priority: int = 0
    parent: JobId | None = None
    """The job whose agent made this call; null if no agent did."""
    state: JobState = JobState.PREPARING
    cause: Cause | None = None
    reason: str = ""
    """Why it failed or waits, in a sentence; for a merge, what it did."""
    held_for: HeldFor | None = None
    """What it is held for; in the state `preparing`, what it will be held for."""
    prior_status: TaskStatus | None = None
    """The task's status before the job. The task gets it back if the job never runs."""
    outcome_status: TaskStatus | None = None
    """The task's status at the end of the job."""
    retry_at: float = 0.0
    waits_since: float = 0.0
    """When it began to wait for `retry_at`."""
    retries: int = 0
    """How many of the executor's `retries` were used."""
    worker_deaths: int = 0
    """How many deaths of workers in a row count for `retry.worker_deaths`."""
    excused_deaths: int = 0
    """How many deaths of workers in a row do not count for it."""
    postponements: int = 0
    """How often in a row a temporary fault of the machine has prevented its start."""
    owes_task: bool = False
    """Whether it has ended, but its task's status must still be updated."""
    settled: int = 0
    """The number of the last attempt whose results are all recorded."""
    corrections: tuple[str, ...] = ()
    """The causes for which its one resume was used."""
    warnings: tuple[str, ...] = ()
    denied_tools: tuple[str, ...] = ()
    cost_usd: float | None = None
    cancel_requested_at: float | None = None
    caller: ProcessIdentity | None = None
    created_at: float
    queued_at: float | None = None
    started_at: float | None = None
    ended_at: float | None = None

    @property
    def tasks(self) -> tuple[TaskId, ...]:
        """The tasks that it is about, its own first. Each has one live job at most."""
        more = tasks_of(self.terms)
        return tuple(dict.fromkeys(task for task in (self.task_id, *more) if task))

    @property
    def works_in_clone(self) -> bool:
        """Whether its agent was asked to do the task in a clone of its own."""
        return isinstance(self.terms, AuthorTerms) and self.terms.clone

    @property
    def check_names(self) -> tuple[str, ...]:
        """The checks that it was asked to run; none where it runs no checks by name."""
        return self.terms.names if isinstance(self.terms, CheckTerms) else ()

    @property
    def checked_commit(self) -> str | None:
        """The commit that is checked instead of the task's work; None where that is checked."""
        return self.terms.base if isinstance(self.terms, CheckTerms) else None

    @property
    def merge_way(self) -> MergeWay:
        """How a merge brings the work of its tasks into the project's branch."""
        return self.terms.way if isinstance(self.terms, MergeTerms) else MergeWay.MERGE

    @property
    def judged_commit(self) -> str | None:
        """The commit that it was asked to judge; None where it judges none."""
        return self.terms.commit if isinstance(self.terms, ReviewTerms) else None

    @property
    def agents_executor(self) -> ExecutorConfig:
        """The executor of an agent's job. Jobs without an agent are never asked."""
        if self.executor is None:
            raise AssertionError(f"job {self.id} ({self.verb}) has no executor")
        return self.executor

    @property
    def executor_name(self) -> str:
        """The name of its executor; empty where it has none."""
        return self.executor.name if self.executor is not None else ""

    @property
    def fallback(self) -> Fallback:
        """The other executors of its role; empty where there are none."""
        terms = self.terms
        found = terms.fallback if isinstance(terms, AuthorTerms | ReviewTerms) else UNSET
        return Fallback() if found is UNSET else found

    @property
    def executors_limits(self) -> Amounts | None:
        """What the agents of its executor may use together."""
        return self.budgets.executor if self.budgets is not None else None

    def limits_by(self, following: NextExecutor) -> dict[str, Budgets | None]:
        """Return what limits it where the next executor goes on, as a change of its record."""
        if self.budgets is None and following.limits is None:
            return {}
        bound = self.budgets or Budgets()
        return {"budgets": msgspec.structs.replace(bound, executor=following.limits)}

    @property
    def executor_names(self) -> tuple[str, ...]:
        """Its executor, those before it, and those that may take its place."""
        others = self.fallback
        left = (each.name for each in others.left)
        return (*left, self.executor_name, *(each.executor.name for each in others.next))

    @property
    def most_retries(self) -> int:
        """How often it is tried again after a fault that passes."""
        return self.executor.retries if self.executor is not None else STEP_RETRIES


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """One run of the executor's process within a job."""

    job_id: JobId
    number: int
    id: AttemptId
    verb: Verb
    """What the attempt was started for; a retry of a spawn is often a resume. For a job without an
    agent, the job's own verb."""
    worker_id: WorkerId
    argv: tuple[str, ...] = ()
    supervisor: ProcessIdentity | None = None
    session_id: str | None = None
    cause: Cause | None = None
    reason: str = ""
    exit_code: int | None = None
    exit_signal: int | None = None
    transcript_seen: bool = False
    """Whether sow has seen the file in which its CLI keeps the session."""
    finished_turn: bool = False
    """Whether the CLI printed the result of a turn of the session."""
    tool_uses: int | None = None
    """How many tool calls it made; null if unknown."""
    cpu_seconds: float | None = None
    max_rss_kb: int | None = None
    created_at: float
    started_at: float | None = None
    ended_at: float | None = None


class Lease(msgspec.Struct, frozen=True, kw_only=True):
    """A worker's hold on a running job. A write with a stale `token` changes nothing."""

    job_id: JobId
    worker_id: WorkerId
    token: int
    executor: str
    taken_at: float


class WorkerRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A worker that has registered. It lives while its lock file is held, not longer."""

    id: WorkerId
    process: ProcessIdentity
    concurrency: int
    version: str
    background: bool
    started_at: float
    format: int = 1
    """The newest format of the queue's file that it knows."""
    checks: int = 2
    """How many jobs without an agent may run at once, by its settings."""
    short_of: str = ""
    """What it has too little of (disk space, memory), so that it starts no job; else empty."""
