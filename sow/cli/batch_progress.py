"""What is seen of a call that waits for a batch: how it stands, and its agents at work.

Owns what of a batch is shown there. On a terminal that is its counts, and below them a row
for each live job; elsewhere each change that matters is a line.
"""

import os
import sys
import time
from collections import Counter

from sow.batches.views import standings_of
from sow.calls.batch_wait import BatchLook
from sow.cli.job_news import JobNews
from sow.cli.job_rows import JobRows
from sow.cli.live_block import LiveBlock, leave_when_stopped
from sow.jobs.changed_jobs import LiveJobs
from sow.jobs.database import Database
from sow.paths import Workspace


class BatchProgress:
    """What a call that waits for a batch shows on stderr."""

    def __init__(self, workspace: Workspace, database: Database, *, as_json: bool) -> None:
        """`as_json`: a program reads what the call prints, and nobody its standard error."""
        self.database = database
        can_draw = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        speaks = not (can_draw or as_json)
        self._live = LiveJobs(database)
        self._rows = None
        if can_draw:
            block = LiveBlock()
            leave_when_stopped(block)
            self._rows = JobRows(workspace, database, block)
        self._news = JobNews(workspace, database, since=time.time()) if speaks else None

    def show(self, found: BatchLook) -> None:
        """Show how the batch stands now."""
        if self._news is not None:
            self._news.tell_of_batch(found.batch.id)
        if self._rows is not None:
            live = self._live.read(at=time.monotonic())
            jobs = [job for job in live if job.batch == found.batch.id]
            self._rows.draw(jobs, _heading(self.database, found))

    def clear(self) -> None:
        """Take away what is drawn."""
        if self._rows is not None:
            self._rows.clear()

    close = clear


def _heading(database: Database, found: BatchLook) -> str:
    states = Counter(each.state for each in standings_of(database, found.batch, found.plan))
    counts = ", ".join(f"{count} {state}" for state, count in states.items()) or "no task"
    return f"Batch {found.batch.id} is {found.batch.state}: {counts}"
