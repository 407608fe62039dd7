"""What a worker asks the kind of a job: what to start, why it ended, what follows, what to write.

Owns the questions, and the answers of a kind that has nothing of its own to say. Who asks, and in
which order, is `worker.launch` before the attempt and `worker.settle` after it.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from sow.attempts.retry import Next
from sow.executors.base import Verdict
from sow.paths import AttemptPaths
from sow.schema.job import Attempt, Job, Lease
from worker.context import WorkerContext
from worker.gathering import Gathering
from worker.prepared import Prepared
from worker.running import Exit, Running


class WorkerKind(ABC):
    """The jobs of one kind, for a worker."""

    @abstractmethod
    def prepare(
        self,
        context: WorkerContext,
        job: Job,
        lease: Lease,
        history: Sequence[Attempt],
        paths: AttemptPaths,
    ) -> Prepared:
        """Return what the next attempt of a job starts.

        Raises SowError where that cannot be started now, or ever; NotTrusted where a person has to
        accept a command line first.
        """

    def gathering(self, _context: WorkerContext, _running: Running) -> Gathering | None:
        """Return what is read of files before an attempt is settled; it runs in a thread."""
        return None

    @abstractmethod
    def judge(
        self, context: WorkerContext, running: Running, job: Job, exit_facts: Exit | None
    ) -> Verdict:
        """Return why an attempt ended."""

    @abstractmethod
    def decide(self, context: WorkerContext, running: Running, job: Job, verdict: Verdict) -> Next:
        """Return what follows an attempt that ended so."""

    def facts(self, _running: Running) -> Mapping[str, Any]:
        """Return what else goes on the attempt's record."""
        return {}

    @abstractmethod
    def write(
        self, context: WorkerContext, running: Running, job: Job, verdict: Verdict, following: Next
    ) -> None:
        """Write the task and the job together.

        Raises Outdated where what they were concluded from has changed since.
        """
