"""A job between two checkouts: what it begins with elsewhere, and what befell it there.

Owns the form of both records. Knows nothing of how they are carried out.
"""

import re
from enum import StrEnum
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from sow.ids import JobId
from sow.schema.task import ReviewVerdict, SessionFacts, TaskStatus

Commit = Annotated[str, Meta(pattern=r"^([0-9a-f]{40}|[0-9a-f]{64})\Z")]
"""A host and a caller write what they like: `$` would let a line's end through."""


SESSION = re.compile("[A-Za-z0-9][A-Za-z0-9._:-]{0,199}")
"""What the id of a session is like that comes home: it becomes an argument of a CLI."""
METADATA_KEY = re.compile("[A-Za-z0-9_-]{1,100}")


class Travel(msgspec.Struct, frozen=True, kw_only=True):
    """What a job begins with where it is not at home."""

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
    CHECK = "check"
    """What a check has come to; its contents are those of a `CheckRecord`."""
    VERDICT = "verdict"
    """What a reviewer says of the work."""
    UNTAKEN = "untaken"
    """What was changed there and does not come home."""


class WorkDone(msgspec.Struct, frozen=True, kw_only=True):
    """The contents of an event `work`."""

    commit: Commit
    ref: str


class EntryWritten(msgspec.Struct, frozen=True, kw_only=True):
    """The contents of an event `log`: the fields of an entry."""

    timestamp: Annotated[str, Meta(pattern=r"^[0-9T:Z-]{1,30}\Z")]
    agent: str
    action: str
    result: str = ""
    files: tuple[str, ...] = ()
    text: str = ""
    role: str = ""
    event: str = ""
    id: Annotated[str, Meta(pattern=r"^[0-9a-f]{12}\Z")]


class FileWritten(msgspec.Struct, frozen=True, kw_only=True):
    """The contents of an event `file`."""

    path: str
    """Below `.sow`."""
    text: str
    before: str | None = None
    """What git calls the contents that were sent; None where the file is new."""


class FieldsChanged(msgspec.Struct, frozen=True, kw_only=True):
    """The contents of an event `task`; what is absent has not changed."""

    status: TaskStatus | None = None
    session_id: Annotated[str, Meta(pattern=rf"^{SESSION.pattern}\Z")] | None = None
    """It becomes an argument of a CLI."""
    session: SessionFacts | None = None
    files_modified: list[str] | None = None
    metadata: dict[Annotated[str, Meta(pattern=rf"^{METADATA_KEY.pattern}\Z")], str] = {}


class VerdictGiven(msgspec.Struct, frozen=True, kw_only=True):
    """The contents of an event `verdict`. It is on the commit that the job's record names."""

    verdict: ReviewVerdict
    summary: str = ""
    findings: str = ""
    """What is to be corrected; empty where the work is accepted."""


class Untaken(msgspec.Struct, frozen=True, kw_only=True):
    """The contents of an event `untaken`."""

    what: list[str]


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
