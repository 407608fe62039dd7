"""What may be spent, by measure: money, tokens and time; and which limit of that was reached."""

from enum import StrEnum

import msgspec


class Measure(StrEnum):
    """What may be limited."""

    USD = "usd"
    TOKENS = "tokens"
    TIME = "time"


class Amounts(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """So much of each measure; None is no limit, or none that is known."""

    usd: float | None = None
    tokens: float | None = None
    time: float | None = None
    """In seconds: how long the agents have run, together."""

    def of(self, measure: Measure) -> float | None:
        """Return the amount of one measure."""
        amount: float | None = getattr(self, measure.value)
        return amount

    def __bool__(self) -> bool:
        return any(self.of(measure) is not None for measure in Measure)


class ScopeKind(StrEnum):
    """What a limit is for. The values are the words on record."""

    TASK = "task"
    """All that is done for one task."""
    EXECUTOR = "executor"
    """All that agents of one executor do in this repository."""
    BATCH = "batch"
    """All that is done for the tasks of a batch while it goes on."""
    PROJECT = "project"
    """All that agents do for one project."""


class ReachedLimit(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A limit that has stopped a job or refused a call, and what raises it."""

    kind: ScopeKind
    name: str = ""
    """The task's id, the executor's name, the batch's name or number; empty of the project."""
    enough: Amounts
    """A new total with which it goes on."""


MONEY_PLACES = 4


def dollars(cost: float | None) -> float | None:
    """Return money as it is told: to four places. A sum of floats has more than it knows."""
    return None if cost is None else round(cost, MONEY_PLACES)
