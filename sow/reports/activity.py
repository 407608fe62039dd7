"""What a running agent does now, or what keeps it: read from the end of what it has printed.

Owns the looking; what the lines come to is `last_activity`'s, which is imported only where
an agent runs: executors read them, and a list of ended jobs needs none. Nothing is
stored for it: whoever asks reads the last lines that lie on disk anyway. So it is
never out of date, costs the worker nothing, and is known of an agent that no worker
watches at the moment.
"""

import os
from pathlib import Path

from msgspec import Struct

from sow.clock import format_duration
from sow.errors import StateError
from sow.files import open_regular
from sow.jobs.stalls import quiet_since
from sow.paths import AttemptPaths, Workspace
from sow.schema.job import Job, JobState
from sow.schema.kinds import kind_of


class Activity(Struct, frozen=True):
    """What an agent was last seen to do."""

    words: str
    """Its last tool call, or what keeps it, on one line; empty where its output tells neither."""
    quiet_seconds: float
    """How long ago it last printed anything."""
    is_hindered: bool = False
    """Whether the words tell what keeps it: a request that fails, a limit that is reached."""
    failures: int = 0
    """How often the request that it waits for has failed; 0 where none has."""
    stalled_seconds: float | None = None
    """For how long it has given no sign of life, where its worker says that it gives none."""
    has_ended: bool = False
    """Whether it has printed its result, and is only ending."""

    def __str__(self) -> str:
        if self.stalled:
            return f"{self.stalled}; last: {self.words}" if self.words else self.stalled
        quiet = f"quiet {format_duration(self.quiet_seconds)}"
        return f"{self.words}; {quiet}" if self.words else quiet

    @property
    def stalled(self) -> str:
        """That it gives no sign of life, in words; empty where it does."""
        return _words_of(self.stalled_seconds)


def activity_of(workspace: Workspace, job: Job, now: float) -> Activity | None:
    """Return what a job's agent does; None where it does not run or has printed nothing yet.

    `now` is in seconds since the epoch. Never raises for what an agent has printed.
    """
    if job.state is not JobState.RUNNING or kind_of(job).is_interactive:
        return None
    number = newest_attempt(workspace.job(job.id))
    if number is None:
        return None
    paths = workspace.attempt(job.id, number)
    stalled = _quiet_for(paths, now)
    try:
        descriptor = open_regular(paths.output)
    except (OSError, StateError):
        return Activity("", stalled, stalled_seconds=stalled) if stalled is not None else None
    from sow.reports.last_activity import last_activity, last_line  # only for what runs

    try:
        quiet = max(0.0, now - os.fstat(descriptor).st_mtime)
        if job.executor is None:
            logs = paths.folder.glob("check-*.log")
            written = max((log.stat().st_mtime for log in logs), default=now - quiet)
            return Activity(last_line(descriptor), min(quiet, max(0.0, now - written)))
        last = last_activity(descriptor, job.executor)
        return Activity(
            last.words,
            quiet,
            is_hindered=last.is_hindered,
            failures=last.failures,
            stalled_seconds=stalled,
            has_ended=last.has_ended,
        )
    finally:
        os.close(descriptor)


def stall_of(workspace: Workspace, job: Job, now: float) -> str:
    """Return that a job's agent gives no sign of life, in words; empty where it does."""
    number = newest_attempt(workspace.job(job.id))
    if number is None:
        return ""
    return _words_of(_quiet_for(workspace.attempt(job.id, number), now))


def _words_of(stalled: float | None) -> str:
    return "" if stalled is None else f"no sign of life for {format_duration(stalled)}"


def _quiet_for(attempt: AttemptPaths, now: float) -> float | None:
    since = quiet_since(attempt)
    return None if since is None else max(0.0, now - since)


def newest_attempt(folder: Path) -> int | None:
    """Return the number of the newest attempt that a job's folder has; None for none."""
    try:
        names = [path.name for path in folder.iterdir()]
    except OSError:
        return None
    return max((int(name) for name in names if name.isascii() and name.isdigit()), default=None)
