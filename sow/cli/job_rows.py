"""Jobs at work, as rows at the bottom of a terminal: looked at and drawn.

Owns how many are shown at most, and the looking: only those that are shown are read again and
looked around, for with a thousand jobs each look would cost a second.
"""

import time
from collections.abc import Iterable, Sequence

from sow.cli.live_block import LiveBlock, paint, terminal_size
from sow.cli.live_rows import Row, block_of, fitted, row_of, summary_row
from sow.jobs.database import Database
from sow.jobs.jobs import get_job
from sow.paths import Workspace
from sow.reports.prospects import look_around, look_at_staff
from sow.schema.job import Job, JobState

MOST_ROWS = 12
KEPT_LINES = 4
"""So many lines of the terminal are left to what else was printed."""


class JobRows:
    """The rows of some jobs on standard error, a terminal."""

    def __init__(self, workspace: Workspace, database: Database, block: LiveBlock) -> None:
        self.workspace = workspace
        self.database = database
        self._block = block

    def draw(self, jobs: Iterable[Job], heading: str = "") -> None:
        """Draw those jobs anew that have not ended, below a heading if there is one.

        Their records may be those of an earlier look, except in which jobs have ended.
        """
        width, height = terminal_size()
        most = max(1, min(MOST_ROWS, height - KEPT_LINES))
        live = [job for job in jobs if not job.state.is_final]
        live.sort(key=lambda job: job.state is not JobState.RUNNING)
        rows = [*self._looked_at(live[:most]), *map(summary_row, live[most:])]
        above = [fitted(heading, width - 1)] if heading else []
        self._block.draw([*above, *block_of(rows, width - 1, most, paint)])

    def _looked_at(self, jobs: Sequence[Job]) -> list[Row]:
        now = time.time()
        staff = look_at_staff(self.workspace, self.database)
        read = [get_job(self.database, job.id) for job in jobs]
        return [
            row_of(job, look_around(self.workspace, self.database, job, now=now, staff=staff), now)
            for job in read
            if not job.state.is_final
        ]

    def clear(self) -> None:
        """Take the rows away."""
        self._block.clear()
