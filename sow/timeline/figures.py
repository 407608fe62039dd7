"""How jobs went, as `sow stats` tells it and as the page draws it."""

from collections.abc import Sequence
from typing import Any

from sow.clock import format_time
from sow.jobs.database import Database
from sow.jobs.stats import COUNTS, StatsBy, SuccessRates, success_rates
from sow.reports.costs import cost_sum
from sow.schema.output.stats import Stats, StatsGroup, StatsSum
from sow.schema.spending import NOTHING_USED

NONE = SuccessRates(
    key="",
    counts={
        **dict.fromkeys(COUNTS, 0),
        "iterations": None,
        "most_iterations": None,
    },
    retries={},
    seconds_in={},
    used=NOTHING_USED,
)


def all_figures(database: Database, *, now: float) -> Sequence[Stats]:
    """Return how all jobs of agents went, by each grouping; none where there was no job."""
    total = success_rates(database, None, now=now, since=0.0)
    if not total:
        return ()
    return [
        stats_of(by, success_rates(database, by, now=now, since=0.0), total, since=None)
        for by in StatsBy
    ]


def stats_of(
    by: StatsBy,
    groups: Sequence[SuccessRates],
    total: Sequence[SuccessRates],
    *,
    since: float | None,
) -> Stats:
    """Return the sums as they are told."""
    return Stats(
        by=by.value,
        since=None if since is None else format_time(since),
        groups=tuple(StatsGroup(key=group.key, **_fields(group)) for group in groups),
        total=StatsSum(**_fields(total[0] if total else NONE)),
    )


def _fields(these: SuccessRates) -> dict[str, Any]:
    counts = dict(these.counts)
    judged = counts["well"] + counts["failed"]
    average = counts["iterations"]
    return {
        **counts,
        "iterations": None if average is None else round(average, 2),
        "success_rate": round(counts["well"] / judged, 4) if judged else None,
        "retries_by_cause": dict(these.retries),
        "seconds_in": {state: round(seconds, 1) for state, seconds in these.seconds_in.items()},
        "used": cost_sum(these.used),
    }
