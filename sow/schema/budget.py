"""What may be spent at most: money, tokens, time; and the shares of it that attempts reserve.

Owns their shapes. Which budgets bind a job, and how much of each is left, is
`sow.jobs.budgets`.
"""

from enum import StrEnum

import msgspec


class Measure(StrEnum):
    """What a budget may limit."""

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
    """What a budget is for. The word is that of the field of `Budgets` that holds it."""

    TASK = "task"
    """All that is done for one task; asked for by `--budget`."""
    EXECUTOR = "executor"
    """All that agents of one executor do in this repository."""
    BATCH = "batch"
    """All that is done for the tasks of a batch while it goes on."""
    PROJECT = "project"
    """All that agents do for one project."""


class ReachedBudget(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A budget that has stopped a job or refused a call, and what raises it."""

    kind: ScopeKind
    name: str = ""
    """The task's id, the executor's name, the batch's name or number; empty of the project."""
    enough: Amounts
    """A new total with which it goes on."""


class Budgets(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The budgets that bind a job, as they stood when it was placed."""

    task: Amounts | None = None
    executor: Amounts | None = None
    batch: Amounts | None = None
    project: Amounts | None = None
    unmetered: bool = False
    """Whether it may run though what it uses cannot be counted in time."""

    def of(self, kind: ScopeKind) -> Amounts | None:
        """Return the budget of one kind; None where there is none."""
        amounts: Amounts | None = getattr(self, kind.value)
        return amounts or None
