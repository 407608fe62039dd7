"""The report as text for a terminal: the same as the page in eighty columns.

Pure. Letters carry what colours do elsewhere, so that nothing is lost without them.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

from sow.clock import local_time, parse_time
from sow.schema.output.report import WORKING, PathStep, Report, Span, SpanKind, TaskStory
from sow.terminal_text import cells, clipped, folded, printable
from sow.timeline.scale import Scale, scale_of
from sow.timeline.words import (
    NAMES,
    NO_TASK,
    duration,
    money,
    percent,
    plural,
    status_word,
    step_label,
    title,
    tokens,
    verdict,
)

Paint = Callable[[str, str], str]
"""Gives a text the colour of a state's word, where colours are shown."""

LETTERS: Mapping[str, str] = {
    SpanKind.WORK: "#",
    SpanKind.REVIEW: "=",
    SpanKind.STEP: "+",
    SpanKind.OPEN: "@",
    SpanKind.SLOT: ".",
    SpanKind.WORKER: ",",
    SpanKind.DEPENDENCY: "-",
    SpanKind.LIMIT: "~",
    SpanKind.RETRY: "!",
    SpanKind.PERSON: "?",
    SpanKind.PLACING: ":",
}
COLOURS: Mapping[str, str] = {
    SpanKind.WORK: "running",
    SpanKind.REVIEW: "running",
    SpanKind.STEP: "running",
    SpanKind.RETRY: "failed",
    SpanKind.LIMIT: "paused",
    SpanKind.PERSON: "paused",
}
"""The state in whose colour a kind is shown; the others are plain."""
NARROWEST = 40
WIDEST = 160
BAR = 24
LONGEST_ID = 8
MOST_STEPS = 12
ELSEWHERE = "`sow report --html report.html` shows all of it as a page."


def lines_of(report: Report, width: int, paint: Paint) -> Iterator[str]:
    """Yield the lines, none of them wider than the terminal."""
    width = min(max(width, NARROWEST), WIDEST)
    yield _cut(printable(title(report)), width)
    yield _when(report)
    yield from folded(verdict(report), width)
    yield ""
    yield from (_cut(printable(line), width) for line in _figures(report))
    if report.runs:
        scale = scale_of(((run.begin, run.end) for run in report.runs), report.totals.seconds)
        yield from _shares(report, paint)
        yield from _path(report, width)
        yield from _lanes(report, scale, width, paint)
        yield from _tasks(report, scale, width, paint)
    for note in report.notes:
        yield from folded(f"Note: {printable(note)}", width)
    yield ""
    yield ELSEWHERE


def _when(report: Report) -> str:
    begun = local_time(parse_time(report.began_at))
    if report.ended_at is None:
        return f"{begun} until now" if report.runs else ""
    return f"{begun} to {local_time(parse_time(report.ended_at))}"


def _figures(report: Report) -> Iterator[str]:
    totals = report.totals
    stand = ", ".join(f"{count} {status}" for status, count in totals.by_status.items())
    yield f"Tasks     {totals.task_count}: {stand}" if stand else "Tasks     none"
    failed = f", {totals.failed_attempts} failed" if totals.failed_attempts else ""
    yield f"Attempts  {totals.attempt_count}{failed}; {plural(totals.lane_count, 'lane')}"
    if totals.attempts_by_host:
        yield f"Hosts     {_counts(totals.attempts_by_host)}"
    if totals.retries_by_cause:
        yield f"Retries   {_counts(totals.retries_by_cause)}"
    if totals.used is not None:
        yield f"Used      {money(totals.used)}, {tokens(totals.used)} tokens"
    if totals.denials_by_tool:
        yield f"Denied    {_counts(totals.denials_by_tool)}"


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} × {printable(word)}" for word, count in counts.items())


def _shares(report: Report, paint: Paint) -> Iterator[str]:
    yield from ("", "Where the time went, along the critical path")
    seconds = report.totals.path_seconds
    whole = sum(seconds.values())
    for kind, name in NAMES.items():
        length = seconds.get(kind, 0.0)
        if length:
            filled = max(round(BAR * length / whole), 1)
            bar = paint(COLOURS.get(kind, ""), LETTERS[kind] * filled) + " " * (BAR - filled)
            yield f"  {name:<24} {bar} {duration(length):>7} {percent(length, whole):>6}"


def _path(report: Report, width: int) -> Iterator[str]:
    steps = report.critical_path
    longest = sorted(steps, key=lambda step: step.begin - step.end)[:MOST_STEPS]
    heading = "Critical path"
    if len(steps) > len(longest):
        heading += f", its {len(longest)} longest stretches of {len(steps)}"
    yield from ("", heading)
    for step in steps:
        if step in longest:
            yield _cut(_step(step), width)


