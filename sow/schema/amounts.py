"""What may be spent, by measure: money, tokens and time. A limit is so much, and a share of it."""

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
