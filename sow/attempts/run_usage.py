"""What one run of an agent has used, by what its output and its session's earlier runs told.

Owns that nothing counts twice between the runs of a session, and that what
nobody can know is said to be unknown. Pure.
"""

from collections.abc import Iterable
from itertools import chain

import msgspec

from sow.executors.metering import Meter, Span
from sow.schema.usage import ModelUsage, Price, Prices, RunUsage, Tokens, Totals, sum_of

ROUNDING_USD = 1e-9
"""Sums of floats differ by less than this."""

Part = tuple[str, ModelUsage]
"""A model's name, and something that was used of it."""


def usage_of(
    meter: Meter, earlier: Iterable[Totals], prices: Prices, *, model: str = "", ended: bool = True
) -> RunUsage:
    """Return what a run has used.

    `earlier` are the totals that other runs of the session told. `model` is the
    one that it was told to use. A run that has `ended` without a result, or after a
    turn that came to none, has used more than its output tells.
    """
    if not meter.is_told:
        return RunUsage(is_partial=True, is_unpriced=True)
    name = meter.model or model
    own = _of_this_run(meter, earlier)
    fallback = price_of(model, prices)  # by the settings' own word for it, such as `opus`
    counted = _priced(
        [(found or name, usage) for found, usage in own.models.items()], prices, fallback
    )
    seen = _priced(_seen(meter, name), prices, fallback)
    models = _joined(counted, seen)
    counted_usd = own.usd if own.usd is not None or meter.totals is None else _money(counted)
    known = [usd for usd in (counted_usd, _money(seen) if seen else None) if usd is not None]
    to_price = seen if own.usd is not None else [*counted, *seen]
    return RunUsage(
        models=models,
        tokens=sum_of(usage.tokens for usage in models.values()),
        usd=sum(known) if known else None,
        is_estimate=any(usage.is_estimate for _, usage in [*counted, *seen]),
        is_partial=ended and not meter.is_closed and (meter.totals is None or bool(meter.since)),
        is_unpriced=any(usage.usd is None for _, usage in to_price) or not known,
    )


def base_of(meter: Meter, earlier: Iterable[Totals]) -> Totals:
    """Return what the totals of a run had come to before it began.

    Where they count the session, that is what one of its earlier runs told, or
    nothing: which of them the CLI has kept, nobody knows but the CLI. It is the
    largest that leaves to this run what its own messages tell.
    """
    totals = meter.totals or Totals()
    if meter.span is Span.RUN:
        return Totals()
    fitting = [base for base in earlier if _fits(base, totals, meter.least)]
    return max(fitting, key=lambda base: (base.usd or 0.0, base.tokens.total), default=Totals())


def _fits(base: Totals, totals: Totals, least: Tokens) -> bool:
    has_money = (totals.usd or 0.0) + ROUNDING_USD >= (base.usd or 0.0)
    by_model = all(
        totals.models.get(name, ModelUsage()).tokens.covers(usage.tokens)
        for name, usage in base.models.items()
    )
    return has_money and by_model and totals.tokens.covers(base.tokens + least)


def _of_this_run(meter: Meter, earlier: Iterable[Totals]) -> Totals:
    """Return the part of a run's totals that is its own."""
    totals = meter.totals
    if totals is None:
        return Totals()
    base = base_of(meter, earlier)
    models = {
        name: _less(usage, base.models.get(name, ModelUsage()))
        for name, usage in totals.models.items()
    }
    usd = None if totals.usd is None else max(0.0, totals.usd - (base.usd or 0.0))
    return Totals(usd=usd, models={name: usage for name, usage in models.items() if _is_any(usage)})


def _less(usage: ModelUsage, base: ModelUsage) -> ModelUsage:
    usd = None if usage.usd is None else max(0.0, usage.usd - (base.usd or 0.0))
    return msgspec.structs.replace(usage, tokens=usage.tokens.beyond(base.tokens), usd=usd)


def _is_any(usage: ModelUsage) -> bool:
    return bool(usage.tokens.total or usage.usd)


def _seen(meter: Meter, name: str) -> list[Part]:
    """Return what messages told that no result has counted: with their money, and without."""
    paid = [(found or name, usage) for found, usage in meter.paid.items()]
    others = {
        found: tokens.beyond(meter.paid.get(found, ModelUsage()).tokens)
        for found, tokens in meter.since.items()
    }
    unpaid = [
        (found or name, ModelUsage(tokens=tokens))
        for found, tokens in others.items()
        if tokens.total or found not in meter.paid
    ]
    return [*paid, *unpaid]


def _priced(parts: Iterable[Part], prices: Prices, fallback: Price | None) -> list[Part]:
    """Return the parts, each with money where its CLI or a price tells it."""
    return [(name, _with_price(usage, price_of(name, prices) or fallback)) for name, usage in parts]


def _with_price(usage: ModelUsage, price: Price | None) -> ModelUsage:
    if usage.usd is not None or price is None:
        return usage
    return msgspec.structs.replace(usage, usd=price.of(usage.tokens), is_estimate=True)


def price_of(name: str, prices: Prices) -> Price | None:
    """Return the price of a model; `[1m]` and the like behind its name make no other model."""
    return prices.get(name) or prices.get(name.partition("[")[0])


def _money(parts: Iterable[Part]) -> float | None:
    """Return what is known of the money of some parts; None where nothing is."""
    known = [usage.usd for _, usage in parts if usage.usd is not None]
    return sum(known) if known else None


def _joined(*several: Iterable[Part]) -> dict[str, ModelUsage]:
    """Return parts by model."""
    models: dict[str, ModelUsage] = {}
    for name, usage in chain(*several):
        models[name] = _sum(models[name], usage) if name in models else usage
    return models


def _sum(first: ModelUsage, second: ModelUsage) -> ModelUsage:
    known = [usd for usd in (first.usd, second.usd) if usd is not None]
    return ModelUsage(
        tokens=first.tokens + second.tokens,
        usd=sum(known) if known else None,
        is_estimate=first.is_estimate or second.is_estimate,
    )
