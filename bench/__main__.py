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
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from msgspec import to_builtins

from bench import (
    batches,
    clone_jobs,
    clones,
    commands,
    executors,
    hosts,
    importing,
    instant,
    memory,
    pickup,
    plot,
    references,
    report,
    sandbox,
    scale,
    spawning,
    statuses,
    steps,
    syncs,
    watching,
    whole,
)
from bench.place import make_place
from bench.price import THIS, Build, Row, base_build
from bench.report import Results

RESULTS = Path(__file__).with_name("results")
ROUNDS, QUICK_ROUNDS = 40, 5
FEW_ROUNDS = 5
"""Of what takes long."""
AGENTS = (32, 64)
"""How many agents at work the worker is weighed with."""


SECTIONS: Mapping[str, Callable[..., Sequence[Row]]] = {
    "instant": instant.measure,
    "spawn": spawning.measure,
    "syncs": syncs.measure,
    "commands": commands.measure,
    "import": importing.measure,
    "clones": clone_jobs.measure,
    "executors": executors.measure,
    "sandbox": sandbox.measure,
}
"""What the price of a job is measured by, each for itself with `--only`; `memory` as well."""
MEMORY = "memory"
ALONE: Mapping[str, Callable[..., Sequence[Row]]] = {"hosts": hosts.measure}
"""What is measured with `--only` alone: it needs a server's program."""


def main() -> None:
    """Measure and tell."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few rounds, no growth")
    parser.add_argument("--docs", action="store_true", help="put it into docs/performance.md")
    parser.add_argument(
        "--base",
        type=Path,
        metavar="PATH",
        help="measure the price of a job in turns with the sow that is installed in this checkout",
    )
    parser.add_argument(
        "--only",
        action="append",
        choices=[*SECTIONS, MEMORY, *ALONE],
        help="measure this part of the price of a job and nothing else; repeat it for more",
    )
    options = parser.parse_args()
    builds = [THIS, *([base_build(options.base)] if options.base else [])]
    with tempfile.TemporaryDirectory(prefix="sow-bench-") as folder:
        tempfile.tempdir = folder
        os.environ["HOME"] = tempfile.mkdtemp(prefix="home-")
        if options.only:
            rows = list(_some(options.only, builds, quick=options.quick))
            print(report.as_text(report.price_table(rows)))
            _write({"price": [asdict(row) for row in rows]})
            return
        results = measure(builds, quick=options.quick)
    for table in results.tables():
        print(f"{report.as_text(table)}\n")
    _write({**asdict(results), "batches": to_builtins(results.batches)})
    if options.docs:
        report.write_page(results)
        plot.draw(results.growths)


def _some(names: Sequence[str], builds: Sequence[Build], *, quick: bool) -> Iterator[Row]:
    for name in names:
        if name == MEMORY:
            with make_place() as place:
                yield from memory.price(memory.measure(place, AGENTS[:1] if quick else AGENTS))
        else:
            yield from {**SECTIONS, **ALONE}[name](builds, quick=quick)


def measure(builds: Sequence[Build], *, quick: bool) -> Results:
    """Measure everything, or what is quickly measured."""
    rounds = QUICK_ROUNDS if quick else ROUNDS
    price = list(_some(list(SECTIONS), builds, quick=quick))
    with make_place() as place:
        weights = memory.measure(place, AGENTS[:1] if quick else AGENTS)
    with make_place() as place:
        return Results(
            processes=whole.measure(place, rounds),
            statuses=statuses.measure(rounds),
            spawns=pickup.measure(place, rounds),
            steps=steps.measure(place, rounds),
            references=() if quick else references.measure(place, FEW_ROUNDS),
            weights=weights,
            growths=() if quick else scale.measure(FEW_ROUNDS),
            output=None if quick else scale.measure_output(),
            clones=clones.measure(FEW_ROUNDS, quick=quick),
            batches=batches.measure(FEW_ROUNDS * 4, quick=quick),
            view=None if quick else watching.measure(FEW_ROUNDS * 4),
            price=[*price, *memory.price(weights)],
            rounds=rounds,
        )


def _write(figures: Mapping[str, object]) -> None:
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}.json"
    machine = {"python": platform.python_version(), "cores": os.cpu_count()}
    path.write_text(json.dumps({**machine, **figures}, ensure_ascii=False, indent=1))
    print(f"written to {os.path.relpath(path)}")


if __name__ == "__main__":
    main()
