"""What an agent's output has told of tokens and money so far, folded message by message.

Owns that nothing in one run's output counts twice: one message may be printed
in several lines, and a result counts all that came before it. What of that
the run itself has used, and not its session before it, is `sow.attempts.run_usage`.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from sow.schema.usage import MOST_TOKENS, NOTHING, ModelUsage, Tokens, Totals

MOST_RECENT = 32
"""How many messages may be under way at once: an agent's own, and those of its subagents."""

MOST_MODELS = 50
"""How many models are told apart: no output may make a list that grows for ever."""


class Span(StrEnum):
    """What the totals of a result count."""

    RUN = "run"
    SESSION = "session"
    """All runs of the session whose end the CLI has seen."""


class Meter(Struct, frozen=True):
    """All that one run's output has told of what it uses."""

    span: Span | None = None
    """What its totals count; None where that is not known of this version of the CLI."""
    model: str = ""
    """The model that was told at the start."""
    totals: Totals | None = None
    """What the last result told."""
    since: Mapping[str, Tokens] = field(default_factory=dict)
    """By model, what the messages told that came after that result; all of them without one."""
    paid: Mapping[str, ModelUsage] = field(default_factory=dict)
    """By model, the part of `since` that was told together with its money."""
    is_closed: bool = False
    """Whether a result without totals has come after the last message: there is no more."""
    least: Tokens = NOTHING
    """What this run has used at the least, by its own messages."""
    recent: tuple[tuple[str, Tokens, float], ...] = ()
    """The last messages, and the tokens and the money counted of each."""

    @property
    def is_told(self) -> bool:
        """Whether the output has told anything of what it uses."""
        return self.totals is not None or bool(self.since)

    def with_start(self, model: str, span: Span | None) -> "Meter":
        """Return it after a turn has begun."""
        return replace(self, model=model or self.model, span=span or self.span)

    def with_message(
        self, message: str, model: str, tokens: Tokens, usd: float | None = None
    ) -> "Meter":
        """Return it after one more line of a message; the message has used so much by now.

        `usd` is what the message has cost by now, where its CLI tells that.
        """
        found = next((each for each in self.recent if each[0] == message), (message, NOTHING, 0.0))
        _, counted, counted_usd = found
        more = tokens.beyond(counted)
        others = tuple(each for each in self.recent if each[0] != message)
        name = model or self.model
        if name not in self.since and len(self.since) >= MOST_MODELS:
            name = self.model
        cost = counted_usd if usd is None else max(usd, counted_usd)
        return replace(
            self,
            since={**self.since, name: self.since.get(name, NOTHING) + more},
            paid=self.paid if usd is None else self._paying(name, more, cost - counted_usd),
            is_closed=False,
            least=self.least + more,
            recent=(*others, (message, tokens.at_least(counted), cost))[-MOST_RECENT:],
        )

    def _paying(self, name: str, tokens: Tokens, usd: float) -> Mapping[str, ModelUsage]:
        before = self.paid.get(name, ModelUsage(usd=0.0))
        paid = ModelUsage(tokens=before.tokens + tokens, usd=(before.usd or 0.0) + usd)
        return {**self.paid, name: paid}

    def with_result(self, totals: Totals, turn: Tokens) -> "Meter":
        """Return it after a result; `turn` is what that says of its own turn alone."""
        return replace(self, totals=totals, since={}, paid={}, least=self.least.at_least(turn))

    def with_end(self) -> "Meter":
        """Return it after a result that tells no totals: its messages have told everything."""
        return replace(self, is_closed=True)


def token_count(value: Any) -> int:
    """Return a number of tokens; 0 where something else stands there."""
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return value if is_number and 0 < value < MOST_TOKENS else 0


def tokens_from(found: Any, keys: Sequence[str]) -> Tokens:
    """Return the tokens that a JSON object tells under these keys, in the order of `Tokens`."""
    figures = found if isinstance(found, dict) else {}
    counts = (token_count(figures.get(key)) for key in keys)
    return Tokens(**dict(zip(Tokens.__struct_fields__, counts, strict=True)))
