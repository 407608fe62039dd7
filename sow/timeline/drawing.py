"""The drawings of the page: lanes, a task's strip, bars of shares; SVG without a script.

Pure. Places are percentages of the width, so that a drawing fits any page; heights are pixels.
Each drawing says in words what it shows, for those who do not see it.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from sow.schema.output.report import WORKING, PathStep, Report, Run, Span
from sow.timeline.markup import Content, Markup, tag
from sow.timeline.scale import Scale
from sow.timeline.words import NAMES, NO_TASK, duration, percent, step_label

LANE = 24
"""The height of a lane, in pixels."""
AXIS = 22
STRIP = 18
LEAST = 0.12
"""The least width of a bar in percent: what happened has to be seen."""
ROOM_FOR_TEXT = 3.2
KINDS = {"review": "review", "check": "step", "update": "step", "merge": "step", "open": "open"}


def place(scale: Scale, begin: float, end: float) -> tuple[str, str]:
    """Return where a bar begins and how wide it is."""
    left = 100 * scale.at(begin)
    width = max(100 * scale.at(end) - left, LEAST)
    return f"{min(left, 100 - LEAST):.2f}%", f"{width:.2f}%"


def drawing(height: int, label: str, *parts: Content, class_: str = "") -> Markup:
    """Return an SVG with a name of its own."""
    return tag(
        "svg",
        *parts,
        class_=f"drawing {class_}".strip(),
        width="100%",
        height=str(height),
        role="img",
        aria_label=label,
    )


def axis(scale: Scale, height: int, *, tells_pauses: bool = True) -> Iterator[Markup]:
    """Yield the grid: the ticks with their times since the beginning, and the shortened pauses.

    How long a pause was stands in the middle of it, unless something is drawn there.
    """
    for piece in scale.pieces:
        if piece.is_idle:
            left, width = f"{100 * piece.left:.2f}%", f"{100 * (piece.right - piece.left):.2f}%"
            yield tag("rect", class_="pause", x=left, width=width, y="0", height=str(height))
    for tick in scale.ticks():
        at = 100 * scale.at(tick)
        x = f"{at:.2f}%"
        yield tag("line", class_="grid", x1=x, x2=x, y1="0", y2=str(height))
        anchor = "start" if at < 2 else "end" if at > 97 else "middle"
        yield tag("text", _tick(tick), class_="tick", x=x, y=str(height + 15), text_anchor=anchor)
    for piece in scale.pieces:
        if piece.is_idle and tells_pauses:
            words = duration(piece.end - piece.begin)
            x = f"{50 * (piece.left + piece.right):.2f}%"
            yield tag("text", words, class_="tick pause-text", x=x, y="12", text_anchor="middle")


def _tick(seconds: float) -> str:
    if not seconds:
        return "0"
    if seconds < 60:
        return f"{seconds:g}s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes}m{rest:02d}s" if rest else f"{minutes}m"
    hours, minutes = divmod(minutes, 60)
    if hours >= 48 and hours % 24 == 0:
        return f"{hours // 24}d"
    return f"{hours}h{minutes:02d}" if minutes else f"{hours}h"


def lanes(report: Report, scale: Scale, on_path: set[tuple[int, int]]) -> Markup:
    """Return every attempt on its lane."""
    height = LANE * len(report.lanes)
    label = (
        f"Timeline of {len(report.runs)} attempts on {len(report.lanes)} lanes,"
        f" {duration(report.totals.seconds)} long. The tasks below tell the same in words."
    )
    stripes = [
        tag("rect", class_="lane", x="0", width="100%", y=str(LANE * row), height=str(LANE - 1))
        for row in range(len(report.lanes))
    ]
    bars = [_bar(run, scale, (run.job, run.attempt) in on_path) for run in report.runs]
    return drawing(height + AXIS, label, *stripes, *axis(scale, height), *bars, class_="lanes")


def _bar(run: Run, scale: Scale, is_on_path: bool) -> Markup:
    """Return one attempt: a link to its task, which the keyboard passes over for the list below."""
    x, width = place(scale, run.begin, run.end)
    kind = KINDS.get(run.verb, "work")
    top = LANE * run.lane + 3
    parts: list[Content] = [
        tag("title", _words_of(run)),
        tag(
            "rect",
            class_=f"bar k-{kind}{' on-path' if is_on_path else ''}",
            x=x,
            width=width,
            y=str(top),
            height=str(LANE - 7),
            rx="2",
        ),
    ]
    if run.outcome == "failed":
        parts.append(
            tag("rect", class_="failed", x=x, width=width, y=str(top + LANE - 9), height="3")
        )
    if float(width[:-1]) >= ROOM_FOR_TEXT:
        name = (run.task or NO_TASK)[:12]
        parts.append(tag("text", name, class_="in-bar", x=x, dx="5", y=str(top + 12)))
    return tag("a", *parts, href=f"#{anchor_of(run.task or '')}", tabindex="-1")


def _words_of(run: Run) -> str:
    """Return what is to be known of an attempt."""
    who = f" by {run.agent}" if run.agent else ""
    on = f" on {run.executor}" if run.executor else ""
    cost = f", ${run.cost_usd:.2f}" if run.cost_usd is not None else ""
    came = {"well": "went well", "running": "still runs"}.get(run.outcome, run.cause or run.outcome)
    return (
        f"{run.task or NO_TASK}: {run.verb}{who}{on}, {duration(run.end - run.begin)}, {came}{cost}"
        f" (job {run.job}, attempt {run.attempt}, worker {run.worker})"
    )


def anchor_of(task: str) -> str:
    """Return the name by which the page refers to a task."""
    return f"task-{task}" if re.fullmatch("[0-9]{1,18}", task, re.ASCII) else "task-project"


def strip(name: str, spans: Sequence[Span], scale: Scale, path: Iterable[PathStep] = ()) -> Markup:
    """Return how a task's time went: work high, waiting low, the critical path below it."""
    working = sum(span.end - span.begin for span in spans if span.kind in WORKING)
    whole = spans[-1].end - spans[0].begin if spans else 0.0
    label = (
        f"{name}: {duration(working)} of work in {duration(whole)}" if spans else f"{name}: idle"
    )
    bars = [_stretch(span, scale) for span in spans]
    under = [
        tag("rect", class_="path", x=x, width=width, y=str(STRIP - 2), height="2")
        for step in path
        for x, width in (place(scale, step.begin, step.end),)
    ]
    return drawing(STRIP, label, *bars, *under, class_="strip")


