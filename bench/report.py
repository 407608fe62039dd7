"""The figures as tables: for a terminal, and as the part of docs/performance.md that is measured.

Owns the bars of each figure and their form. Measures nothing.
"""

import datetime
import os
import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.batches import BatchCosts
from bench.clones import CloneCost
from bench.memory import Weight
from bench.price import HEADER, Row
from bench.scale import Growth
from bench.timing import Figure
from bench.watching import ViewCost

PAGE = Path(__file__).resolve().parents[1] / "docs/performance.md"
BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"

BARS = {
    "sow agent log": 5.0,
    "sow task show": 7.0,
    "sow task set": 8.0,
    "sow agent spawn, warm worker": 15.0,
}
"""The most that each may cost, × bare Python (a spawn: over its agent alone)."""
STATUS_BARS = {100: "≤ 10 ×", 1_000: "≤ 600 ms"}
"""What `sow status` may cost by the number of tasks: × bare Python, or the time itself."""
LOG_BAR_SECONDS = 0.100
"""How long a log entry may take, p50, on an idle machine."""
PICK_UP_BAR_SECONDS = 0.010
"""How much later than the supervisor's own start an agent may be exec'ed, p95."""
GROWTH_BAR = 1.2
"""How much slower a command may be with 10,000 jobs on record than with 10, or with 20 batches
than with 2."""
SCHEDULE_BAR = 1.25
"""How often its ideal a batch may take."""
IDLE_BAR = 0.003
"""What an idle worker may take of one core."""
REDRAW_BAR = 0.100
"""Seconds from a change to the lines on the screen, in the live view of a thousand jobs."""
VIEW_IDLE_BAR = 0.03
"""What the live view may take of one core while nothing happens."""
BARS_IN_PROCESS = {
    "one state read and validated, in process": 0.001,
    "all states read and validated, in process": 0.5,
}
"""Seconds, at the largest size."""
MEGABYTE = 1_000_000


@dataclass(frozen=True)
class Table:
    """A table: its title, its columns, its rows; and which of its bars do not hold."""

    title: str
    header: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]


