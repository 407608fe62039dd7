"""Jobs at work, as rows at the bottom of a terminal: read from the records and drawn.

Owns how many are shown at most, and the looking around. Whatever cannot be read leaves
the rows as they are: the call itself says why.
"""

import time
from collections.abc import Iterable

from sow.cli.live_block import LiveBlock, paint, terminal_size
from sow.cli.live_rows import block_of, fitted, row_of
from sow.jobs.database import Database
from sow.paths import Workspace
from sow.reports.prospects import look_around, look_at_staff
from sow.schema.job import Job

MOST_ROWS = 12
KEPT_LINES = 4
"""So many lines of the terminal are left to what else was printed."""


class JobRows:
    """The rows of some jobs on standard error, a terminal."""

    def __init__(
        self, workspace: Workspace, database: Database, block: LiveBlock | None = None
    ) -> None:
        self.workspace = workspace
        self.database = database
        self._block = block or LiveBlock()

    def draw(self, jobs: Iterable[Job], heading: str = "") -> None:
        """Draw those jobs anew that have not ended, below a heading if there is one."""
        width, height = terminal_size()
        now = time.time()
        staff = look_at_staff(self.workspace, self.database)
        rows = [
            row_of(job, look_around(self.workspace, self.database, job, now=now, staff=staff), now)
            for job in jobs
            if not job.state.is_final
        ]
        most = max(1, min(MOST_ROWS, height - KEPT_LINES))
        above = [fitted(heading, width - 1)] if heading else []
        self._block.draw([*above, *block_of(rows, width - 1, most, paint)])

    def clear(self) -> None:
        """Take the rows away."""
        self._block.clear()
