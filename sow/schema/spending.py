"""What one attempt of an agent has used, as the queue's file keeps it after all else is pruned.

Owns the shape of that record, and of what several have used together; their rows and
sums are `sow.jobs.spending`.
"""

from enum import StrEnum

import msgspec

from sow.ids import JobId, ProjectId, TaskId
from sow.schema.usage import ModelUsage, Totals


class Spending(msgspec.Struct, frozen=True, kw_only=True):
    """One attempt. Times are seconds since the epoch."""

    job_id: JobId
    number: int
    """The attempt's number within the job."""
    project_id: ProjectId
    task_id: TaskId
    batch: int | None = None
    """The batch that its task belonged to; None where it belonged to none."""
    agent: str
    """The role."""
    executor: str
    """The executor's name."""
    session_id: str | None = None
    began_at: float
    ended_at: float | None = None
    """None while it goes on; then what it has used is what was seen so far."""
    input: int | None = None
    """Tokens; None, as of the other three, where its output tells of none."""
    output: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None
    usd: float | None = None
    """US dollars; None where nobody can tell."""
    is_estimate: bool = False
    """Whether something of the money was counted from tokens by a price table."""
    is_partial: bool = False
    """Whether it has used more than is known: it was cut off before it told its end."""
    is_unpriced: bool = False
    """Whether it has used what nobody can tell the price of."""
    share_usd: float | None = None
    """The money that it has reserved; None, as of the other two, without a limit."""
    share_tokens: float | None = None
    share_time: float | None = None
    models: dict[str, ModelUsage] = {}
    """What was used of each model."""
    totals: Totals | None = None
    """What its last result told, of the run or of the whole session: later runs begin there."""


class By(StrEnum):
    """What the sums of attempts are grouped by."""

    TASK = "task"
    AGENT = "agent"
    EXECUTOR = "executor"
    BATCH = "batch"
    MODEL = "model"
    DAY = "day"


class Used(msgspec.Struct, frozen=True, kw_only=True):
    """What some attempts have used together, as far as anybody knows."""

    key: str = ""
    """What they are grouped by: a task's id, a role; empty of a sum that is no group's."""
    runs: int = 0
    running: int = 0
    """How many of them go on."""
    seconds: float = 0.0
    input: int = 0
    """Tokens, as the other three: of the attempts that tell of any."""
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    usd: float | None = None
    """US dollars; None where nobody can tell any."""
    estimated_usd: float = 0.0
    """Those of the attempts with an estimate."""
    runs_without_tokens: int = 0
    """How many have ended and told of no tokens."""
    runs_without_cost: int = 0
    """How many have ended and used what nobody can tell the price of."""
    runs_cut_off: int = 0
    """How many have ended, told of tokens, and used more than that."""

    @property
    def tokens(self) -> int:
        """Those of all four kinds."""
        return self.input + self.output + self.cache_read + self.cache_write


NOTHING_USED = Used()
