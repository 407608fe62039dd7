"""`python -m worker.steps NAME`: reads its orders, does the step, leaves `result.json` and ends.

Owns the frame of such a program. It is run again from the beginning where it is
killed, so each step may be begun a second time at any point.
"""

import sys
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path

import msgspec

from sow.files import write_atomically
from sow.paths import AttemptPaths

PROGRAMS: Mapping[str, str] = {
    "check": "worker.steps.check",
    "merge": "worker.steps.merge",
    "update": "worker.steps.update",
}
"""By the step's name in `sow.schema.kinds`. The `run` of each takes its orders as they came, and
returns the attempt's folder with its result. Only the wanted one is imported: it is most of
what a check takes."""


def main(name: str) -> None:
    """Do a step."""
    program = import_module(PROGRAMS[name])
    folder, result = program.run(sys.stdin.buffer.read())
    path = AttemptPaths(Path(folder)).result
    write_atomically(path, msgspec.json.encode(result), mode=0o600)


if __name__ == "__main__":
    main(sys.argv[1])
