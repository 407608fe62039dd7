"""`python -m bench`: measure, print tables, write JSON.

No figure is asserted: a ratio within one run says more than a time, and the
machine decides about both.
"""

import argparse
import json
import os
import platform
import tempfile
import time
from dataclasses import asdict
from pathlib import Path

from msgspec import to_builtins

from bench import (
    batches,
    clones,
    memory,
    pickup,
    plot,
    references,
    report,
    scale,
    statuses,
    steps,
    watching,
    whole,
)
from bench.place import make_place
from bench.report import Results

RESULTS = Path(__file__).with_name("results")
ROUNDS, QUICK_ROUNDS = 40, 5
FEW_ROUNDS = 5
"""Of what takes long."""
AGENTS = (32, 64)
"""How many agents at work the worker is weighed with."""


def main() -> None:
    """Measure and tell."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few rounds, no growth")
    parser.add_argument("--docs", action="store_true", help="put it into docs/performance.md")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="sow-bench-home-") as home:
        os.environ["HOME"] = home
        results = measure(quick=options.quick)
    for table in results.tables():
        print(f"{report.as_text(table)}\n")
    _write(results)
    if options.docs:
        report.write_page(results)
        plot.draw(results.growths)


def measure(*, quick: bool) -> Results:
    """Measure everything, or what is quickly measured."""
    rounds = QUICK_ROUNDS if quick else ROUNDS
    with make_place() as place:
        return Results(
            processes=whole.measure(place, rounds),
            statuses=statuses.measure(rounds),
            spawns=pickup.measure(place, rounds),
            steps=steps.measure(place, rounds),
            references=() if quick else references.measure(place, FEW_ROUNDS),
            weights=memory.measure(place, AGENTS[:1] if quick else AGENTS),
            growths=() if quick else scale.measure(FEW_ROUNDS),
            output=None if quick else scale.measure_output(),
            clones=clones.measure(FEW_ROUNDS, quick=quick),
            batches=batches.measure(FEW_ROUNDS * 4, quick=quick),
            view=None if quick else watching.measure(FEW_ROUNDS * 4),
            rounds=rounds,
        )


def _write(results: Results) -> None:
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}.json"
    machine = {"python": platform.python_version(), "cores": os.cpu_count()}
    path.write_text(
        json.dumps(
            {**machine, **asdict(results), "batches": to_builtins(results.batches)},
            ensure_ascii=False,
            indent=1,
        )
    )
    print(f"written to {os.path.relpath(path)}")


if __name__ == "__main__":
    main()
