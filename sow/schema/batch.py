"""Batches: a set of tasks with a policy, and one item for each task.

Owns the words for where a batch and its items stand.
What follows from them is `sow.batches`; all SQL is `sow.jobs`; what each batch is
asked for is `batch_policy`.
"""

import re
from enum import StrEnum

import msgspec

from sow.ids import BatchId, JobId, ProjectId, TaskId
from sow.schema.amounts import ReachedLimit
from sow.schema.batch_policy import BatchPolicy

PLAIN_NAME = r"[A-Za-z0-9][A-Za-z0-9._-]*"
"""A name that a shell takes as it stands."""


class BatchState(StrEnum):
    """Where a batch stands."""

    RUNNING = "running"
    """The workers drive it, or it waits for a person."""
    PAUSED = "paused"
    """Nothing of it is begun until it is resumed."""
    CANCELLED = "cancelled"
    OVER = "over"
    """Each of its items has ended, and none wants a person."""

    @property
    def has_ended(self) -> bool:
        """Whether nothing of it is ever begun again."""
        return self in (BatchState.CANCELLED, BatchState.OVER)


PAUSED_BY_PERSON = "a person has paused it"
"""The reason of a batch that somebody has paused; any other is that of its brake."""


class ItemState(StrEnum):
    """Where an item of a batch stands. A word of the batch, never of the task's own state."""

    WAITING = "waiting"
    RUNNING = "running"
    CHECKING = "checking"
    IN_REVIEW = "in_review"
    CORRECTING = "correcting"
    MERGING = "merging"
    DONE = "done"
    FAILED = "failed"
    BLOCKED = "blocked"
    NEEDS_PERSON = "needs_person"


ENDED = frozenset({ItemState.DONE, ItemState.FAILED, ItemState.BLOCKED})
"""What an item comes to that nobody is asked about."""
AT_REST = ENDED | {ItemState.NEEDS_PERSON}
"""Where nothing goes on by itself."""
AT_WORK = frozenset(ItemState) - AT_REST - {ItemState.WAITING}
"""What no item of a batch that has ended is for long."""


class Action(StrEnum):
    """What is to be done with a task. Those that are jobs stand in `job.batch_deed`."""

    SPAWN = "spawn"
    GO_ON = "go_on"
    """Its session is continued after a failure that a person has forgiven."""
    CHECK = "check"
    REVIEW = "review"
    CORRECT = "correct"
    """A review's corrections go back to the author."""
    MEND = "mend"
    """A failed check goes back to the author."""
    ASK_FOR_CHANGE = "ask_for_change"
    """Its author has reported work and changed nothing: it is asked once before anybody judges."""
    SOLVE = "solve"
    """A conflict goes back to the author."""
    UPDATE = "update"
    """The project's branch is brought into the task's."""
    TAKE_UP = "take_up"
    """What lies whole in its clone, and not in the repository, is brought there without a run."""
    MERGE = "merge"
    CHECK_BASE = "check_base"
    """A check that fails for several tasks is run on the commit that one of them began at."""
    ACCEPT = "accept"
    """The verdict of a green check is put on record."""
    COMPLETE = "complete"
    WITHDRAW = "withdraw"
    """A job that waits in the queue and has never begun leaves it: another task has failed."""


RETURNS = frozenset({Action.CORRECT, Action.MEND})
"""The actions that are counted against `max_iterations`."""
OF_AGENTS = RETURNS | {
    Action.SPAWN,
    Action.GO_ON,
    Action.REVIEW,
    Action.SOLVE,
    Action.ASK_FOR_CHANGE,
}
"""The actions by which an agent is put to work."""


class Selection(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Which tasks a batch was asked for. The same one is the same batch, while that goes on."""

    tasks: tuple[TaskId, ...] = ()
    """Named on the command line; none: all that are not finished."""
    phase: str | None = None


class Batch(msgspec.Struct, frozen=True, kw_only=True):
    """A batch on record."""

    id: BatchId
    project_id: ProjectId
    name: str
    selection: Selection
    policy: BatchPolicy
    state: BatchState = BatchState.RUNNING
    reason: str = ""
    """Why it is paused."""
    by_job: JobId | None = None
    """The job whose agent made it."""
    path_variable: str
    """The PATH of whoever made it, on which its agents' programs are found."""
    seen: int = 0
    """The number of the newest change that all of it is known to have heeded."""
    forgiven: int = 0
    """The newest job when a person resumed it last: no failure up to there counts as a brake."""
    rests: bool = False
    """Whether nothing of it went on by itself when a worker looked at it last."""
    made_at: float
    ended_at: float | None = None

    @property
    def label(self) -> str:
        """What a command that is printed calls it."""
        return label_of(self.id, self.name, has_ended=self.ended_at is not None)


def label_of(number: int, name: str, *, has_ended: bool) -> str:
    """Return what a command calls a batch: its name while it goes on, else its number.

    A later batch may have the name of one that has ended. A name that a shell would not take as
    it stands is left out.
    """
    if has_ended or not name or name.isdecimal() or re.fullmatch(PLAIN_NAME, name) is None:
        return str(number)
    return name


class BatchItem(msgspec.Struct, frozen=True, kw_only=True):
    """A task of a batch. What it comes to is derived; `state` is what was told of it last."""

    batch_id: BatchId
    project_id: ProjectId
    task_id: TaskId
    state: ItemState = ItemState.WAITING
    reason: str = ""
    refusal: str = ""
    """Why the next action could not be done, in a person's words."""
    reached: ReachedLimit | None = None
    """The budget that the last refusal was about, if it was about one."""
    forgiven: int = -1
    """The newest job when a person said go on: its failure, and earlier ones, count no more."""
    is_open: bool = True
    """Whether it belongs to a batch that goes on. A task is in one such batch at most."""