@dataclass(frozen=True)
class Results:
    """All that was measured in one run."""

    processes: Sequence[Figure]
    statuses: Sequence[Figure]
    spawns: Sequence[Figure]
    steps: Sequence[Figure]
    references: Sequence[Figure]
    weights: Sequence[Weight]
    growths: Sequence[Growth]
    output: Mapping[str, float] | None
    clones: Sequence[CloneCost]
    batches: BatchCosts
    view: ViewCost | None
    price: Sequence[Row]
    rounds: int

    def tables(self) -> Iterator[Table]:
        """Return every table, in the order of interest."""
        yield price_table(self.price)
        yield self._commands()
        yield self._steps()
        yield self._memory()
        if self.growths:
            yield self._growth()
        yield self._clones()
        yield self._batches()
        if self.view:
            yield self._view(self.view)
        if self.references or self.output:
            yield self._references()

    def _commands(self) -> Table:
        bare = self.processes[0].median
        rows = [
            _row(figure, figure.median / bare, BARS.get(figure.name)) for figure in self.processes
        ]
        rows = [_with_time_bar(row) if row[0] == "sow agent log" else row for row in rows]
        header = ("whole process", "p50 ms", "p95 ms", "× bare", "bar", "held")
        rows += self._status_rows()
        return Table("Commands, and one job", header, [*rows, *self._spawn_rows()])

    def _status_rows(self) -> Iterator[tuple[str, ...]]:
        bare, *measured = self.statuses
        for figure, bar in zip(measured, STATUS_BARS.values(), strict=True):
            ratio = figure.median / bare.median
            held = ratio <= 10 if "×" in bar else figure.median <= 0.6
            yield (*_row(figure, ratio, None)[:4], bar, "yes" if held else "NO")

    def _spawn_rows(self) -> Iterator[tuple[str, ...]]:
        by_name = {figure.name: figure for figure in self.spawns}
        bare = by_name["python -c pass"].median
        script, start = by_name["the agent's script alone"], by_name["supervisor's own start"]
        for figure in self.spawns[1:]:
            if figure.name == "sow agent spawn, warm worker":
                yield _row(figure, (figure.median - script.median) / bare, BARS[figure.name])
            elif figure.name == "commit → agent's exec":
                over = figure.p95 - start.p95
                held = "yes" if over <= PICK_UP_BAR_SECONDS else "NO"
                bar = f"start + {PICK_UP_BAR_SECONDS * 1000:.0f} ms at p95"
                yield (*_row(figure, figure.median / bare, None)[:4], bar, held)
            else:
                yield _row(figure, figure.median / bare, None)

    def _steps(self) -> Table:
        rows = [(figure.name, f"{figure.median * 1000:.1f}") for figure in self.steps]
        return Table("One job, step by step", ("step", "p50 ms"), rows)

    def _memory(self) -> Table:
        idle, *busy = self.weights
        ok = idle.pss <= 60 * MEGABYTE and idle.cpu_share <= IDLE_BAR
        rows = [
            (
                "idle worker, a supervisor waiting",
                f"{idle.pss / MEGABYTE:.1f}",
                str(idle.threads),
                f"{idle.cpu_share * 100:.2f}",
                "≤ 60 MB, ≤ 0.3 %",
                "yes" if ok else "NO",
            )
        ]
        for weight in busy:
            each = weight.per_agent(idle) / MEGABYTE
            rows.append(
                (
                    f"{weight.agents} agents at work, for each",
                    f"{each:.1f}",
                    f"{weight.threads} in all",
                    f"{weight.cpu_share * 100 / weight.agents:.3f}",
                    "≤ 10 MB",
                    "yes" if each <= 10 else "NO",
                )
            )
        header = ("worker and supervisors", "PSS MB", "threads", "CPU %", "bar", "held")
        return Table("Memory", header, rows)

    def _growth(self) -> Table:
        header = ("step", "of", "median ms, by size", "bar", "held")
        return Table("Growth", header, [_growth_row(growth) for growth in self.growths])

    def _clones(self) -> Table:
        header = ("a task's clone of", "made, ms", "found again, ms", "`git clone`, ms", "room, MB")
        rows = [
            (
                cost.repository,
                f"{cost.made * 1000:.0f}",
                f"{cost.found * 1000:.0f}",
                f"{cost.plain * 1000:.0f}",
                f"{cost.room / MEGABYTE:.1f}, repository {cost.repository_room / MEGABYTE:.1f}",
            )
            for cost in self.clones
        ]
        return Table("Clones", header, rows)

    def _batches(self) -> Table:
        """The schedule of a batch beside its ideal, then what many batches cost."""
        plan = self.batches.schedule
        terms, ratio = plan.terms, plan.ratio
        what = (
            f"{plan.tasks} tasks in diamonds, in clones, checked, reviewed, merged: author"
            f" {terms.author:g} s, reviewer {terms.reviewer:g} s, check {terms.check:g} s,"
            f" {terms.slots} slots, {terms.checks} checks"
        )
        held = "yes" if ratio <= SCHEDULE_BAR else "NO"
        taken = (
            f"{plan.taken:.0f} s, ideal {plan.ideal:.0f} s: {ratio:.2f} ×; {plan.beyond:.1f} s more"
            f" for each of {plan.in_a_row} tasks in a row"
        )
        rows = [(what, taken, f"≤ {SCHEDULE_BAR:g} ×", held)]
        for growth in self.batches.growths:
            name, of, by_size, _, _ = _growth_row(growth)
            few, many = growth.medians
            held = "yes" if many <= GROWTH_BAR * few else "NO"
            rows.append((f"{name}, ms by {of}", by_size, f"20 ≤ {GROWTH_BAR:g} × 2", held))
        for idle in self.batches.idle:
            what = f"idle worker, {idle.batches} batches wait for a person"
            held = "yes" if idle.cpu_share <= IDLE_BAR else "NO"
            rows.append((what, f"{idle.cpu_share * 100:.2f} %", f"≤ {IDLE_BAR * 100:g} %", held))
        return Table("Batches", ("what", "measured", "bar", "held"), rows)

    def _view(self, view: ViewCost) -> Table:
        redraw = f"{view.redraw.median * 1000:.0f} ms, p95 {view.redraw.p95 * 1000:.0f} ms"
        rows = [
            (
                "a change of one job, to the screen: CPU time",
                redraw,
                f"≤ {REDRAW_BAR * 1000:.0f} ms",
                "yes" if view.redraw.p95 <= REDRAW_BAR else "NO",
            ),
            (
                "nothing happens",
                f"{view.idle_share * 100:.1f} %",
                f"≤ {VIEW_IDLE_BAR * 100:g} %",
                "yes" if view.idle_share <= VIEW_IDLE_BAR else "NO",
            ),
        ]
        return Table("`sow watch` with 1,000 jobs", ("what", "measured", "bar", "held"), rows)

    def _references(self) -> Table:
        rows = [(figure.name, f"{figure.median * 1000:.0f}") for figure in self.references]
        if self.output:
            size = self.output["bytes"] / MEGABYTE
            cpu, growth = self.output["worker_cpu_seconds"], self.output["worker_growth_bytes"]
            took = f"{self.output['seconds'] * 1000:.0f} (worker: {cpu:.2f} s of CPU time, "
            rows.append(
                (f"an agent that prints {size:.0f} MB", f"{took}+{growth / MEGABYTE:.0f} MB)")
            )
        return Table("For comparison", ("what", "median ms"), rows)


