"""What Claude Code tells of tokens and money, and what its totals count.

Owns the names of these figures. Measured with 2.1.197 and 2.1.330: `usage` of a
result counts its own turn, without subagents and without the request that has
reached its own limit of money; `modelUsage` and `total_cost_usd` count both, in the
older version of this run, in the newer one of all the session's runs that came
to an end. One message is printed in as many lines as it has blocks, each with
the same `usage`.
"""

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

from sow.executors.base import Event, EventKind
from sow.executors.metering import Span, tokens_from
from sow.executors.stream import excerpt, finite
from sow.schema.usage import ModelUsage, Tokens, Totals

LAST_BY_RUN = (2, 1, 197)
FIRST_BY_SESSION = (2, 1, 330)
"""What the totals count was measured with these two; of versions between them it is not known."""
VERSION = re.compile(r"(\d{1,6})\.(\d{1,6})\.(\d{1,6})", re.ASCII)
MOST_MODELS = 50
"""More are not counted: no run uses as many."""
UNPRICED = "unknown"
"""The `costBasis` of a model whose price the CLI does not know: it takes its default model's."""


def span_of(version: Any) -> Span | None:
    """Return what the totals of a version count; None where nobody has measured it."""
    found = VERSION.match(version) if isinstance(version, str) else None
    if found is None:
        return None
    numbers = tuple(map(int, found.groups()))
    if numbers <= LAST_BY_RUN:
        return Span.RUN
    return Span.SESSION if numbers >= FIRST_BY_SESSION else None


def model_name(model: Any) -> str:
    """Return a model's name; nothing for what the CLI says in no model's name (`<synthetic>`)."""
    return excerpt(model, 100) if isinstance(model, str) and not model.startswith("<") else ""


def message_usage(message: Any, model: Any, usage: Any) -> Iterator[Event]:
    """Yield what a message has used, where it tells that."""
    tokens = api_tokens(usage)
    if tokens.total and isinstance(message, str):
        yield Event(EventKind.USAGE, message=message[:200], model=model_name(model), tokens=tokens)


def api_tokens(usage: Any) -> Tokens:
    """Return the tokens that stand in a `usage`, in the words of the model's API."""
    return tokens_from(
        usage,
        input="input_tokens",
        output="output_tokens",
        cache_read="cache_read_input_tokens",
        cache_write="cache_creation_input_tokens",
    )


def totals_of(usd: float | None, by_model: Any, usage: Any) -> Totals | None:
    """Return a result's totals; of a version that tells none by model, those of its turn."""
    models = by_model if isinstance(by_model, dict) else {}
    some = islice(models.items(), MOST_MODELS)
    by_name = {excerpt(name, 100): _model(found) for name, found in some}
    tokens = api_tokens(usage)
    if not by_name and tokens.total:
        by_name = {"": ModelUsage(tokens=tokens, usd=usd)}
    return Totals(usd=usd, models=by_name) if by_name or usd is not None else None


def money(value: Any) -> float | None:
    """Return an amount of money; None where something else stands there."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return finite(value) if is_number and value >= 0 else None


def _model(found: Any) -> ModelUsage:
    figures = found if isinstance(found, dict) else {}
    usd = figures.get("costUSD")
    tokens = tokens_from(
        figures,
        input="inputTokens",
        output="outputTokens",
        cache_read="cacheReadInputTokens",
        cache_write="cacheCreationInputTokens",
    )
    return ModelUsage(
        tokens=tokens,
        usd=money(usd),
        is_estimate=figures.get("costBasis") == UNPRICED,
    )