def _stretch(span: Span, scale: Scale) -> Markup:
    x, width = place(scale, span.begin, span.end)
    high = span.kind in WORKING
    return tag(
        "rect",
        tag("title", f"{step_label(span)}, {duration(span.end - span.begin)}"),
        class_=f"k-{span.kind}",
        x=x,
        width=width,
        y="1" if high else "6",
        height="13" if high else "4",
    )


def path_line(steps: Sequence[PathStep], scale: Scale) -> Markup:
    """Return the critical path along the timeline."""
    height = 30
    label = f"The critical path in {len(steps)} stretches; the table below tells each."
    bars = [_path_bar(step, scale, height) for step in steps]
    grid = axis(scale, height, tells_pauses=False)
    return drawing(height + AXIS, label, *grid, *bars, class_="path-line")


def _path_bar(step: PathStep, scale: Scale, height: int) -> Markup:
    x, width = place(scale, step.begin, step.end)
    name = step.task or NO_TASK
    top, tall = (2, height - 6) if step.kind in WORKING else (9, height - 20)
    words = f"{name}: {step_label(step)}, {duration(step.end - step.begin)}"
    bar = tag(
        "rect", class_=f"k-{step.kind}", x=x, width=width, y=str(top), height=str(tall), rx="2"
    )
    text = None
    if step.kind in WORKING and float(width[:-1]) >= ROOM_FOR_TEXT:
        text = tag("text", name[:12], class_="in-bar", x=x, dx="5", y="18")
    return tag("a", tag("title", words), bar, text, href=f"#{anchor_of(step.task)}", tabindex="-1")


def shares(seconds: Mapping[str, float], label: str) -> Markup:
    """Return a bar whose parts are as wide as their share of all, in the order of the legend."""
    whole = sum(seconds.values())
    parts, at = [], 0.0
    for kind, name in NAMES.items():
        length = seconds.get(kind, 0.0)
        if not length or not whole:
            continue
        width = 100 * length / whole
        title = f"{name}: {duration(length)}, {percent(length, whole)}"
        parts.append(
            tag(
                "rect",
                tag("title", title),
                class_=f"k-{kind}",
                x=f"{at:.2f}%",
                width=f"{max(width, LEAST):.2f}%",
                y="0",
                height="26",
            )
        )
        at += width
    words = ", ".join(
        f"{name} {percent(seconds[kind], whole)}"
        for kind, name in NAMES.items()
        if seconds.get(kind)
    )
    return drawing(26, f"{label}: {words}", *parts, class_="shares")


def swatch(kind: str) -> Markup:
    """Return a small field in the colour of a kind, as high as the kind is drawn."""
    high = kind in WORKING
    field = tag(
        "rect",
        class_=f"k-{kind}",
        x="0",
        width="14",
        y="1" if high else "5",
        height="12" if high else "5",
        rx="1",
    )
    return tag("svg", field, class_="swatch", width="14", height="14", aria_hidden="true")
