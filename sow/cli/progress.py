"""The line that a person sees while a call waits.

Owns stderr's last line, and only where stderr is a terminal. Shows each job's
state, how long it has run and how long its agent has been quiet.
"""

import sys
import time
from types import TracebackType

import click

from sow.calls.wait import Progress
from sow.clock import format_duration
from sow.jobs.database import Database
from sow.jobs.jobs import get_job
from sow.paths import Workspace
from sow.schema.job import Job, JobState

SHORTEST = 10
"""Columns that a job takes at least: what is beyond the terminal's edge is not looked up."""


class ProgressLine:
    """One line on stderr that is written over and over. Use it as a context manager."""

    def __init__(self, workspace: Workspace, database: Database) -> None:
        self.workspace = workspace
        self.database = database
        self.enabled = sys.stderr.isatty()
        self._shown = False

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
        """Write the line anew."""
        if not self.enabled:
            return
        width = click.get_current_context().terminal_width or _terminal_width()
        shown = [get_job(self.database, job_id) for job_id in progress.job_ids[: width // SHORTEST]]
        text = "   ".join(self._describe(job) for job in shown if not job.state.is_final)
        click.echo("\r\x1b[K" + text[: width - 1], nl=False, err=True)
        self._shown = True

    def clear(self) -> None:
        """Take the line away."""
        if self._shown:
            click.echo("\r\x1b[K", nl=False, err=True)
            self._shown = False

    def _describe(self, job: Job) -> str:
        now = time.time()
        if job.state is not JobState.RUNNING or job.started_at is None:
            return f"{job.task_id} {job.state}"
        text = f"{job.task_id} {job.agent} runs {format_duration(now - job.started_at)}"
        quiet = self._quiet_seconds(job, now)
        return f"{text}, quiet {format_duration(quiet)}" if quiet is not None else text

    def _quiet_seconds(self, job: Job, now: float) -> float | None:
        """Return how long ago the newest attempt of a job last wrote a line."""
        folder = self.workspace.job(job.id)
        times = [path.stat().st_mtime for path in folder.glob("*/output.jsonl")]
        return max(0.0, now - max(times)) if times else None


def _terminal_width() -> int:
    import shutil

    return shutil.get_terminal_size().columns
