"""What an agent has left in its task's clone, gathered when its attempt is over.

Git may take a while over it, so each runs in a thread of its own, and the attempt is settled when
it has come to an end. What cannot be gathered is told; it lies where it lay. How it is done is
`clone_gathering`.
"""

import errno
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sow.errors import SowError
from sow.faults import passing_fault
from sow.schema.job import NOT_BROUGHT_BACK, Job
from sow.schema.task import TaskClone
from sow.terminal_text import printable, readable
from worker.context import logger

MOST_NAMED = 5


@dataclass(frozen=True)
class Gathered:
    """What has come of it."""

    files: tuple[str, ...] | None = None
    """All that the task has changed; None where that cannot be told."""
    warnings: tuple[str, ...] = ()
    """What a person should look at, a sentence each."""
    commit: str | None = None
    """The last commit of the task's branch."""
    clone: TaskClone | None = None
    """Where the clone is, by sow's own word: an agent can write another into its task's state."""


class Gathering:
    """One attempt's, from its start to its result, or to the passing fault that prevents it."""

    def __init__(self, job: Job, work: Callable[[], Gathered]) -> None:
        self._job = job
        self._work = work
        self._result: Gathered | None = None
        self._fault: Exception | None = None

    @property
    def result(self) -> Gathered | None:
        """What has come of it; None while it goes on, or where it is to be done again."""
        return self._result

    @property
    def fault(self) -> Exception | None:
        """What prevents it just now, and passes: a lock, a full disk. Then it is done again."""
        return self._fault

    def give_up(self) -> None:
        """Treat the fault as lasting: it becomes a warning, and the work stays in its place."""
        if self._fault is not None:
            self._result, self._fault = self._as_warning(self._fault), None

    def start(self, when_done: Callable[[], None]) -> None:
        """Begin, in a thread that calls `when_done` at its end.

        A machine that allows no further thread now is a passing fault like any other.
        """

        def run() -> None:
            self.run()
            when_done()

        try:
            threading.Thread(target=run, name="gathering", daemon=True).start()
        except RuntimeError as error:  # what Python says where the system allows no more of them
            self._fault = OSError(errno.EAGAIN, str(error))
            when_done()

    def run(self) -> None:
        """Gather. Raises nothing: what stays wrong becomes a warning."""
        try:
            self._result = self._work()
        except Exception as error:
            if passing_fault(error) is not None:
                self._fault = error
            else:
                self._result = self._as_warning(error)

    def _as_warning(self, error: Exception) -> Gathered:
        if isinstance(error, SowError):
            return Gathered(warnings=(_not_gathered(error.message),))
        logger.error("job %s: its work cannot be gathered", self._job.id, exc_info=error)
        return Gathered(warnings=(_not_gathered(str(error)),))


def named(paths: Sequence[str]) -> str:
    """Return some files by name, and of more than a few how many there are."""
    rest = len(paths) - MOST_NAMED
    more = f" and {rest} more" if rest > 0 else ""
    return ", ".join(printable(readable(path)) for path in paths[:MOST_NAMED]) + more


def _not_gathered(why: str) -> str:
    return readable(f"{NOT_BROUGHT_BACK}: {why}")