def price_table(rows: Sequence[Row]) -> Table:
    """Return the bars of the price of a job as a table."""
    return Table("The price of a job", HEADER, [row.cells() for row in rows])


def _row(figure: Figure, ratio: float, bar: float | None) -> tuple[str, ...]:
    held = "" if bar is None else "yes" if ratio <= bar else "NO"
    return (
        figure.name,
        f"{figure.median * 1000:.1f}",
        f"{figure.p95 * 1000:.1f}",
        f"{ratio:.2f}",
        f"≤ {bar:g} ×" if bar else "",
        held,
    )


def _with_time_bar(row: tuple[str, ...]) -> tuple[str, ...]:
    """Return the row of a log entry, which has two bars."""
    name, median, p95, ratio, bar, held = row
    in_time = float(median) < LOG_BAR_SECONDS * 1000
    bars = f"{bar}, < {LOG_BAR_SECONDS * 1000:.0f} ms"
    return name, median, p95, ratio, bars, held if in_time else "NO"


def _growth_row(growth: Growth) -> tuple[str, ...]:
    medians = growth.medians
    by_size = ", ".join(
        f"{size:,}: {median * 1000:.{1 if median >= 0.01 else 2}f}"
        for size, median in zip(growth.sizes, medians, strict=True)
    )
    bar, held = "", ""
    limit = BARS_IN_PROCESS.get(growth.what)
    if limit is not None:
        bar, held = f"≤ {limit * 1000:g} ms", "yes" if medians[-1] <= limit else "NO"
    elif 10_000 in growth.sizes and growth.of == "finished jobs on record":
        ratio = medians[list(growth.sizes).index(10_000)] / medians[0]
        bar, held = f"10,000 ≤ {GROWTH_BAR:g} × 10", "yes" if ratio <= GROWTH_BAR else "NO"
    return (growth.what, growth.of, by_size, bar, held)


def as_text(table: Table) -> str:
    """Return a table for a terminal."""
    lines = [table.header, *table.rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(table.header))]
    rows = (
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )
    return "\n".join(rows)


def as_markdown(table: Table) -> str:
    """Return a table for the page."""
    rule = ("---",) * len(table.header)
    lines = [f"| {' | '.join(line)} |" for line in (table.header, rule, *table.rows)]
    return f"### {table.title}\n\n" + "\n".join(lines) + "\n"


def write_page(results: Results) -> None:
    """Put the tables into the page, between its marks."""
    today = datetime.datetime.now(tz=datetime.UTC).date()
    machine = (
        f"Measured on {today} with Python {platform.python_version()} on {os.cpu_count()} cores "
        f"({platform.system()} {platform.machine()}), {results.rounds} rounds, interleaved."
    )
    body = "\n".join([machine, "", *(as_markdown(table) for table in results.tables())])
    text = PAGE.read_text("utf-8")
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    PAGE.write_text(f"{before}{BEGIN}\n{body}{END}{after}", encoding="utf-8")
