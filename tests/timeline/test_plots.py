"""The plots of the page: the last groups, and bars whose parts stand side by side."""

import re
from typing import Any

from sow.jobs.stats import COUNTS, StatsBy, SuccessRates
from sow.schema.spending import Used
from sow.timeline.figures import stats_of
from sow.timeline.plots import BARS, LABEL, MOST_ROWS, plots_of


def group(key: str, usd: float | None = None, **counts: int) -> SuccessRates:
    fields: dict[str, Any] = {**dict.fromkeys(COUNTS, 0), **counts}
    rounds = {"iterations": None, "most_iterations": None}
    used = Used(key=key, usd=usd, seconds=60.0, runs_without_cost=int(usd is None))
    return SuccessRates(key=key, counts={**fields, **rounds}, retries={}, seconds_in={}, used=used)


def plots(*groups: SuccessRates) -> list[str]:
    return [plot.text for plot in plots_of(stats_of(StatsBy.MONTH, groups, (), since=None))]


def bars(plot: str) -> list[tuple[str, float, float]]:
    """Return each bar's class, its left end and its width, in percent."""
    found = re.findall(r'<rect class="([\w-]+)" x="([\d.]+)%" width="([\d.]+)%"', plot)
    return [(name, float(x), float(width)) for name, x, width in found]


def test_how_jobs_ended_stands_side_by_side() -> None:
    ends, *_ = plots(group("2026-01", well=2, failed=1, cancelled=1), group("2026-02", well=1))
    quarter = BARS / 4
    assert bars(ends) == [
        ("plot-well", LABEL, 2 * quarter),
        ("plot-failed", LABEL + 2 * quarter, quarter),
        ("plot-cut", LABEL + 3 * quarter, quarter),
        ("plot-well", LABEL, quarter),
    ]
    assert "2026-01: 67 % well. 2026-02: 100 % well" in ends


def test_of_many_months_the_last_are_drawn() -> None:
    ends, *_ = plots(*(group(f"month {number}", well=1) for number in range(1, MOST_ROWS + 3)))
    assert len(bars(ends)) == MOST_ROWS
    assert "month 3:" in ends
    assert f"month {MOST_ROWS + 2}:" in ends
    assert "month 2:" not in ends


def test_without_a_figure_there_is_no_bar_and_no_error() -> None:
    ends, cost, _ = plots(group("2026-01"))
    assert bars(ends) == bars(cost) == []
    assert "2026-01: none ended" in ends
    assert "2026-01: unknown" in cost
