"""What is seen of a call while it waits: its agents at work, and what keeps them.

Owns the end of standard error. On a terminal a row for each job stands there, drawn
anew in place and gone when the call ends (`job_rows`); elsewhere each
change that matters is a line (`job_news`). That the queue is paused is said
once, to whoever waits, for only a person can end that.
"""

import os
import sys
import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Self

import click

from sow.calls.wait import Progress
from sow.ids import JobId
from sow.jobs import control, workers
from sow.jobs.database import Database
from sow.jobs.known_jobs import KnownJobs, warnings_of
from sow.paths import Workspace
from sow.schema.job import Job, JobState

if TYPE_CHECKING:
    from sow.cli.job_news import JobNews
    from sow.cli.job_rows import JobRows

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
        self._known = KnownJobs(database)
        self._told_of_pause: str | None = None
        self._told_of_held: dict[JobId, str] = {}
        self._told_of_shortage = ""
        self._warnings: set[tuple[JobId, str]] = set()

    def show(self, progress: Progress) -> None:
        """Show how the jobs stand; say that the queue is paused, once each time that it is."""
        found = self._known.read(progress.job_ids, at=time.monotonic())
        self._say_if_paused(found)
        self._say_if_held(found)
        self._say_if_short(found)
        self._say_warnings([job for job in found if job.id in self._known.fresh])
        if self.is_terminal:
            self.draw(found)
        elif not self.as_json and time.time() - self.began_at >= QUICK_SECONDS:
            self.news.tell_of(progress.job_ids)

    def _say_if_paused(self, found: Sequence[Job]) -> None:
        """Say so of the jobs that wait; nothing where every one of them runs."""
        since = control.paused_since(self.database)
        if since is None or since == self._told_of_pause:
            return
        waiting = [job.task_id for job in found if _waits(job)]
        if not waiting:
            return
        self._told_of_pause = since
        self.clear()
        words = f"{', '.join(waiting)} will not start before `sow queue resume`"
        click.echo(f"Note: the queue is paused: {words}", err=True)

    def _say_if_short(self, found: Sequence[Job]) -> None:
        """Say once each time that nothing is started for lack of room, where a job waits for it."""
        short_of = workers.short_of(self.database, self.workspace)
        if short_of == self._told_of_shortage or (short_of and not any(map(_waits, found))):
            return
        self._told_of_shortage = short_of
        if short_of:
            self.clear()
            click.echo(f"Note: nothing is started for now: {short_of}", err=True)

    def _say_if_held(self, found: Sequence[Job]) -> None:
        """Say of each job that is held what it waits for, whenever that is another thing."""
        for job in found:
            if job.state is not JobState.HELD:
                self._told_of_held.pop(job.id, None)
            elif self._told_of_held.get(job.id) != job.reason:
                self._told_of_held[job.id] = job.reason
                self.clear()
                click.echo(f"Note: job {job.id} is held: {job.reason}", err=True)

    def _say_warnings(self, fresh: Sequence[Job]) -> None:
        """Say once that little is left of what limits a job: that is a change of the job."""
        for job in fresh:
            for words in warnings_of(self.database, job.id):
                if (job.id, words) not in self._warnings:
                    self._warnings.add((job.id, words))
                    self.clear()
                    click.echo(f"Note: {words}", err=True)


def _waits(job: Job) -> bool:
    """Whether a job has neither begun to run nor ended."""
    return not (job.state.is_final or job.state is JobState.RUNNING)
