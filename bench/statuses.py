"""What `sow status` costs with many tasks, in whole processes, against bare Python."""

import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack

from bench.place import Place, make_place
from bench.timing import Figure, interleave, time_process
from bench.whole import REFERENCE

TASKS = (100, 1_000)
STOP_SECONDS = 60.0


def measure(rounds: int) -> list[Figure]:
    """Return the reference, then `sow status` by the number of tasks, in projects with a queue."""
    with ExitStack() as stack:
        places = {size: stack.enter_context(make_place()) for size in TASKS}
        for size, place in places.items():
            fill(place, size)
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


def fill(place: Place, size: int) -> None:
    """Add so many tasks, and the queue's file, which the place's own worker makes."""
    for number in range(size):
        place.add_task(f"{1000 + number * 10:05}")
    time_process(place.sow("worker", "--background"), place.root, place.env)
    deadline = time.monotonic() + STOP_SECONDS
    while "stopped" not in _stop(place):  # it may not be on record yet
        if time.monotonic() > deadline:
            raise TimeoutError("the worker that makes the queue's file does not stop")
        time.sleep(0.1)


def _stop(place: Place) -> str:
    words = place.sow("worker", "stop")
    return subprocess.run(
        words, cwd=place.root, env=place.env, check=True, capture_output=True, text=True
    ).stdout
