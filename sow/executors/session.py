"""How the session of an executor comes about, the session itself, and whose it is.

Apart from `base`, for a call that places a job asks for nothing else of how an executor works.
"""

from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import UNSET, Struct

from sow.schema.executor_type import ExecutorType

if TYPE_CHECKING:
    from msgspec import UnsetType

    from sow.schema.executor import ExecutorConfig
    from sow.schema.task import SessionFacts


FIRST = {
    "claude-code": ExecutorType.CLAUDE,
    "cursor": ExecutorType.CURSOR,
    "windsurf": ExecutorType.WINDSURF,
}
"""The built-in executors of sow 0.1, which put no type on record. Under any other name, that of a
later built-in one too, it may have run an executor of the user's own."""


class SessionSource(StrEnum):
    """How an executor's session id comes about."""

    CHOSEN = "chosen"
    """sow chooses a UUID before the process starts."""
    CREATED = "created"
    """A command of the CLI makes the id before the process starts."""
    LEARNED = "learned"
    """The id is learned from the first event of the output."""
    NONE = "none"
    """There are no sessions: every run is a spawn."""


class Session(Struct, frozen=True):
    """A session to start or to continue."""

    id: str
    dialect: str | None = None


def type_on_record(config: "ExecutorConfig") -> "str | UnsetType":
    """Return what a session's record says of its executor's type; nothing where the name tells."""
    return UNSET if FIRST.get(config.name) is config.type else config.type.value


def is_maker(session: "SessionFacts", config: "ExecutorConfig") -> bool:
    """Whether an executor has made a session: it has the name and the type of the one that has.

    Without a type on record it may be of any, unless its name tells (`FIRST`).
    """
    kind = type_of_maker(session)
    return session.executor == config.name and kind in (None, config.type)


def type_of_maker(session: "SessionFacts") -> "str | None":
    """Return the type of the executor that has made a session; None where that is not known."""
    if session.type is not UNSET:
        return session.type
    return FIRST.get(session.executor)
