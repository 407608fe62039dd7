"""When a worker leaves: told by a signal, with nothing to do, without its name, without its queue.

Owns the decision and the sleep of the main thread until then. What a leaving
worker still does is `main`'s.
"""

import os
import select
import signal
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from types import FrameType

from sow.jobs import workers
from sow.jobs.faults import QueueChanged
from worker.context import WorkerContext, logger

HEALTH_SECONDS = 60.0
"""How often huey looks whether its threads live."""


class Departure:
    """The decision to leave, taken once, by any thread or by a signal handler."""

    def __init__(self, context: WorkerContext, stop_flag: threading.Event) -> None:
        """`stop_flag` keeps huey's thread from claiming another job."""
        self._context = context
        self._stop_flag = stop_flag
        self._read, self._write = os.pipe()
        self.signals = 0
        """How often we were told to leave; being told to end the agents counts twice."""
        self.changed: QueueChanged | None = None
        """Why the queue's file is not ours any more, where that is so."""

    @property
    def has_lost_records(self) -> bool:
        """Whether what was on record of our jobs is gone: no worker can adopt them by it."""
        return self.changed is not None and self.changed.has_lost_records

    @property
    def is_decided(self) -> bool:
        """Whether no other job may be claimed."""
        return self._stop_flag.is_set()

    def wait(self, check_health: Callable[[], object]) -> None:
        """Sleep until a signal or a decision; see to huey's threads meanwhile."""
        while not select.select([self._read], [], [], HEALTH_SECONDS)[0]:
            check_health()
        self._stop_flag.set()

    def leave_at(self, signums: Iterable[int]) -> None:
        """Leave at these signals, whichever thread the kernel gives one to.

        Python runs a handler on the main thread, which sleeps on where another thread was
        interrupted. So the byte that wakes it is written where the signal arrives
        (https://docs.python.org/3/library/signal.html#signal.set_wakeup_fd).
        """
        os.set_blocking(self._write, False)
        signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)
        for signum in signums:
            signal.signal(signum, self._on_signal)

    def _on_signal(self, signum: int, _frame: FrameType | None) -> None:
        self.signals += 2 if signum == workers.END_AGENTS else 1

    def decide(self) -> None:
        """Leave."""
        self._stop_flag.set()
        with suppress(BlockingIOError):  # a full pipe wakes as well
            os.write(self._write, b"!")

    def without_name(self) -> None:
        """Leave when our lock file is gone: to the others we are dead, and they take our jobs."""
        logger.warning(
            "our lock file was removed, so other processes think that this worker is dead; leaving"
        )
        self._context.state.look()  # what took it may have taken more
        self.decide()

    def without_queue(self, error: QueueChanged) -> None:
        """Leave when the queue's file is not ours any more; from now on we write nothing to it."""
        if self.changed is None:
            self.changed = error
            logger.warning("%s; leaving", error.message)
            if self.has_lost_records:
                self._context.state.look()  # what took it may have taken more
            self.decide()