def _step(step: PathStep) -> str:
    took = duration(step.end - step.begin)
    words = printable(step_label(step))
    return f"  {duration(step.begin):>7} {took:>7}  {_id(step.task):<4} {words}"


def _lanes(report: Report, scale: Scale, width: int, paint: Paint) -> Iterator[str]:
    """Yield a row for each lane: which task ran on it when."""
    room = width - 8
    yield from ("", f"Workers {_axis(scale, room)}".rstrip())
    for number, lane in enumerate(report.lanes):
        row = [" "] * room
        for run in report.runs:
            if run.lane != number:
                continue
            first, last = _columns(scale, run.begin, run.end, room)
            filled = "x" if run.outcome == "failed" else "#"
            name = _id(run.task)[: last - first]
            row[first:last] = list(name + filled * (last - first - len(name)))
        share = percent(lane.busy_seconds, report.totals.seconds)
        yield f"{share:>6}  {paint('running', ''.join(row).rstrip())}"


def _axis(scale: Scale, room: int) -> str:
    """Return the times since the beginning, as far apart as they have to be."""
    line = [" "] * room
    free = 0
    for tick in scale.ticks():
        at = round(scale.at(tick) * room) - 2
        words = duration(tick) if tick else "0"
        if at >= free and at + len(words) <= room:
            line[at : at + len(words)] = words
            free = at + len(words) + 2
    return "".join(line)


def _columns(scale: Scale, begin: float, end: float, room: int) -> tuple[int, int]:
    first = min(int(scale.at(begin) * room), room - 1)
    return first, max(min(round(scale.at(end) * room), room), first + 1)


def _tasks(report: Report, scale: Scale, width: int, paint: Paint) -> Iterator[str]:
    found = {kind for task in report.tasks for kind in task.seconds_in}
    key = ", ".join(f"{LETTERS[kind]} {name}" for kind, name in NAMES.items() if kind in found)
    yield ""
    yield from folded(f"Tasks ({key})", width)
    room = max(width - 50, 16)
    for task in report.tasks:
        yield from _task(task, scale, width, room, paint)


def _task(task: TaskStory, scale: Scale, width: int, room: int, paint: Paint) -> Iterator[str]:
    status = _plain(status_word(task))[:12]
    elapsed = duration(task.end - task.begin) if task.spans else "-"
    rounds = f"it.{task.iteration}" if task.iteration is not None and task.iteration > 1 else ""
    head = f"{_id(task.task):<4} "
    strip = _strip(task.spans, scale, room, paint)
    figures = f" {elapsed:>7} {rounds:<4} {money(task.used):>7}"
    left = width - len(head) - 12 - 1 - room - len(figures) - 1
    name = f" {clipped(printable(task.name), left)}" if left > 4 else ""
    yield f"{head}{paint(status, f'{status:<12}')} {strip}{figures}{name}".rstrip()
    if task.hosts:
        yield _cut(f"     ran on {', '.join(map(printable, task.hosts))}", width)
    if task.waiting_for:
        yield _cut(f"     waits for {printable(task.waiting_for)}", width)
    for fault in task.faults[-1:] if task.status == "failed" else ():
        yield _cut(f"     {printable(fault)}", width)


def _strip(spans: Sequence[Span], scale: Scale, room: int, paint: Paint) -> str:
    """Return a task's time as letters; of several kinds in one, the one that is work is shown."""
    kinds: list[str | None] = [None] * room
    for span in sorted(spans, key=lambda span: span.kind in WORKING):
        first, last = _columns(scale, span.begin, span.end, room)
        kinds[first:last] = [span.kind] * (last - first)
    parts: list[str] = []
    at = 0
    while at < room:
        until = at
        while until < room and kinds[until] == kinds[at]:
            until += 1
        kind = kinds[at]
        letters = (LETTERS[kind] if kind is not None else " ") * (until - at)
        parts.append(paint(COLOURS.get(kind or "", ""), letters) if kind is not None else letters)
        at = until
    return "".join(parts)


def _id(task: str | None) -> str:
    return _plain(task or NO_TASK)[:LONGEST_ID]


def _plain(word: str) -> str:
    """Return an id or a status as it is, and a damaged one so that each letter takes a column."""
    return printable(word).encode("ascii", "replace").decode()


def _cut(line: str, width: int) -> str:
    return line if cells(line) <= width else f"{clipped(line, width - 1)}…"
