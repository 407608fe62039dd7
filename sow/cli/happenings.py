"""What happens that matters to whoever waits or watches, a line each, in words for people.

Owns which changes those are, and how their lines look: the local time, the task, and
who does what. `sow changes` tells all of them, in shorter words; where nothing better
can be said of a change, its words are used.

Owns too when a failing request of an agent is told: a CLI tries for minutes, and nobody wants a
line for each try. No record tells of it, so the ends of the outputs are read, and not often.
"""

import time
from collections.abc import Callable
from typing import NamedTuple

from sow.cli.changes import NOTICES, words_of
from sow.clock import clock_time
from sow.ids import JobId
from sow.jobs.database import Database
from sow.jobs.jobs import UnknownJob, get_job, running_jobs
from sow.jobs.records import DamagedRecord
from sow.paths import Workspace
from sow.reports.activity import Activity, activity_of
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


LOOK_SECONDS = 2.0
MOST_LOOKING = 100
"""A look is followed by at least so many times its own length without one."""
AGAIN_SECONDS = 60.0
"""A job whose requests fail again sooner is told only where it is worse than what was told."""


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
            return job is None or bool(job.agent)
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


def happening_on_record(change: Change, database: Database) -> Happening | None:
    """Return a change as `happening_of` does; its job is read only where that is needed."""
    if change.kind is not ChangeKind.DONE and _is_silent(change, None):
        return None
    return happening_of(change, _job_of(database, change))


def _job_of(database: Database, change: Change) -> Job | None:
    """Return the job that a change is about; None where there is none to be read any more."""
    if change.job is None:
        return None
    try:
        return get_job(database, change.job)
    except (UnknownJob, DamagedRecord):
        return None


class _LastLine(NamedTuple):
    """What was last told of a job."""

    at: float
    failures: int
    fails: bool


class FailingRequests:
    """What is told of the jobs whose requests fail."""

    def __init__(self) -> None:
        self._lines: dict[JobId, _LastLine] = {}
        self._look_at = 0.0

    def is_due(self) -> bool:
        """Whether it is time to look."""
        return time.monotonic() >= self._look_at

    def read(
        self, workspace: Workspace, database: Database, is_shown: Callable[[Job], bool], now: float
    ) -> list[Happening]:
        """Look at the jobs that run and are shown, if it is time to; return what is to be told."""
        if not self.is_due():
            return []
        began = time.monotonic()
        jobs = [job for job in running_jobs(database) if is_shown(job)]
        self._lines = {job.id: self._lines[job.id] for job in jobs if job.id in self._lines}
        found = [self.tell(job, activity_of(workspace, job, now), now) for job in jobs]
        took = time.monotonic() - began
        self._look_at = began + max(LOOK_SECONDS, took * MOST_LOOKING)
        return [happening for happening in found if happening is not None]

    def tell(self, job: Job, activity: Activity | None, now: float) -> Happening | None:
        """Return what is to be told of a job that runs, and take it for told; None for nothing."""
        before = self._lines.get(job.id)
        if activity is None:
            return None
        if activity.is_hindered:
            failures = max(1, activity.failures)
            if not _is_due(before, failures, now):
                return None
            self._lines[job.id] = _LastLine(now, failures, fails=True)
            return _happening(job, activity.words, "warning", now)
        if before is None or not before.fails or not (activity.words or activity.has_ended):
            return None
        self._lines[job.id] = before._replace(fails=False)
        if activity.has_ended:  # how the attempt ends says whether it was answered
            return None
        return _happening(job, "its requests are answered again", "", now)


def _is_due(before: _LastLine | None, failures: int, now: float) -> bool:
    """Whether a failing request is told: one that begins, and each doubling of its failures."""
    if before is None or failures >= 2 * before.failures:
        return True
    return not before.fails and now - before.at >= AGAIN_SECONDS


def _happening(job: Job, words: str, state: str, now: float) -> Happening:
    who = job.agent or job.verb.value
    return Happening(now, job.task_id, f"{who} (job {job.id}): {words}", state)
