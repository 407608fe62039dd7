"""Fair timings of whole processes: interleaved runs, medians, ratios to a reference.

Every round runs each command once, so that a machine whose speed drifts does
so for all of them alike.
"""

import statistics
import subprocess
import time
import timeit
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """Many measurements of one thing, in seconds."""

    name: str
    seconds: Sequence[float]

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    @property
    def p95(self) -> float:
        return (
            statistics.quantiles(self.seconds, n=20)[-1] if len(self.seconds) > 1 else self.median
        )


def time_process(argv: Sequence[str], cwd: str, env: Mapping[str, str]) -> float:
    """Run a command to its end and return how long it took, in seconds."""
    begun = time.perf_counter()
    subprocess.run(
        argv, cwd=cwd, env=dict(env), check=True, stdin=subprocess.DEVNULL, capture_output=True
    )
    return time.perf_counter() - begun


def time_call(action: Callable[[], object]) -> float:
    """Return how long a call takes in this process, in seconds.

    By `timeit`: without garbage collection, over as many calls as take 0.2 s.
    """
    calls, seconds = timeit.Timer(action).autorange()
    return seconds / calls


def interleave(actions: Mapping[str, Callable[[], float]], rounds: int) -> list[Figure]:
    """Measure each action once a round, after one round that does not count."""
    results: dict[str, list[float]] = {name: [] for name in actions}
    for number in range(rounds + 1):
        for name, action in actions.items():
            seconds = action()
            if number:
                results[name].append(seconds)
    return [Figure(name, seconds) for name, seconds in results.items()]
