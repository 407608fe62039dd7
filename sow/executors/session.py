"""How the session of an executor comes about, and the session itself.

Apart from `base`, for a call that places a job asks for nothing else of how an executor works.
"""

from enum import StrEnum

from msgspec import Struct


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
