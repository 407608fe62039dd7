"""What attempts have used, summed up by task, agent, executor, model or day.

Pure. What is not known is counted as well: a sum without that would pass for the whole.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any

import msgspec

from sow.clock import format_time
from sow.schema.output.costs import CostGroup, Costs, CostSum, TokenCount
from sow.schema.spending import Spending
from sow.schema.usage import NOTHING, ModelUsage, Tokens, sum_of

UNTOLD_MODEL = "unknown"
"""Stands for a model that was not told."""
MONEY_PLACES = 4


class By(StrEnum):
    """What costs are grouped by."""

    TASK = "task"
    AGENT = "agent"
    EXECUTOR = "executor"
    BATCH = "batch"
    MODEL = "model"
    DAY = "day"


KEYS: Mapping[By, Callable[[Spending, float], str]] = {
    By.TASK: lambda spending, _: spending.task_id,
    By.AGENT: lambda spending, _: spending.agent,
    By.BATCH: lambda spending, _: str(spending.batch or ""),
    By.EXECUTOR: lambda spending, _: spending.executor,
    By.DAY: lambda spending, now: _day(spending.ended_at or now),
}


def costs_of(spent: Sequence[Spending], by: By, *, now: float, since: float | None = None) -> Costs:
    """Return what attempts have used, grouped, and all of it together."""
    groups: defaultdict[str, list[Spending]] = defaultdict(list)
    for spending in spent:
        for key, part in _parts(spending, by, now):
            groups[key].append(part)
    return Costs(
        by=by.value,
        since=None if since is None else format_time(since),
        groups=tuple(CostGroup(key=key, **_sum(groups[key], now)) for key in sorted(groups)),
        total=sum_of_costs(spent, now=now),
    )


def sum_of_costs(spent: Sequence[Spending], *, now: float) -> CostSum:
    """Return what attempts have used together."""
    return CostSum(**_sum(spent, now))


def cost_words(total: CostSum) -> str:
    """Return the money for people: `$1.2345, of it $0.2000 estimated; 1 run unknown`."""
    words = "" if total.cost_usd is None else f"${total.cost_usd:.4f}"
    if total.estimated_usd:
        words += f", of it ${total.estimated_usd:.4f} estimated"
    if total.runs_without_cost:
        unknown = f"cost of {_runs(total.runs_without_cost)} unknown"
        words = f"{words}; {unknown}" if words else unknown
    return words


def token_words(total: CostSum) -> str:
    """Return the tokens for people: `1200 in, 300 out, 5000 cached read, 10 cached written`."""
    if total.runs_without_tokens == total.runs:
        return ""
    tokens = total.tokens
    words = (
        f"{tokens.input} in, {tokens.output} out,"
        f" {tokens.cache_read} cached read, {tokens.cache_write} cached written"
    )
    without = total.runs_without_tokens
    return f"{words}; {_runs(without)} told none" if without else words


def notes_on(total: CostSum) -> list[str]:
    """Return what has to be said besides the sums, a sentence each."""
    notes = []
    if total.runs_cut_off:
        runs = _runs(total.runs_cut_off)
        notes.append(f"{runs} ended before telling all: what was seen of it is counted.")
    if total.runs_without_tokens:
        notes.append(f"{_runs(total.runs_without_tokens)} told of no tokens: none are counted.")
    if total.runs_without_cost:
        runs = _runs(total.runs_without_cost)
        notes.append(
            f"{runs} used what nobody can tell the price of: the true cost is higher. A price table"
            " in your configuration (`prices:`) counts tokens of known models."
        )
    if total.estimated_usd:
        notes.append(f"${total.estimated_usd:.4f} of it is an estimate (marked ~).")
    return notes


def _runs(count: int) -> str:
    return "1 run" if count == 1 else f"{count} runs"


def _day(seconds: float) -> str:
    """Return the local day of a time."""
    return time.strftime("%Y-%m-%d", time.localtime(seconds))


def _parts(spending: Spending, by: By, now: float) -> Iterable[tuple[str, Spending]]:
    """Return the attempt, or its part of each model, with the key that it belongs to."""
    if by is not By.MODEL:
        return [(KEYS[by](spending, now), spending)]
    if not spending.models:
        return [(UNTOLD_MODEL, spending)]
    return [
        (model or UNTOLD_MODEL, _of_model(spending, usage))
        for model, usage in spending.models.items()
    ]


def _of_model(spending: Spending, usage: ModelUsage) -> Spending:
    return msgspec.structs.replace(
        spending,
        **msgspec.structs.asdict(usage.tokens),
        usd=usage.usd,
        is_estimate=usage.is_estimate,
        is_unpriced=usage.usd is None,
    )


def _sum(spent: Sequence[Spending], now: float) -> dict[str, Any]:
    """Return what attempts have used together, by key."""
    known = [spending.usd for spending in spent if spending.usd is not None]
    estimated = sum(spending.usd or 0.0 for spending in spent if spending.is_estimate)
    ended = [spending for spending in spent if spending.ended_at is not None]
    return {
        "runs": len(spent),
        "running": len(spent) - len(ended),
        "seconds": round(sum(_seconds(spending, now) for spending in spent), 1),
        "tokens": _count(sum_of(spending.tokens or NOTHING for spending in spent)),
        "cost_usd": round(sum(known), MONEY_PLACES) if known else None,
        "estimated_usd": round(estimated, MONEY_PLACES),
        "runs_without_tokens": sum(spending.tokens is None for spending in ended),
        "runs_without_cost": sum(spending.is_unpriced for spending in ended),
        "runs_cut_off": sum(
            spending.is_partial and spending.tokens is not None for spending in ended
        ),
    }


def _seconds(spending: Spending, now: float) -> float:
    return max(0.0, (spending.ended_at or now) - spending.began_at)


def _count(tokens: Tokens) -> TokenCount:
    return TokenCount(**msgspec.structs.asdict(tokens))
