"""A task on the page: its row, and its story below it. Pure."""

from collections.abc import Iterator, Sequence

from sow.schema.output.report import LogNote, PathStep, Span, TaskStory
from sow.timeline.drawing import anchor_of, strip, swatch
from sow.timeline.markup import Content, Markup, tag
from sow.timeline.scale import Scale
from sow.timeline.words import (
    NO_TASK,
    UNKNOWN,
    duration,
    money,
    plural,
    status_word,
    step_label,
    tokens,
)

MOST_SPANS = 40
"""Of more stretches of a task's time the longest so many are told."""


def task_row(task: TaskStory, scale: Scale, path: Sequence[PathStep]) -> Markup:
    """Return a task's row with its story, which opens by click or key."""
    name = task.name or ("" if task.task else "the project as a whole")
    status = status_word(task)
    elapsed = duration(task.end - task.begin) if task.spans else "–"
    summary = tag(
        "summary",
        tag("span", tag("b", task.task or NO_TASK), name, class_="name"),
        tag("span", status.replace("_", " "), class_=f"status {_word(status)}"),
        strip(f"{task.task or NO_TASK}", task.spans, scale, path),
        tag("span", elapsed, class_="number"),
        tag("span", "–" if task.iteration is None else str(task.iteration), class_="number"),
        tag("span", money(task.used), class_="number"),
    )
    story = tag("div", *_story(task), class_="story", id=anchor_of(task.task))
    return tag("details", summary, story)


def _word(status: str) -> str:
    return status if status.replace("_", "").isalpha() and status.isascii() else UNKNOWN


def _story(task: TaskStory) -> Iterator[Markup]:
    if task.name:
        yield tag("p", tag("b", task.name))
    yield tag("p", "; ".join(_facts(task)), class_="when")
    if task.waiting_for:
        yield tag("p", f"It waits for {task.waiting_for}", class_="now")
    if task.faults:
        yield tag("h3", "What went wrong")
        yield tag("ul", *(tag("li", fault) for fault in task.faults), class_="fault")
    if task.denied_tools:
        yield tag("p", f"Tools that were denied: {', '.join(task.denied_tools)}")
    if task.spans:
        yield tag("h3", "How its time went")
        yield _spans(task.spans)
    if task.diff_stat:
        yield tag("h3", "What it changed")
        yield tag("pre", task.diff_stat, tabindex="0", role="region", aria_label="Changed files")
    if task.log:
        more = f", the last of {len(task.log) + task.log_left_out}" if task.log_left_out else ""
        yield tag("h3", f"Its log{more}")
        yield tag("ol", *map(_entry, task.log), class_="log")


def _facts(task: TaskStory) -> Iterator[str]:
    yield f"phase {task.phase}" if task.phase else "no phase"
    if task.agent:
        yield f"agent {task.agent}"
    if task.depends_on:
        yield f"after {', '.join(task.depends_on)}"
    yield f"{plural(task.job_count, 'job')}, {plural(task.attempt_count, 'attempt')}"
    if task.hosts:
        yield f"ran on {', '.join(task.hosts)}"
    if task.retries_by_cause:
        causes = ", ".join(f"{count} × {cause}" for cause, count in task.retries_by_cause.items())
        yield f"tried again: {causes}"
    if task.used is not None:
        yield f"{tokens(task.used)} tokens, {money(task.used)}"


def _spans(spans: Sequence[Span]) -> Markup:
    longest = sorted(spans, key=lambda span: span.begin - span.end)[:MOST_SPANS]
    rows = [
        row_of(
            (duration(span.begin), duration(span.end - span.begin)),
            tag("td", swatch(span.kind), " ", step_label(span)),
            tag("td", _which(span)),
        )
        for span in spans
        if span in longest
    ]
    return table_of(("At", "Took"), ("What", "Attempt"), rows)


def row_of(numbers: Sequence[str], *more: Content) -> Markup:
    """Return a row: numbers first, then other cells."""
    return tag("tr", *(tag("td", number, class_="number") for number in numbers), *more)


def table_of(
    numbers: Sequence[str], words: Sequence[str], rows: Sequence[Markup], caption: str | None = None
) -> Markup:
    """Return a table with the heads of its numbers, then those of its words."""
    heads = [
        *(tag("th", word, scope="col", class_="number") for word in numbers),
        *(tag("th", word, scope="col") for word in words),
    ]
    above = None if caption is None else tag("caption", caption)
    head, body = tag("thead", tag("tr", *heads)), tag("tbody", *rows)
    return tag("div", tag("table", above, head, body, class_="narrow"), class_="scroll")


def _which(span: Span) -> str:
    if span.job is None:
        return ""
    return f"{span.job}.{span.attempt}" if span.attempt is not None else f"job {span.job}"


def _entry(note: LogNote) -> Markup:
    result = f" – {note.result}" if note.result else ""
    return tag(
        "li",
        tag("time", note.at, datetime=note.at),
        f" {note.agent}: ",
        tag("b", note.action),
        result,
        tag("div", note.text, class_="text") if note.text else None,
    )
