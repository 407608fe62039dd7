"""A value of the configuration, and where it came from, as data.

Owns the words for it. Which of several origins wins is `config.load`'s.
"""

from enum import StrEnum

import msgspec

Key = tuple[str, ...]
"""The place of a value in a configuration file: `("worker", "concurrency")`."""


class OriginKind(StrEnum):
    """The places a value can come from, the weakest first."""

    DEFAULT = "default"
    REPOSITORY = "repository"
    FILE = "file"
    ENVIRONMENT = "environment"
    SESSION = "session"
    """Nobody chose it now: it made the session that is resumed."""


class Origin(msgspec.Struct, frozen=True):
    """One place; `variable` names the environment variable, if it was one."""

    kind: OriginKind
    variable: str = ""

    def __str__(self) -> str:
        """Return the form for programs: `default`, `file`, `environment:SOW_AGENTS_REVIEWER`."""
        return f"{self.kind}:{self.variable}" if self.variable else str(self.kind)

    @property
    def label(self) -> str:
        """The form for people."""
        match self.kind:
            case OriginKind.DEFAULT:
                return "default"
            case OriginKind.REPOSITORY:
                return "from .sow/config.yaml"
            case OriginKind.FILE:
                return "from config file"
            case OriginKind.ENVIRONMENT:
                return f"from environment: {self.variable}"
            case OriginKind.SESSION:
                return "made the session"


DEFAULT = Origin(OriginKind.DEFAULT)
REPOSITORY = Origin(OriginKind.REPOSITORY)
FILE = Origin(OriginKind.FILE)
SESSION = Origin(OriginKind.SESSION)


def from_environment(variable: str) -> Origin:
    """Return the origin of a value that `variable` gave."""
    return Origin(OriginKind.ENVIRONMENT, variable)


Value = str | int | float | bool | list[str]


class Setting(msgspec.Struct, frozen=True):
    """One value in effect: its place in a file, what it is, and what gave it."""

    key: Key
    value: Value
    origin: Origin
