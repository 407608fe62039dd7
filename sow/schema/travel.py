"""A job between two checkouts: what its agent begins with elsewhere, and what befell it there.

Owns the form of both records. Knows nothing of how they are carried out.
"""

from enum import StrEnum
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from sow.ids import JobId

Commit = Annotated[str, Meta(pattern="^([0-9a-f]{40}|[0-9a-f]{64})$")]


class Travel(msgspec.Struct, frozen=True, kw_only=True):
    """What the agent of a job begins with where it is not at home."""

    job_id: JobId
    ref: str
    """The ref of the project's remote."""
    packed: Commit
    """The commit that it names: its tree is the project's state, its parents are the next two."""
    base: Commit
    """The commit of the project's branch."""
    tip: Commit | None = None
    """The last commit of the task's branch; None where there is no such branch yet."""
    branch: str
    """The name of the task's branch."""
    trunk: str
    """The name of the project's branch."""
    host: str | None = None
    """The id of the host on which the session lies that is gone on with."""


class EventKind(StrEnum):
    """What befell a job away from home."""

    WORK = "work"
    """The last commit of the task's branch, by the ref of the attempt."""
    LOG = "log"
    """An entry of the task's log."""
    FILE = "file"
    """A file of the task's folder, or a draft of the project."""
    TASK = "task"
    """Fields of the task's state."""
    UNTAKEN = "untaken"
    """What was changed there and does not come home."""


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """One of these, in its place among those of the attempt."""

    job_id: JobId
    attempt: int
    place: int
    host: str
    """The role that has told it."""
    kind: str
    """A word of `EventKind`, unless a newer sow has written it."""
    data: Any
    outcome: str | None = None
    """None until it was looked at; empty where it was carried out; else why it was refused."""
