"""What attempts have used, as people and programs are told of it.

Pure; the sums are `sow.jobs.spending`. What is not known is told as well: a sum without
that would pass for the whole.
"""

from collections.abc import Sequence
from typing import Any

from sow.clock import format_time
from sow.schema.amounts import MONEY_PLACES, dollars
from sow.schema.output.costs import CostGroup, Costs, CostSum, TokenCount
from sow.schema.spending import By, Used


def costs_of(total: Used, groups: Sequence[Used], by: By, *, since: float | None = None) -> Costs:
    """Return what attempts have used, grouped, and all of it together."""
    return Costs(
        by=by.value,
        since=None if since is None else format_time(since),
        groups=tuple(CostGroup(key=group.key, **_fields(group)) for group in groups),
        total=cost_sum(total),
    )


def cost_sum(used: Used) -> CostSum:
    """Return what attempts have used together, as every command shows it."""
    return CostSum(**_fields(used))


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
    if total.runs_without_tokens == total.run_count:
        return ""
    tokens = total.tokens
    words = (
        f"{tokens.input} in, {tokens.output} out,"
        f" {tokens.cache_read} cached read, {tokens.cache_write} cached written"
    )
    without = total.runs_without_tokens
    return f"{words}; {_runs(without)} reported none" if without else words


def notes_on(total: CostSum) -> list[str]:
    """Return what has to be said besides the sums, a sentence each."""
    notes = []
    if total.runs_cut_off:
        runs = _runs(total.runs_cut_off)
        notes.append(f"{runs} ended early: only what the output showed is counted.")
    if total.runs_without_tokens:
        notes.append(f"{_runs(total.runs_without_tokens)} reported no tokens.")
    if total.runs_without_cost:
        runs = _runs(total.runs_without_cost)
        notes.append(
            f"the cost of {runs} is unknown: the true sum is higher. With a price table in your"
            " configuration (`prices:`), sow computes the cost from tokens."
        )
    if total.estimated_usd:
        notes.append(f"${total.estimated_usd:.4f} of it is an estimate (marked ~).")
    return notes


def _runs(count: int) -> str:
    return "1 run" if count == 1 else f"{count} runs"


def _fields(used: Used) -> dict[str, Any]:
    """Return what attempts have used together, by key."""
    return {
        "run_count": used.runs,
        "running": used.running,
        "seconds": round(used.seconds, 1),
        "tokens": TokenCount(
            input=used.input,
            output=used.output,
            cache_read=used.cache_read,
            cache_write=used.cache_write,
        ),
        "cost_usd": dollars(used.usd),
        "estimated_usd": round(used.estimated_usd, MONEY_PLACES),
        "runs_without_tokens": used.runs_without_tokens,
        "runs_without_cost": used.runs_without_cost,
        "runs_cut_off": used.runs_cut_off,
    }
