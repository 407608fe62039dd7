"""Requests of agents that fail while an attempt runs, a line when that begins, worsens and is over.

Owns when a line is due: a CLI tries for minutes, and nobody wants a line for each try. No record
tells of it, so the ends of the outputs are read, and not often.
"""

import time
from collections.abc import Callable
from typing import NamedTuple

from sow.cli.happenings import Happening
from sow.ids import JobId
from sow.jobs.database import Database
from sow.jobs.jobs import running_jobs
from sow.paths import Workspace
from sow.reports.activity import Activity, activity_of
from sow.schema.job import Job

LOOK_SECONDS = 2.0
MOST_LOOKING = 100
"""A look is followed by at least so many times its own length without one."""
AGAIN_SECONDS = 60.0
"""A job whose requests fail again sooner is told only where it is worse than what was told."""


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
