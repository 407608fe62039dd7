"""The plots of the page: how jobs went by role, executor and month. SVG of our own, few lines.

Pure. Each is a row of bars with its figure in words behind it, so that it says the same in print,
without colours, and to those who do not see it.
"""

from collections.abc import Callable, Iterator, Sequence

from sow.schema.output.stats import Stats, StatsGroup
from sow.timeline.drawing import drawing
from sow.timeline.markup import Markup, tag
from sow.timeline.words import duration, money, percent

ROW = 24
LABEL, BARS = 25.0, 38.0
"""How much of the width the names take, and the bars, in percent; the figures have the rest."""
MOST_ROWS = 24
"""Of more months, say, the last so many are drawn."""
Parts = Sequence[tuple[str, float]]
"""The parts of a bar: the class of each, and its length."""


def plots_of(stats: Stats) -> Iterator[Markup]:
    """Yield the plots of one grouping: how jobs ended, what they cost, how long agents worked."""
    groups = stats.groups[-MOST_ROWS:]
    by = stats.by
    yield _plot(f"How jobs ended, by {by}", "jobs", groups, _ends, _end_words, _count)
    yield _plot(f"Cost, by {by}", "US dollars", groups, _cost, _cost_words, _dollars)
    yield _plot(f"Time of agents, by {by}", "time", groups, _time, _time_words, duration)


def _ends(group: StatsGroup) -> Parts:
    return (("plot-well", group.well), ("plot-failed", group.failed), ("plot-cut", group.cancelled))


def _end_words(group: StatsGroup) -> str:
    judged = group.well + group.failed
    rate = f"{percent(group.well, judged)} well" if judged else "none ended"
    retries = sum(group.retries_by_cause.values())
    again = f", {retries} again" if retries else ""
    return f"{rate}{again}"


def _cost(group: StatsGroup) -> Parts:
    return (("plain", group.used.cost_usd or 0.0),)


def _cost_words(group: StatsGroup) -> str:
    return money(group.used)


def _time(group: StatsGroup) -> Parts:
    return (("plain", group.used.seconds),)


def _time_words(group: StatsGroup) -> str:
    rounds = f", {group.iterations:.1f} rounds" if group.iterations is not None else ""
    return f"{duration(group.used.seconds)}{rounds}"


def _count(number: float) -> str:
    return f"{number:g}"


def _dollars(number: float) -> str:
    return f"${number:,.2f}"


def _plot(
    heading: str,
    unit: str,
    groups: Sequence[StatsGroup],
    parts: Callable[[StatsGroup], Parts],
    words: Callable[[StatsGroup], str],
    scale: Callable[[float], str],
) -> Markup:
    """Return one plot below its heading."""
    most = max([sum(length for _, length in parts(group)) for group in groups], default=0.0)
    height = ROW * len(groups)
    label = ". ".join(f"{group.key or 'none'}: {words(group)}" for group in groups)
    rows = [
        mark
        for number, group in enumerate(groups)
        for mark in _row(group.key or "none", parts(group), words(group), most, ROW * number)
    ]
    axis = [
        tag("line", class_="grid", x1=_at(share), x2=_at(share), y1="0", y2=str(height))
        for share in (0.0, 0.5, 1.0)
    ]
    ticks = [
        tag("text", text, class_="tick", x=_at(share), y=str(height + 14), text_anchor="middle")
        for share, text in ((0.0, "0"), (1.0, scale(most)))
    ]
    unit_of = tag("text", unit, class_="tick", x=_at(0.5), y=str(height + 14), text_anchor="middle")
    plot = drawing(height + 20, f"{heading}. {label}", *axis, *rows, *ticks, unit_of, class_="plot")
    return tag("figure", tag("figcaption", heading), plot)


def _row(name: str, parts: Parts, words: str, most: float, top: int) -> Iterator[Markup]:
    middle = str(top + 16)
    end = f"{LABEL - 1.5:.2f}%"
    yield tag("text", name[:22], class_="plot-name", x=end, y=middle, text_anchor="end")
    at = 0.0
    for class_, length in parts:
        share = length / most if most else 0.0
        if share:
            width = f"{BARS * share:.2f}%"
            yield tag("rect", class_=class_, x=_at(at), width=width, y=str(top + 4), height="16")
        at += share
    yield tag("text", words, class_="plot-words", x=f"{LABEL + BARS + 1.5:.2f}%", y=middle)


def _at(share: float) -> str:
    return f"{LABEL + BARS * share:.2f}%"
