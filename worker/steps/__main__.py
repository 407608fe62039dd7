"""`python -m worker.steps NAME`: reads its orders, does the step, leaves `result.json` and ends.

Owns the frame of such a program. It is run again from the beginning where it is
killed, so each step may be begun a second time at any point.
"""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from sow.files import write_atomically
from sow.paths import AttemptPaths
from sow.schema.step_result import StepResult
from worker.steps import check, merge, update

PROGRAMS: Mapping[str, Callable[[bytes], tuple[str, StepResult]]] = {
    "check": check.run,
    "merge": merge.run,
    "update": update.run,
}
"""By the step's name in `sow.schema.kinds`. Each takes its orders as they came, and returns the
attempt's folder with its result."""


def main(name: str) -> None:
    """Do a step."""
    folder, result = PROGRAMS[name](sys.stdin.buffer.read())
    path = AttemptPaths(Path(folder)).result
    write_atomically(path, msgspec.json.encode(result), mode=0o600)


if __name__ == "__main__":
    main(sys.argv[1])
