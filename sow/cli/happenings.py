"""The changes that matter to whoever waits or watches, a line each, in words for people.

Owns which changes those are, and how their lines look: the local time, the task, and
who does what. `sow changes` tells all of them, in shorter words; where nothing better
can be said of a change, its words are used.
"""

from collections.abc import Callable
from typing import NamedTuple

from sow.cli.changes import NOTICES, words_of
from sow.clock import clock_time
from sow.jobs.database import Database
from sow.jobs.jobs import UnknownJob, get_job
from sow.jobs.records import DamagedRecord
from sow.schema.batch import AT_REST
from sow.schema.causes import Cause
from sow.schema.change import Change, ChangeKind
from sow.schema.job import Job
from sow.schema.task import TaskStatus
from sow.terminal_text import printable

SILENT = frozenset({ChangeKind.RUNNING, ChangeKind.ADOPTED})
"""What other changes tell as well, or nobody has to know."""
ABOUT_NO_JOB = frozenset(
    {
        *(ChangeKind.STATUS, ChangeKind.ITEM, ChangeKind.BATCH, ChangeKind.VERDICT),
        *(ChangeKind.SHORT, ChangeKind.ROOMY),
    }
)
STATES: dict[str, str] = {
    ChangeKind.FAILED: "failed",
    ChangeKind.CANCELLED: "failed",
    ChangeKind.BACKOFF: "warning",
    ChangeKind.PARKED: "warning",
    ChangeKind.HELD: "warning",
    ChangeKind.WARNING: "warning",
    ChangeKind.STALLED: "warning",
    ChangeKind.SHORT: "warning",
    ChangeKind.ATTEMPT_ENDED: "warning",
}
"""As which state a line is coloured."""


class Happening(NamedTuple):
    """A change that matters."""

    at: float
    task: str
    words: str
    state: str = ""
    """The word of a state in whose colour it is shown; empty for none."""

    def line(self, now: float, paint: Callable[[str, str], str] = lambda _, text: text) -> str:
        """Return it as a line; `paint` returns a text in the colour of a state."""
        words = paint(self.state, self.words) if self.state else self.words
        return f"{clock_time(self.at, now)}  {self.task or '-':<4}  {words}"


def happening_of(change: Change, job: Job | None) -> Happening | None:
    """Return a change of a job in words; None where nobody has to know it.

    `job` is None where it is on record no more, or the change is about none.
    """
    if _is_silent(change, job):
        return None
    data = change.data
    is_status = change.kind in (ChangeKind.STATUS, ChangeKind.ITEM, ChangeKind.BATCH)
    state = (data.status or "") if is_status else STATES.get(change.kind, "")
    return Happening(change.at, change.task, printable(_words(change, job)), state)


def _is_silent(change: Change, job: Job | None) -> bool:
    """Whether nobody has to know a change: others tell the same, or nothing has come of it."""
    data = change.data
    match change.kind:
        case ChangeKind.QUEUED:
            return data.before in (None, "preparing")
        case ChangeKind.ATTEMPT_ENDED:
            return data.cause == Cause.REPORTED
        case ChangeKind.STATUS if change.job is None:
            return data.before is None  # seen for the first time: a task was added, or a queue made
        case ChangeKind.STATUS:
            return data.status == TaskStatus.IN_PROGRESS
        case ChangeKind.DONE:
            return job is None or job.agent is not None
        case ChangeKind.ITEM:
            return data.status not in AT_REST
        case ChangeKind.BATCH:
            return data.status == data.before  # it is only looked at once more
        case _:
            return change.kind in SILENT


def _words(change: Change, job: Job | None) -> str:
    data = change.data
    who = (job.agent or job.verb.value) if job is not None else data.agent or data.verb or "job"
    number = f" (job {change.job})" if change.job is not None else ""
    match change.kind:
        case kind if kind in NOTICES:
            return data.reason or ""
        case kind if kind in ABOUT_NO_JOB:
            return words_of(change)
        case ChangeKind.PLACED:
            on = f" for {data.executor}" if data.agent and data.executor else ""
            return f"{who} is queued{on}{number}"
        case ChangeKind.ATTEMPT_BEGAN:
            again = f" again, attempt {data.attempt}" if (data.attempt or 1) > 1 else ""
            return f"{who} starts{again}{number}"
        case ChangeKind.DONE:
            return f"{who} is done{number}"
        case _:
            return f"{who}{number}: {words_of(change)}"


def job_of(database: Database, change: Change) -> Job | None:
    """Return the job that a change is about; None where there is none to be read any more."""
    if change.job is None:
        return None
    try:
        return get_job(database, change.job)
    except (UnknownJob, DamagedRecord):
        return None
