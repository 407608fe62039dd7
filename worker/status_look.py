"""When a worker compares the tasks' files with the record of changes (`sow.jobs.statuses`).

Owns the rate: as often as it looks round, and less often the longer a look
takes. A fault of it stops nothing else.
"""

import logging
import time

from sow.errors import QueueError
from sow.faults import reason_of
from sow.jobs import statuses
from sow.jobs.database import Database
from sow.jobs.faults import QueueChanged
from sow.paths import Workspace

MOST_LOOKING = 400
"""A look is followed by at least so many times its own length without one: 0.25 % of a CPU."""

logger = logging.getLogger("sow.worker")


class StatusLook:
    """The looks of one worker, all on the thread that looks round."""

    def __init__(self, workspace: Workspace, database: Database) -> None:
        self.workspace = workspace
        self.database = database
        self._look_at = 0.0

    def look_if_due(self, *, now: float) -> None:
        """Put on record what was written or edited since the last look. Raises QueueChanged."""
        began = time.monotonic()
        if began < self._look_at:
            return
        try:
            statuses.catch_up(self.workspace, self.database, now=now)
        except QueueChanged:
            raise
        except (QueueError, OSError, MemoryError) as error:
            logger.warning(
                "the statuses of the tasks cannot be put on record now: %s", reason_of(error)
            )
        self._look_at = began + (time.monotonic() - began) * MOST_LOOKING
