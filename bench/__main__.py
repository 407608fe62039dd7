"""`python -m bench`: measure, print a table, write JSON.

No figure is asserted: a ratio within one run says more than a time, and the
machine decides about both.
"""

import argparse
import json
import os
import platform
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from bench import memory, pickup, whole
from bench.place import make_place
from bench.timing import Figure

RESULTS = Path(__file__).with_name("results")
BARS = {
    "sow agent log": 5.0,
    "sow task show": 7.0,
    "sow task set": 8.0,
    "sow agent spawn, warm worker": 15.0,
}
"""The most that each may cost, × bare Python (a spawn: over its agent alone)."""
AGENTS = (32, 64)
"""How many agents at work the worker is weighed with."""
PICK_UP_BAR_SECONDS = 0.010
"""How much later than the supervisor's own start an agent may be exec'ed, p95."""


def main() -> None:
    """Measure and tell."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few rounds")
    quick = parser.parse_args().quick
    rounds = 5 if quick else 30
    with make_place() as place:
        processes = whole.measure(place, rounds)
        spawns = pickup.measure(place, rounds)
        weights = memory.rows(memory.measure(place, AGENTS[:1] if quick else AGENTS))
    rows = [*_process_rows(processes), *_spawn_rows(spawns)]
    _print(rows)
    _print_weights(weights)
    _write([*rows, *weights], [*processes, *spawns], rounds)


def _process_rows(figures: Sequence[Figure]) -> list[dict[str, object]]:
    reference = figures[0].median
    return [_row(figure, figure.median / reference, BARS.get(figure.name)) for figure in figures]


def _spawn_rows(figures: Sequence[Figure]) -> list[dict[str, object]]:
    by_name = {figure.name: figure for figure in figures}
    bare = by_name["python -c pass"].median
    script = by_name["the agent's script alone"].median
    start = by_name["supervisor's own start"]
    rows = []
    for figure in figures[1:]:
        if figure.name == "sow agent spawn, warm worker":
            rows.append(_row(figure, (figure.median - script) / bare, BARS[figure.name]))
        elif figure.name == "commit → agent's exec":
            row = _row(figure, figure.median / bare, None)
            over = figure.p95 - start.p95
            row["bar"] = f"start + {PICK_UP_BAR_SECONDS * 1000:.0f} ms at p95"
            row["held"] = over <= PICK_UP_BAR_SECONDS
            row["over_ms"] = round(over * 1000, 1)
            rows.append(row)
        else:
            rows.append(_row(figure, figure.median / bare, None))
    return rows


def _row(figure: Figure, ratio: float, bar: float | None) -> dict[str, object]:
    return {
        "figure": figure.name,
        "p50_ms": round(figure.median * 1000, 1),
        "p95_ms": round(figure.p95 * 1000, 1),
        "ratio": round(ratio, 2),
        "bar": f"≤ {bar:g} ×" if bar else "",
        "held": ratio <= bar if bar else None,
    }


def _print(rows: Sequence[Mapping[str, object]]) -> None:
    print(f"{'figure':<32}{'p50 ms':>9}{'p95 ms':>9}{'× bare':>9}  {'bar':<24}held")
    for row in rows:
        held = {True: "yes", False: "NO", None: ""}[row["held"]]  # type: ignore[index]
        print(
            f"{row['figure']!s:<32}{row['p50_ms']:>9}{row['p95_ms']:>9}{row['ratio']:>9}  "
            f"{row['bar']!s:<24}{held}"
        )


def _print_weights(rows: Sequence[Mapping[str, object]]) -> None:
    print(f"\n{'memory':<32}{'PSS MB':>9}{'threads':>9}{'CPU %':>9}  {'bar':<24}held")
    for row in rows:
        print(
            f"{row['figure']!s:<32}{row['pss_mb']:>9}{row['threads']:>9}{row['cpu_percent']:>9}  "
            f"{row['bar']!s:<24}{'yes' if row['held'] else 'NO'}"
        )


def _write(rows: Sequence[Mapping[str, object]], figures: Sequence[Figure], rounds: int) -> None:
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}.json"
    record = {
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "rounds": rounds,
        "rows": rows,
        "seconds": {figure.name: list(figure.seconds) for figure in figures},
    }
    path.write_text(json.dumps(record, ensure_ascii=False, indent=1))
    print(
        f"\nwritten to {path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path}"
    )


if __name__ == "__main__":
    main()
