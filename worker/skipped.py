"""What a worker leaves aside because it cannot be read or judged; it says so once.

Owns the memory of what was said: a round of recovery comes every few seconds.
"""

import logging

from sow.ids import WorkerId
from sow.jobs.records import DamagedRecord

logger = logging.getLogger("sow.worker")


class Skipped:
    """What was left aside so far."""

    def __init__(self) -> None:
        self.workers: set[WorkerId] = set()
        """Workers whose own record is damaged: their process is unknown, so nobody judges them."""
        self._noted: set[str] = set()

    def skip(self, error: DamagedRecord) -> None:
        """Leave a damaged record aside."""
        if error.worker_id is not None:
            self.workers.add(error.worker_id)
        self.tell(f"{error.message}; it is left aside")

    def tell(self, words: str) -> None:
        """Say something in the log, unless it was said before."""
        if words not in self._noted:
            self._noted.add(words)
            logger.warning("%s", words)
