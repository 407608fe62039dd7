"""The price of a job: what stands behind the bars of docs/performance.md, "The price of a job".

Each section measures this build and, with `--base`, another one in the same rounds, in turns: a
ratio between the two means something on a machine that is busy, a time alone does not.
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench.place import SOW

ENVIRONMENTS = (".bench", ".venv")
"""Where a checkout has its own sow, the first that is there."""


@dataclass(frozen=True)
class Build:
    """A `sow` that is measured."""

    name: str
    program: Path


THIS = Build("this build", SOW)


@dataclass(frozen=True)
class Row:
    """One figure, the same of another build, and the bar it has to keep."""

    what: str
    measured: str
    base: str = ""
    """The other build's; empty without one."""
    bar: str = ""
    former: str = ""
    """The bar that was kept before this one."""
    held: bool | None = None
    """None where there is no bar, or what it compares with was not measured."""
    seconds: Mapping[str, Sequence[float]] = field(default_factory=dict)
    """Every measurement behind it, by its name, for the file of results."""

    def cells(self) -> tuple[str, ...]:
        """Return the row as it is printed."""
        held = {True: "yes", False: "NO", None: "?" if self.bar else ""}[self.held]
        return (self.what, self.measured, self.base, self.bar, self.former, held)


HEADER = ("what", "measured", "base", "bar", "bar before", "held")


def base_build(checkout: Path) -> Build:
    """Return the build that is installed in a checkout's own environment; end where none is."""
    for environment in ENVIRONMENTS:
        program = checkout.resolve() / environment / "bin/sow"
        if program.exists():
            return Build("base", program)
    sys.exit(f"No sow is installed in {checkout}. Run `make .bench/.ready` there.")


def in_turns(builds: Sequence[Build], number: int) -> Sequence[Build]:
    """Return who is measured after whom in a round: in each the other one comes first."""
    return builds if number % 2 else builds[::-1]
