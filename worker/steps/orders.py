"""What a step's program is told on its standard input, as JSON: one struct for each program."""

import msgspec

from sow.config.checks import CheckCommand
from worker.steps.judged import ClonePlace


class CheckOrders(msgspec.Struct, frozen=True, kw_only=True):
    """What to check, and where."""

    folder: str
    """The attempt's folder: logs and the result go there."""
    cwd: str
    """Where the command lines run, and what they judge."""
    clone: ClonePlace | None = None
    """The task's clone, where they run in it."""
    commands: tuple[CheckCommand, ...]
    packages: str | None = None
    """Where the portable back end's packages lie; None where it is not used."""
