"""What is seen of a call while it waits: its agents at work, and what keeps them.

Owns the end of standard error. On a terminal a row for each job stands there, drawn
anew in place and gone when the call ends (`job_rows`); elsewhere each
change that matters is a line (`job_news`). That the queue is paused is said
once, to whoever waits, for only a person can end that.
"""

import os
import sys
import time
from collections.abc import Collection, Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Self

from sow.calls.wait import Progress
from sow.cli import late_click as click
from sow.ids import JobId
from sow.jobs import workers
from sow.jobs.database import Database
from sow.paths import Workspace
from sow.schema.job import Job, JobState

if TYPE_CHECKING:
    from sow.cli.job_news import JobNews
    from sow.cli.job_rows import JobRows
    from sow.jobs.known_jobs import KnownJobs

QUICK_SECONDS = 2.0
"""Of a call that is over sooner nobody needs to be told how it went: that it ended is enough."""


class LiveView:
    """Shows agents at work on stderr: rows on a terminal, or a line for each change.

    Use it as a context manager.
    """

    def __init__(self, workspace: Workspace, database: Database, *, as_json: bool) -> None:
        """`as_json`: a program reads what the call prints, and nobody its standard error."""
        self.workspace = workspace
        self.database = database
        self.is_terminal = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self.as_json = as_json
        self.began_at = time.time()
        self._rows: JobRows | None = None
        self._news: JobNews | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.clear()

    def draw(self, jobs: Iterable[Job], heading: str = "") -> None:
        """Draw a row for each job, below a heading if there is one."""
        if self._rows is None:
            # Agents and programs, which call far more often than people, have no terminal.
            from sow.cli.job_rows import rows_on_stderr

            self._rows = rows_on_stderr(self.workspace, self.database)
        self._rows.draw(jobs, heading)

    def clear(self) -> None:
        """Take the rows away."""
        if self._rows is not None:
            self._rows.clear()

    @property
    def news(self) -> "JobNews":
        """What tells the changes, from the beginning of the call on."""
        if self._news is None:
            # A call that is over at once tells nothing.
            from sow.cli.job_news import JobNews

            self._news = JobNews(self.workspace, self.database, since=self.began_at)
        return self._news


class WaitingView(LiveView):
    """What a call that waits for jobs shows on stderr."""

    def __init__(self, workspace: Workspace, database: Database, *, as_json: bool) -> None:
        super().__init__(workspace, database, as_json=as_json)
        self._known: KnownJobs | None = None
        self._noted: dict[Hashable, str | None] = {}

    def show(self, progress: Progress) -> None:
        """Show how the jobs stand, and what keeps them."""
        if self._known is None:
            # The jobs are queued by now; before that, their agents wait for every import.
            from sow.jobs.known_jobs import KnownJobs

            self._known = KnownJobs(self.database)
        with self.database.reading():
            found = self._known.read(progress.job_ids, at=time.monotonic())
            self._say_changes(found, self._known.fresh)
        if self.is_terminal:
            self.draw(found)
        elif not self.as_json and time.time() - self.began_at >= QUICK_SECONDS:
            self.news.tell_of(progress.job_ids)

    def _say_changes(self, found: Sequence[Job], fresh: Collection[JobId]) -> None:
        """Say what keeps jobs, or limits them, once each time that it is another thing."""
        # As in `show`.
        from sow.jobs import control
        from sow.jobs.known_jobs import warnings_of

        waiting = [job.task_id for job in found if _waits(job)]
        since = control.paused_since(self.database)
        if waiting or not since:
            words = f"{', '.join(waiting)} will not start before `sow queue resume`"
            self._say("paused", since, f"the queue is paused: {words}")
        for job in found:
            reason = job.reason if job.state is JobState.HELD else ""
            self._say(job.id, reason, f"job {job.id} is held: {reason}")
        short_of = workers.short_of(self.database, self.workspace)
        if waiting or not short_of:
            self._say("short", short_of, f"sow starts no jobs now: {short_of}")
        if self.database.is_shared:
            self._say_lacking(found)
        for job_id in fresh:
            for words in warnings_of(self.database, job_id):
                self._say((job_id, words), words, words)

    def _say_lacking(self, found: Sequence[Job]) -> None:
        """Say for what jobs wait that no host of a shared queue offers."""
        from sow.jobs.hosts import unserved  # few queues are shared

        reasons = {
            job: reason for reason, ids in unserved(self.database, found).items() for job in ids
        }
        for job in found:
            reason = reasons.get(job.id, "")
            self._say((job.id, "host"), reason, f"job {job.id} waits for a host: {reason}")

    def _say(self, what: Hashable, value: str | None, words: str) -> None:
        """Say something when its value has changed; nothing where it has none."""
        if value and self._noted.get(what) != value:
            self.clear()
            click.echo(f"Note: {words}", err=True)
        self._noted[what] = value


def _waits(job: Job) -> bool:
    """Whether a job has neither begun to run nor ended."""
    return not (job.state.is_final or job.state is JobState.RUNNING)
