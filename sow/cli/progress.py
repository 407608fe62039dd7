"""What is seen of a call while it waits: a line of progress, and that the queue is paused.

Owns stderr's last line, where stderr is a terminal: each job with what its agent
does or what keeps it, as far as the width allows. That the queue is paused is said
once, to whoever waits, for only a person can end that.
"""

import sys
import time
from types import TracebackType

import click

from sow.calls.wait import Progress
from sow.cli.streams import steer
from sow.ids import JobId
from sow.jobs import budgets, control, workers
from sow.jobs.database import Database
from sow.jobs.jobs import get_job
from sow.paths import Workspace
from sow.schema.job import JobState
from sow.terminal_text import without_steering

MOST_SHOWN = 5
"""How many jobs the line tells of; of the others it gives the number."""


class ProgressLine:
    """One line on stderr that is written over and over. Use it as a context manager."""

    def __init__(self, workspace: Workspace, database: Database) -> None:
        self.workspace = workspace
        self.database = database
        self.enabled = sys.stderr.isatty()
        self._shown = False
        self._told_of_pause: str | None = None
        self._told_of_held: dict[JobId, str] = {}
        self._told_of_shortage = ""
        self._warnings: set[tuple[JobId, str]] = set()

    def __enter__(self) -> "ProgressLine":
        return self

    def __exit__(
        self,
        _type: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        self.clear()

    def show(self, progress: Progress) -> None:
        """Write the line anew; say that the queue is paused, once each time that it is."""
        self._say_if_paused(progress)
        self._say_if_held(progress)
        self._say_if_short(progress)
        self._say_of_budgets(progress)
        if self.enabled:
            self._write(progress)

    def _write(self, progress: Progress) -> None:
        # Agents and programs, which call far more often than people, have no terminal.
        from sow.cli.progress_words import fitted, forms_of
        from sow.reports.prospects import look_around

        width = click.get_current_context().terminal_width or _terminal_width()
        now = time.time()
        shown = [get_job(self.database, job_id) for job_id in progress.job_ids[:MOST_SHOWN]]
        forms_by_job = [
            forms_of(job, look_around(self.workspace, self.database, job, now=now), now)
            for job in shown
            if not job.state.is_final
        ]
        line = fitted(forms_by_job, len(progress.job_ids) - len(shown), width - 1)
        steer(f"\r\x1b[K{without_steering(line)}")
        self._shown = True

    def clear(self) -> None:
        """Take the line away."""
        if self._shown:
            steer("\r\x1b[K")
            self._shown = False

    def _say_if_paused(self, progress: Progress) -> None:
        """Say so of the jobs that wait; nothing where every one of them runs."""
        since = control.paused_since(self.database)
        if since is None or since == self._told_of_pause:
            return
        jobs = [get_job(self.database, job_id) for job_id in progress.job_ids]
        held = [
            job.task_id for job in jobs if not (job.state.is_final or job.state is JobState.RUNNING)
        ]
        if not held:
            return
        self._told_of_pause = since
        self.clear()
        words = f"{', '.join(held)} will not start before `sow queue resume`"
        click.echo(f"Note: the queue is paused: {words}", err=True)

    def _say_if_short(self, progress: Progress) -> None:
        """Say once each time that nothing is started for lack of room, where a job waits for it."""
        short_of = workers.short_of(self.database, self.workspace)
        if short_of == self._told_of_shortage:
            return
        jobs = [get_job(self.database, job_id) for job_id in progress.job_ids]
        if short_of and all(job.state.is_final or job.state is JobState.RUNNING for job in jobs):
            return
        self._told_of_shortage = short_of
        if short_of:
            self.clear()
            click.echo(f"Note: nothing is started for now: {short_of}", err=True)

    def _say_if_held(self, progress: Progress) -> None:
        """Say of each job that is held what it waits for, whenever that is another thing."""
        for job_id in progress.job_ids:
            job = get_job(self.database, job_id)
            if job.state is not JobState.HELD:
                self._told_of_held.pop(job_id, None)
            elif self._told_of_held.get(job_id) != job.reason:
                self._told_of_held[job_id] = job.reason
                self.clear()
                click.echo(f"Note: job {job_id} is held: {job.reason}", err=True)

    def _say_of_budgets(self, progress: Progress) -> None:
        """Say once that little is left of a budget."""
        for job_id in progress.job_ids:
            job = get_job(self.database, job_id)
            found = budgets.warnings_of(self.database, job) if job.budgets is not None else ()
            for words in found:
                if (job_id, words) not in self._warnings:
                    self._warnings.add((job_id, words))
                    self.clear()
                    click.echo(f"Note: {words}", err=True)


def _terminal_width() -> int:
    import shutil  # heavy, and for terminals alone

    return shutil.get_terminal_size().columns
