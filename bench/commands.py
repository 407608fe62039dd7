"""What the commands that agents and orchestrators call most take, in whole processes."""

import itertools
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack

from bench.batches import waiting
from bench.place import Place, make_place
from bench.price import Build, Row
from bench.statuses import TASKS, fill
from bench.timing import Figure, interleave, time_process

ROUNDS, FEW_ROUNDS = 20, 5
BARE = "python -c pass"
SMALL, LARGE = (f"sow status, {tasks:,} tasks" for tasks in TASKS)
BARS = {
    "sow task show": (5.0, "≤ 7 ×"),
    "sow task set": (5.0, "≤ 8 ×"),
    "sow job list": (5.0, ""),
    SMALL: (6.5, "≤ 10 ×"),
    "sow batch show 1": (7.0, ""),
}
"""The most that each may take, × bare Python, and what it was allowed before."""
LARGE_BAR, LARGE_BAR_BEFORE = 0.120, "≤ 600 ms"
"""Seconds that `sow status` may take with a thousand tasks."""

Action = Callable[[], float]


def measure(builds: Sequence[Build], *, quick: bool) -> list[Row]:
    """Return what each command takes over bare Python."""
    with ExitStack() as stack:
        of_builds = {build.name: dict(_actions(stack, build)) for build in builds}
        actions: dict[str, Action] = {}
        first = stack.enter_context(make_place())
        words = (sys.executable, "-c", "pass")
        actions[BARE] = lambda: time_process(words, first.root, first.env)
        for what in of_builds[builds[0].name]:
            for build in builds:
                actions[_key(what, build)] = of_builds[build.name][what]
        figures = {
            figure.name: figure for figure in interleave(actions, FEW_ROUNDS if quick else ROUNDS)
        }
    whats = of_builds[builds[0].name]
    return [
        _row(what, [figures[_key(what, build)] for build in builds], figures[BARE])
        for what in whats
    ]


def _key(what: str, build: Build) -> str:
    return f"{what}, {build.name}"


def _actions(stack: ExitStack, build: Build) -> Sequence[tuple[str, Action]]:
    """Return each command as something to be timed, in the order of interest."""

    def run(place: Place, *words: str) -> Action:
        return lambda: time_process(place.sow(*words), place.root, place.env)

    single, small, large = (stack.enter_context(make_place(build.program)) for _ in range(3))
    fill(single, 1)
    task = "01000"
    fill(small, TASKS[0])
    fill(large, TASKS[1])
    batch = stack.enter_context(waiting(1, build.program))
    names = itertools.cycle(["a", "b"])

    def set_name() -> float:
        return run(single, "task", "set", task, "name", next(names))()

    return [
        ("sow task show", run(single, "task", "show", task)),
        ("sow task set", set_name),
        ("sow job list", run(single, "job", "list")),
        (SMALL, run(small, "status")),
        (LARGE, run(large, "status")),
        ("sow batch show 1", run(batch, "batch", "show", "1")),
    ]


def _row(what: str, figures: Sequence[Figure], bare: Figure) -> Row:
    this, *base = figures

    def measured(figure: Figure) -> str:
        return f"{figure.median * 1000:.0f} ms, {figure.median / bare.median:.1f} ×"

    if what == LARGE:
        bar, former = f"≤ {LARGE_BAR * 1000:g} ms", LARGE_BAR_BEFORE
        held = this.median <= LARGE_BAR
    else:
        limit, former = BARS[what]
        bar, held = f"≤ {limit:g} ×", this.median <= limit * bare.median
    seconds = {BARE: bare.seconds, **{figure.name: figure.seconds for figure in figures}}
    return Row(what, measured(this), "".join(map(measured, base)), bar, former, held, seconds)
