"""What page and text call the kinds of spans, and how they write figures. Pure."""

from collections.abc import Mapping

from sow.clock import format_duration
from sow.schema.output.costs import CostSum
from sow.schema.output.report import WORKING, PathStep, Report, Span, SpanKind, TaskStory

NAMES: Mapping[str, str] = {
    SpanKind.WORK: "agents at work",
    SpanKind.REVIEW: "reviews",
    SpanKind.STEP: "checks, updates, merges",
    SpanKind.OPEN: "open on a terminal",
    SpanKind.SLOT: "waiting for a slot",
    SpanKind.WORKER: "waiting for a worker",
    SpanKind.DEPENDENCY: "waiting for other tasks",
    SpanKind.LIMIT: "waiting for a limit",
    SpanKind.RETRY: "waiting to try again",
    SpanKind.PERSON: "waiting for a person",
    SpanKind.PLACING: "sow itself",
}
"""In the order in which they are shown."""
SLOTS_MATTER = 0.1
"""What more slots would have saved is told where it is more than this share of the whole."""
LONG = 60.0
"""In seconds: of what took less, nothing is concluded."""
NO_TASK = "project"
"""What stands for a task's id where a job was about the project as a whole."""
UNKNOWN = "unknown"
"""The status of a task whose file cannot be read."""


def duration(seconds: float) -> str:
    """Return a length of time; of days in days."""
    if seconds >= 48 * 3600:
        days, rest = divmod(round(seconds / 3600), 24)
        return f"{days}d{rest:02d}h"
    return format_duration(seconds)


def percent(part: float, whole: float) -> str:
    """Return a share; what is there and less than one percent is told so."""
    if not whole or not part:
        return "0 %"
    share = 100 * part / whole
    return "< 1 %" if share < 1 else f"{share:.0f} %"


def step_label(step: PathStep | Span) -> str:
    """Return the name of a stretch of time: what was done, or what was waited for."""
    match step.kind:
        case SpanKind.WORK | SpanKind.REVIEW | SpanKind.STEP | SpanKind.OPEN | SpanKind.PLACING:
            return step.why
        case SpanKind.RETRY | SpanKind.LIMIT:
            return f"{NAMES[step.kind]}: {step.why}"
        case _:
            return f"waits for {step.why}"


def status_word(task: TaskStory) -> str:
    """Return a task's status as it is shown; the project as a whole has none."""
    return task.status or (UNKNOWN if task.task else "")


def money(used: CostSum | None) -> str:
    """Return what agents cost: about (~), or at least (≥) so much; a dash where nobody can tell."""
    if used is None or used.cost_usd is None:
        return "unknown" if used is not None and used.runs_without_cost else "–"
    mark = "≥" if used.runs_without_cost else "~" if used.estimated_usd else ""
    return f"{mark}${used.cost_usd:,.2f}"


def tokens(used: CostSum | None) -> str:
    """Return how many tokens agents used, of all kinds; a dash where nobody can tell."""
    if used is None or used.run_count == used.runs_without_tokens:
        return "–"
    parts = used.tokens
    return number(parts.input + parts.output + parts.cache_read + parts.cache_write)


def number(count: float) -> str:
    """Return a large number shortly: `950`, `12.3k`, `4.5M`."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if count >= size:
            return f"{count / size:.1f}{letter}"
    return f"{count:.0f}"


def plural(count: int, word: str) -> str:
    """Return a number with its noun."""
    return f"1 {word}" if count == 1 else f"{count:,} {word}s"


def title(report: Report) -> str:
    """Return what the report is of."""
    name = report.name or report.project
    if report.batch is None:
        return name
    return f"{name}: batch {report.batch}{f' {report.batch_name}' if report.batch_name else ''}"


def verdict(report: Report) -> str:
    """Return in one sentence where the time went."""
    totals = report.totals
    path = totals.path_seconds
    whole = sum(path.values())
    if not whole:
        return "Nothing has run yet."
    working = sum(path.get(kind, 0.0) for kind in WORKING)
    waits = [
        (seconds, NAMES[kind])
        for kind, seconds in path.items()
        if kind not in WORKING and seconds / whole >= 0.005
    ]
    begun = "So far it has taken" if report.ended_at is None else "It took"
    words = f"{begun} {duration(whole)}; for {percent(working, whole)} of that, work went on."
    if waits:
        longest = sorted(waits, reverse=True)[:3]
        rest = ", ".join(f"{duration(seconds)} {name}" for seconds, name in longest)
        words += f" The rest: {rest}."
    in_line = totals.waited_seconds.get("slot", 0.0)
    least = totals.unlimited_seconds
    if whole >= LONG and in_line > whole * SLOTS_MATTER and least < whole * (1 - SLOTS_MATTER):
        words += f" With a free slot for every task it would have taken about {duration(least)}."
    return words
