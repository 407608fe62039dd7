"""What a run of an agent used: tokens of four kinds, and money, by model.

Owns the arithmetic of both. Plain data: who reads it out of a CLI's output is
`sow.executors.metering`, what of it one run has used `sow.attempts.run_usage`,
where it is kept `sow.jobs.spending`.
"""

from collections.abc import Callable, Iterable, Mapping

import msgspec

Combine = Callable[[int, int], int]

MOST_TOKENS = 10**15
"""No run uses more; what claims it is noise."""


class Tokens(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How many tokens were used, each counted once."""

    input: int = 0
    """Read anew: neither from the cache nor into it."""
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0

    @property
    def total(self) -> int:
        """All of them together."""
        return self.input + self.output + self.cache_read + self.cache_write

    def __add__(self, other: "Tokens") -> "Tokens":
        return self._with(other, lambda mine, its: mine + its)

    def beyond(self, other: "Tokens") -> "Tokens":
        """Return what these have more than others, kind by kind; never less than nothing."""
        return self._with(other, lambda mine, its: max(0, mine - its))

    def at_least(self, other: "Tokens") -> "Tokens":
        """Return the larger number of each kind."""
        return self._with(other, max)

    def covers(self, other: "Tokens") -> bool:
        """Whether there are no fewer of any kind than of others."""
        return not other.beyond(self).total

    def _with(self, other: "Tokens", number: Combine) -> "Tokens":
        return Tokens(
            input=number(self.input, other.input),
            output=number(self.output, other.output),
            cache_read=number(self.cache_read, other.cache_read),
            cache_write=number(self.cache_write, other.cache_write),
        )


NOTHING = Tokens()


class ModelUsage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was used of one model."""

    tokens: Tokens = NOTHING
    usd: float | None = None
    """None where nobody tells it."""
    is_estimate: bool = False
    """Whether the money was counted from tokens, or priced by the CLI without knowing the model."""


Models = Mapping[str, ModelUsage]
"""By the model's name; the empty one is a model that was not told."""


class Totals(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a CLI told at the end of a turn: of the run, or of the whole session."""

    usd: float | None = None
    models: Models = {}

    @property
    def tokens(self) -> Tokens:
        """Those of all models."""
        return sum_of(usage.tokens for usage in self.models.values())


class RunUsage(msgspec.Struct, frozen=True, kw_only=True):
    """What one run used, as far as it is known."""

    models: Models = {}
    tokens: Tokens | None = None
    """None where the output tells of none."""
    usd: float | None = None
    """None where nobody can tell; what is known of it where `is_partial`."""
    is_estimate: bool = False
    """Whether something of the money was counted from tokens by a price table."""
    is_partial: bool = False
    """Whether the run has used more than is known: it was cut off before it told its end."""
    is_unpriced: bool = False
    """Whether it has used what nobody can tell the price of."""


def sum_of(several: Iterable[Tokens]) -> Tokens:
    """Return the sum of several."""
    total = NOTHING
    for tokens in several:
        total += tokens
    return total


class Price(msgspec.Struct, frozen=True, kw_only=True):
    """What a million tokens of a model cost, in US dollars."""

    input: float
    output: float
    cache_read: float
    cache_write: float

    def of(self, tokens: Tokens) -> float:
        """Return what so many tokens cost, in US dollars."""
        parts = (
            tokens.input * self.input,
            tokens.output * self.output,
            tokens.cache_read * self.cache_read,
            tokens.cache_write * self.cache_write,
        )
        return sum(parts) / 1_000_000


Prices = Mapping[str, Price]
"""By the model's name."""
