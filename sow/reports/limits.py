"""How a limit that was reached is raised, as its feature says it: an option, or a command.

A feature's module `words` has both functions.
"""

from sow.features import parts
from sow.schema.amounts import ReachedLimit


def option_of(reached: ReachedLimit | None) -> str:
    """Return the option with which a call raises its task's limit; empty for any other limit."""
    return _first("option_of", reached)


def command_of(reached: ReachedLimit | None) -> str:
    """Return the command that raises a limit; empty for a task's, which a call raises."""
    return _first("command_of", reached)


def _first(name: str, reached: ReachedLimit | None) -> str:
    if reached is None:
        return ""
    return next(
        (str(found) for part in parts("words") if (found := getattr(part, name)(reached))), ""
    )
