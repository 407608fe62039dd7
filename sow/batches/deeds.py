"""What a batch can do with a task, and the form in which it is said what follows.

Owns these values alone. Where one item stands is found out by `item_standing` and
`finished_work`, what the items of a batch mean to each other by `planning`; who
carries a deed out is `sow.calls.batch_deeds`.
"""

from enum import StrEnum

import msgspec

from sow.batches.brakes import ON_BASE
from sow.schema.batch import ItemState


class Deed(StrEnum):
    """What is to be done with a task. Those that are jobs stand in `job.batch_deed`."""

    SPAWN = "spawn"
    GO_ON = "go_on"
    """Its session is continued after a failure that a person has forgiven."""
    CHECK = "check"
    REVIEW = "review"
    CORRECT = "correct"
    """A review's corrections go back to the author."""
    MEND = "mend"
    """A red check goes back to the author."""
    ASK_FOR_CHANGE = "ask_for_change"
    """Its author has reported work and changed nothing: it is asked once before anybody judges."""
    SOLVE = "solve"
    """A conflict goes back to the author."""
    UPDATE = "update"
    """The project's branch is brought into the task's."""
    TAKE_UP = "take_up"
    """What lies whole in its clone, and not in the repository, is brought there without a run."""
    MERGE = "merge"
    CHECK_BASE = ON_BASE
    """A check that is red for several tasks is run on the commit that one of them began at."""
    ACCEPT = "accept"
    """The verdict of a green check is put on record."""
    COMPLETE = "complete"
    WITHDRAW = "withdraw"
    """A job that waits in the queue and has never begun leaves it: another task has failed."""


RETURNS = frozenset({Deed.CORRECT, Deed.MEND})
"""The deeds that are counted against `max_iterations`."""
OF_AGENTS = RETURNS | {Deed.SPAWN, Deed.GO_ON, Deed.REVIEW, Deed.SOLVE, Deed.ASK_FOR_CHANGE}
"""The deeds by which an agent is put to work."""


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """Where an item stands, and what moves it on."""

    task: str
    state: ItemState
    deed: Deed | None = None
    reason: str = ""
    command: str = ""
    """What a person can do about it, as a command."""
    has_job: bool = False
    awaits: bool = False
    """Whether it waits for tasks that are no items, and somebody is at work on all of them."""
    step: int = 0
    """The number under which a deed of it is placed."""
    in_turn: bool = False
    """Whether it is on the way into the project's branch, where one goes at a time."""


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What follows for a whole batch."""

    standings: tuple[Standing, ...]
    deeds: tuple[Standing, ...] = ()
    """Those whose deed is to be done now."""
    turn: str | None = None
    """The item that has the turn to merge, or takes it now."""
    pause: str = ""
    """Why the batch pauses now."""
    is_over: bool = False
    waits_for_turn: bool = False
    """Whether an item waits for the turn to merge that another batch has."""

    @property
    def rests(self) -> bool:
        """Whether nothing goes on by itself."""
        return (
            not self.waits_for_turn
            and not self.deeds
            and not any(found.has_job or found.awaits for found in self.standings)
        )
