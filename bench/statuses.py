"""What `sow status` costs with many tasks, in whole processes, against bare Python."""

import sys
from collections.abc import Callable
from contextlib import ExitStack

from bench.place import Place, make_place
from bench.timing import Figure, interleave, time_process
from bench.whole import REFERENCE
from sow.jobs.database import open_queue

TASKS = (100, 1_000)


def measure(rounds: int) -> list[Figure]:
    """Return the reference, then `sow status` by the number of tasks, in projects with a queue."""
    with ExitStack() as stack:
        places = {size: stack.enter_context(make_place()) for size in TASKS}
        for size, place in places.items():
            _fill(place, size)
        first = places[TASKS[0]]
        bare = (sys.executable, "-c", "pass")
        actions = {REFERENCE: lambda: time_process(bare, first.root, first.env)}
        for size, place in places.items():
            actions[name_of(size)] = _status(place)
        return interleave(actions, rounds)


def name_of(size: int) -> str:
    """Return how the figure of so many tasks is called."""
    return f"sow status, {size:,} tasks"


def _status(place: Place) -> Callable[[], float]:
    return lambda: time_process(place.sow("status"), place.root, place.env)


def _fill(place: Place, size: int) -> None:
    for number in range(size):
        place.add_task(f"{1000 + number * 10:05}")
    open_queue(place.workspace).close()
