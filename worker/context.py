"""What every part of a worker needs: where it works, its records, its name, its limits.

Owns nothing that changes, save what the guard of the state, recovery, the heartbeat and the looks
for unrecorded agents remember. Knows nothing of huey.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

from sow.clock import utc_now
from sow.config.configuration import Configuration
from sow.ids import JobId, WorkerId
from sow.jobs.database import Database
from sow.jobs.records import DamagedRecord
from sow.jobs.unrecorded_agents import StrayLooks
from sow.paths import Workspace
from sow.schema.job import Job
from sow.state.guarded_state import GuardedState
from sow.terminal_text import readable
from worker.hearing import Hearing

logger = logging.getLogger("sow.worker")


class ReportedOnce:
    """What sow ignores or cannot repair, each reported once in the log."""

    def __init__(self) -> None:
        self.workers: set[WorkerId] = set()
        """Workers whose own record is damaged: their process is unknown, so nobody judges them."""
        self._noted: set[str] = set()

    def skip(self, error: DamagedRecord) -> None:
        """Leave a damaged record aside."""
        if error.worker_id is not None:
            self.workers.add(error.worker_id)
        self.tell(f"{error.message}; sow ignores this record")

    def tell(self, words: str) -> None:
        """Say something in the log, unless it was said before."""
        if words not in self._noted:
            self._noted.add(words)
            logger.warning("%s", words)


@dataclass(frozen=True)
class WorkerContext:
    """One worker's surroundings."""

    workspace: Workspace
    database: Database
    worker_id: WorkerId
    configuration: Configuration
    environ: Mapping[str, str]
    clock: Callable[[], float] = utc_now

    @cached_property
    def state(self) -> GuardedState:
        """The state, put back where agents' git takes it; its looks remember the last ones."""
        return GuardedState(self.workspace)

    @cached_property
    def strays(self) -> StrayLooks:
        """Its looks for agents that are on no record."""
        return StrayLooks()

    @cached_property
    def hearing(self) -> Hearing:
        """When the queue's server has heard this worker."""
        return Hearing()

    @cached_property
    def told_ends(self) -> set[JobId]:
        """The jobs of whose end this worker has told in a log since recovery looked there last."""
        return set()

    @cached_property
    def reported_once(self) -> ReportedOnce:
        """What recovery ignores; the log says each thing once."""
        return ReportedOnce()

    def now(self) -> float:
        """Return the time, in seconds since the epoch."""
        return self.clock()


def tell(job: Job, words: str) -> None:
    """Say in the worker's log what happens to a job."""
    words = readable(words)  # they may quote a file's name, which can be any bytes
    about = {"job": job.id, "task": job.task_id, "agent": job.agent, "words": words}
    logger.info("job %-4s %-5s %-14s %s", job.id, job.task_id, job.agent, words, extra=about)
