"""The parts of the page: where the time went, the critical path, the lanes, the tasks. Pure."""

from collections.abc import Iterator, Mapping, Sequence

from sow.schema.output.report import WORKING, PathStep, Report
from sow.schema.output.stats import Stats
from sow.timeline.drawing import lanes, path_line, shares, swatch
from sow.timeline.markup import Content, Markup, tag
from sow.timeline.page_tasks import row_of, table_of, task_row
from sow.timeline.plots import plots_of
from sow.timeline.scale import Scale
from sow.timeline.words import NAMES, NO_TASK, duration, percent, plural, step_label

FEW_TASKS = 20
"""So many stories are printed whole; of more those that are open."""
MOST_STEPS = 12
BY_LENGTH = "Its longest stretches, in the order in which they came"


def section(name: str, heading: str, *parts: Content, class_: str | None = None) -> Markup:
    """Return a part of the page, which its heading names."""
    return tag(
        "section",
        tag("h2", heading, id=f"{name}-heading"),
        *parts,
        id=name,
        class_=class_,
        aria_labelledby=f"{name}-heading",
    )


def time_section(report: Report) -> Iterator[Markup]:
    """Yield what the end was waiting for, as shares of the whole."""
    seconds = report.totals.path_seconds
    if not seconds:
        return
    waited = {kind: length for kind, length in report.totals.waited_seconds.items() if length >= 1}
    yield section(
        "time",
        "Where the time went",
        tag("p", "Along the critical path, from the beginning to the end:", class_="hint"),
        shares(seconds, "The critical path"),
        legend(seconds),
        *_waited(waited),
    )


def _waited(waited: Mapping[str, float]) -> Iterator[Markup]:
    if waited:
        words = "Waits of all tasks together, most of which cost no time in the end:"
        yield tag("p", words, class_="hint")
        yield shares(waited, "Waits of all tasks")
        yield legend(waited)


def legend(seconds: Mapping[str, float]) -> Markup:
    """Return what each colour of a bar means, with its length and share."""
    whole = sum(seconds.values())
    items = [
        tag(
            "li",
            swatch(kind),
            name,
            tag("b", duration(seconds[kind])),
            tag("span", percent(seconds[kind], whole), class_="when"),
        )
        for kind, name in NAMES.items()
        if seconds.get(kind)
    ]
    return tag("ul", *items, class_="legend")


def path_section(report: Report, scale: Scale) -> Iterator[Markup]:
    """Yield what the end was waiting for, along the timeline and as a table."""
    steps = report.critical_path
    if not steps:
        return
    longest = sorted(steps, key=lambda step: step.begin - step.end)[:MOST_STEPS]
    rows = [
        row_of(
            (
                *(duration(step.begin), duration(step.end - step.begin)),
                percent(step.end - step.begin, report.totals.seconds),
            ),
            tag("td", step.task or NO_TASK),
            tag("td", swatch(step.kind), " ", step_label(step)),
        )
        for step in steps
        if step in longest
    ]
    left = len(steps) - len(rows)
    caption = f"{BY_LENGTH} ({plural(left, 'short one')} left out)" if left else BY_LENGTH
    yield section(
        "path",
        "Critical path",
        tag(
            "p",
            "What the end was waiting for, back to the beginning. Only a change here would have"
            " ended it earlier.",
            class_="hint",
        ),
        path_line(steps, scale),
        table_of(("At", "Took", "Share"), ("Task", "What"), rows, caption),
    )


def lanes_section(report: Report, scale: Scale) -> Iterator[Markup]:
    """Yield every attempt on its lane."""
    if not report.runs:
        return
    found = {kind for task in report.tasks for kind in task.seconds_in}
    kinds = [kind for kind in NAMES if kind in WORKING and kind in found]
    yield section(
        "workers",
        "Workers",
        tag("p", _workers(report), class_="hint"),
        lanes(report, scale, _on_path(report)),
        tag("ul", *(tag("li", swatch(kind), NAMES[kind]) for kind in kinds), class_="legend"),
    )


def _on_path(report: Report) -> set[tuple[int, int]]:
    """Return the attempts that lie on the critical path."""
    spans = {task.task: task.spans for task in report.tasks}
    return {
        (span.job, span.attempt)
        for step in report.critical_path
        if step.kind in WORKING
        for span in spans[step.task]
        if span.job is not None and span.attempt is not None
        if span.begin < step.end and step.begin < span.end
    }


def _workers(report: Report) -> str:
    workers = {name for lane in report.lanes for name in lane.workers}
    return (
        f"{plural(report.totals.attempt_count, 'attempt')} on {plural(len(report.lanes), 'lane')}"
        f" of {plural(len(workers), 'worker')}. A failed attempt has a red lower edge, one"
        " on the critical path a dark outline. A shaded part is a pause, shown shorter than it was."
    )


def tasks_section(report: Report, scale: Scale) -> Iterator[Markup]:
    """Yield a row for each task, with its story below."""
    heads = ("Task", "Status", "Its time")
    more = ("Elapsed", "Iter.", "Cost")
    found = {kind for task in report.tasks for kind in task.seconds_in}
    paths: dict[str, list[PathStep]] = {}
    for step in report.critical_path:
        paths.setdefault(step.task, []).append(step)
    rows = [task_row(task, scale, paths.get(task.task, ())) for task in report.tasks]
    key = [tag("li", swatch(kind), name) for kind, name in NAMES.items() if kind in found]
    yield section(
        "tasks",
        "Tasks",
        tag("p", "Open a task for its story: its waits, faults, change and log.", class_="hint"),
        tag("ul", *key, class_="legend") if key else None,
        tag(
            "div",
            tag(
                "div",
                *(tag("span", word) for word in heads),
                *(tag("span", word, class_="number") for word in more),
                class_="row",
                aria_hidden="true",
            ),
            *rows,
            class_="rows few" if len(report.tasks) <= FEW_TASKS else "rows",
        ),
    )


def troubles_section(report: Report) -> Iterator[Markup]:
    """Yield why jobs were tried again, and which tools were denied."""
    totals = report.totals
    yield section(
        "troubles",
        "Retries and denials",
        tag(
            "div",
            _counts(
                "Tried again, by cause", totals.retries_by_cause, "Nothing had to be tried again."
            ),
            _counts(
                "Denied tools, by jobs that asked", totals.denials_by_tool, "No tool was denied."
            ),
            class_="columns",
        ),
    )


def figures_section(figures: Sequence[Stats]) -> Iterator[Markup]:
    """Yield plots of how all jobs of this checkout went, those that were pruned too."""
    if not figures:
        return
    words = (
        "All jobs of agents in this checkout, those of ended projects and pruned records too."
        " Green ended well, red failed, grey was cancelled; rounds are iterations of a task."
    )
    yield section(
        "figures",
        "Figures",
        tag("p", words, class_="hint"),
        tag("div", *(plot for stats in figures for plot in plots_of(stats)), class_="plots"),
    )


def _counts(heading: str, counts: Mapping[str, int], none: str) -> Markup:
    if not counts:
        return tag("div", tag("h3", heading), tag("p", none))
    rows = [
        tag("tr", tag("td", word), tag("td", str(count), class_="number"))
        for word, count in counts.items()
    ]
    return tag("div", tag("h3", heading), tag("table", tag("tbody", *rows)))
