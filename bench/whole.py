"""Whole processes: what one `sow` command costs, against bare Python."""

import itertools
import sys
from collections.abc import Callable

from bench.place import Place
from bench.timing import Figure, interleave, time_process

REFERENCE = "python -c pass"


def measure(place: Place, rounds: int) -> list[Figure]:
    """Return the figures of the frequent commands, the reference first."""
    place.add_task("900")
    statuses = itertools.cycle(["a", "b"])

    def run(*argv: str) -> Callable[[], float]:
        return lambda: time_process(argv, place.root, place.env)

    def set_name() -> float:
        words = place.sow("task", "set", "900", "name", next(statuses))
        return time_process(words, place.root, place.env)

    return interleave(
        {
            REFERENCE: run(sys.executable, "-c", "pass"),
            "python -c 'import click'": run(sys.executable, "-c", "import click"),
            "sow --version": run(*place.sow("--version")),
            "sow agent log": run(*place.sow("agent", "log", "measured", "--task", "900")),
            "sow task show": run(*place.sow("task", "show", "900")),
            "sow task set": set_name,
            "sow job list": run(*place.sow("job", "list")),
        },
        rounds,
    )
