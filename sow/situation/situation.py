"""The read model of `sow status` and `sow next`: everything that one look has found.

Plain values. Who looks is `looking`; what follows from them is `next_steps`.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from sow.config.configuration import Configuration
from sow.errors import SowError
from sow.ids import JobId, TaskId
from sow.lifecycle.lifecycle_facts import Facts
from sow.paths import Workspace
from sow.schema.project import Project
from sow.schema.task import Task
from sow.state.waiting import Among

if TYPE_CHECKING:  # of projects that have a queue
    from sow.batches.planning import Plan
    from sow.jobs.hosts import Host
    from sow.schema.batch import Batch
    from sow.schema.job import Job


class Reader(Struct, frozen=True):
    """Who asks, as far as it decides what they may do, and how long they can wait."""

    is_at_terminal: bool = True
    """Whether a person can answer at standard input."""
    job: JobId | None = None
    """The job whose agent asks; None where it is none."""
    task: str = ""
    """The task of that job."""
    may_approve: bool = True
    """Whether they may approve, and judge the whole."""
    wait: str = ""
    """The option that keeps a command below their shell's limit; empty where none is needed."""


class BatchNow(Struct, frozen=True):
    """A batch that goes on, and where its items stand."""

    batch: "Batch"
    plan: "Plan | None"
    rests: bool
    """Whether nothing of it goes on by itself."""
    refused: Mapping[str, SowError | None] = {}
    """What refuses the next step of a task that was refused before; None: nothing does any more."""


class Doing(Struct, frozen=True):
    """What a live job does, or waits for."""

    words: str = ""
    quiet_seconds: float | None = None
    waits_on: str = ""
    """What it waits for, as a word of `Wait.on`; empty while it is at work."""
    host: str | None = None
    """The host that runs it or had its last attempt, of a queue that several share."""


class Queue(Struct, frozen=True):
    """What the queue's records tell of the project."""

    live: "Sequence[Job]" = ()
    """The jobs that have not ended, oldest first; the reader's own are left out."""
    is_shared: bool = False
    """Whether several hosts use the queue: agents work in clones then, whatever is set."""
    unserved: "Mapping[str, Sequence[JobId]]" = {}
    """For what jobs wait that no host of a shared queue offers, in words, and which do."""
    silent: "Sequence[Host]" = ()
    """The hosts of a shared queue that are not heard any more."""
    above_reader: frozenset[TaskId] = frozenset()
    """The tasks of the reader's own job, and of those whose agents wait for it."""
    last: "Mapping[TaskId, Job]" = {}
    """The newest job of each task that nobody is at work on, as far as somebody has to go on."""
    vain_reviews: "Mapping[TaskId, int]" = {}
    """How many reviews have failed one after the other, of each task whose newest job is one."""
    review_runs: "Mapping[TaskId, int]" = {}
    """How often a reviewer of the whole was run to an end, of each such task that has ended."""
    refused_merges: "Mapping[TaskId, int]" = {}
    """How many merges were refused one after the other, of each task whose newest job is one."""
    last_check: int = 0
    """The newest check of the whole, where the last one that came to an end was red; else 0."""
    owed: Sequence[tuple[TaskId, JobId]] = ()
    """The tasks of which an outcome was told to nobody, with the job; no task of the project's."""
    batches: Sequence[BatchNow] = ()
    paused_since: str = ""
    """Since when the queue is paused, as ISO 8601; empty while it is not."""
    is_staffed: bool = True
    """Whether a worker lives, or one may be started."""
    is_manned: bool = True
    """Whether a worker lives, as far as one is needed."""
    in_doubt: Sequence[JobId] = ()
    """The jobs of which nobody here can tell whether they still run."""
    features: Mapping[str, Any] = {}
    """What each feature that has settings says of the queue, by its key."""
    cursor: str = "0"
    """The newest change."""
    doing: "Mapping[JobId, Doing]" = {}
    """What the live jobs do or wait for, where that was asked for."""
    stalled: Mapping[JobId, str] = {}
    """Of the agents that run and give no sign of life: for how long, in words."""
    words: Mapping[str, str] = {}
    """What the agents of paused tasks ask, in a line, where that was asked for."""
    is_unreadable: bool = False
    """Whether its file cannot be used as it is; then nothing can be started or judged."""


class Ended(Struct, frozen=True):
    """The project that was the last to end on a branch."""

    name: str
    how: str
    at: float
    """Seconds since the epoch."""
    folder: str
    """From the workspace's root."""
    is_committed: bool = False
    """Whether git has its folder, and that the project's own is gone."""
    units: str = ""
    """What the folder of its published work units is called, where it was a breakdown."""


class Situation(Struct, frozen=True):
    """Where a workspace stands."""

    reader: Reader
    workspace: Workspace | None = None
    """None outside of any."""
    branch: str = ""
    """What is checked out; empty without git."""
    has_lost_branch: bool = False
    """Whether the repository has no branch of the name that the project gives as its own."""
    has_project: bool = False
    project: Project | None = None
    """None where there is none, or where it cannot be read."""
    tasks: Sequence[Task] = ()
    """Those that can be read, by id."""
    among: Among = Among(())
    facts: Facts | None = None
    """What the guards are asked about; None without a project."""
    queue: Queue = Queue()
    refused: Mapping[str, SowError] = {}
    """What commands that begin so would be refused for now, whatever their tasks."""
    lacking: Mapping[str, SowError] = {}
    """The executors that tasks need and whose programs are not there, each with the error."""
    unaccepted: Sequence[str] = ()
    """The settings whose command lines nobody has accepted, where tasks are still to begin."""
    configuration: Configuration | None = None
    """None where it cannot be used."""
    errors: Sequence[SowError] = ()
    """What could not be read; the rest was."""
    ended: Ended | None = None
    """Where there is no project: the last one."""
    mixed: str = ""
    """Where there is no project: the folder of an ended one that git has mixed with another."""
