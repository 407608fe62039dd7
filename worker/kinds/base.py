"""What a worker asks the kind of a job: what to start, why it ended, what follows, what to write.

Owns the questions, the answers of a kind that has nothing of its own to say, and the form of what
is about to be started: an agent's CLI, or a program of ours. Who asks, and in which order, is
`worker.launch` before the attempt and `worker.settle` after it.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sow.attempts.retry import Next
from sow.executors.base import Executor, Verdict
from sow.ids import AttemptId
from sow.paths import AttemptPaths
from sow.sandbox.machine import Wanted
from sow.schema.job import Attempt, Job, Lease, Verb
from sow.schema.task import Task
from worker.context import WorkerContext
from worker.gathering import Gathering
from worker.running import Exit, Running


@dataclass(frozen=True)
class Prepared:
    """One process to be, with what lies beside it."""

    verb: Verb
    argv: Sequence[str]
    cwd: Path
    stdin: str
    """What it reads: an agent's prompt, or the orders of a program of ours."""
    environment: Callable[[AttemptId], Mapping[str, str]]
    """Returns the whole environment of its process."""
    task: Task | None
    """The task as it stands now; None where the job is about no task."""
    does: str
    """What it does, for the worker's log."""
    state_file: Path | None = None
    """The task's state, of which a copy is kept: an agent may leave it broken."""
    session_id: str | None = None
    wrapper: Sequence[str] = ()
    """A program of ours that does something first, and then becomes `argv`; empty for none."""
    sandbox: Wanted | None = None
    """What it is to see of this machine; None without a sandbox."""
    files: Mapping[str, bytes] = field(default_factory=dict)
    """What else lies in the attempt's folder, by name."""
    executor: Executor | None = None
    """What reads its output; None of a program of ours."""
    own_folders: Sequence[Path] = ()
    """The folders that it alone fills, whose size is limited where its executor says so."""


Recording = Callable[[], None]
"""Puts something on record, in the transaction that is open."""


def nothing() -> None:
    """Put nothing on record: it is there."""


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
        self,
        context: WorkerContext,
        running: Running,
        job: Job,
        verdict: Verdict,
        next_step: Next,
        ending: Recording,
    ) -> None:
        """Write the task and the job together; `ending` puts the attempt's end on record.

        Raises Outdated where what they were concluded from has changed since.
        """
