"""The read model of the live view: what one look has found, as rows below headings.

Plain values, of which a screen is drawn without another look. Who looks is `looking`;
how the rows come about is `rows`.
"""

from collections.abc import Sequence

from msgspec import Struct

from sow.schema.job import JobState
from sow.schema.output.hosts import SilentHost
from sow.schema.task import TaskStatus


class Row(Struct, frozen=True, kw_only=True):
    """A task with its newest job, or a job that is about no task of the project."""

    key: str
    """What stays the same from look to look: the task's id, or `job 17`."""
    task: str = ""
    """Its id; empty of a job that is about no task of the project."""
    name: str = ""
    who: str = ""
    """The role at work or assigned; of a job without an agent, its verb."""
    executor: str = ""
    state: str = ""
    """Of a job that lives its state, else the task's status."""
    status: TaskStatus | None = None
    note: str = ""
    """Why it rests, as the records tell it; of what lives, a look at its job tells more."""
    job: int | None = None
    """The newest job."""
    job_state: JobState | None = None
    has_agent: bool = False
    """Whether that job is an agent's."""
    begun_at: float | None = None
    """When that job has first started, in seconds since the epoch; None where none lives."""
    seconds: float | None = None
    """How long the newest job took that has ended, from its first start on."""
    attempts: int = 0
    """How many that job has had."""
    tokens: int | None = None
    """What all jobs of the task have used; None where nobody tells."""
    usd: float | None = None
    is_estimate: bool = False

    @property
    def is_live(self) -> bool:
        """Whether a job of it has not ended."""
        return self.job_state is not None and not self.job_state.is_final


class Group(Struct, frozen=True):
    """Rows below a heading: a batch that goes on, or a phase."""

    title: str
    about: str
    """How it stands, in words."""
    rows: Sequence[Row]


class Crew(Struct, frozen=True):
    """The workers and their slots."""

    workers: int = 0
    taken: int = 0
    slots: int = 0
    checks: int = 0
    paused_since: str = ""
    """Since when the queue is paused, as ISO 8601; empty while it is not."""
    short_of: str = ""
    hosts: int = 0
    """How many hosts of a shared queue are heard; 0 where nobody shares it."""
    silent: Sequence[SilentHost] = ()


class Snapshot(Struct, frozen=True, kw_only=True):
    """How everything stands."""

    title: str
    """The project and where it stands."""
    crew: Crew = Crew()
    tokens: int | None = None
    usd: float | None = None
    is_estimate: bool = False
    groups: Sequence[Group] = ()
    faults: Sequence[str] = ()
    """What could not be read; the rest was."""

    @property
    def rows(self) -> Sequence[Row]:
        """All rows, in their order."""
        return [row for group in self.groups for row in group.rows]
