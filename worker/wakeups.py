"""What wakes the monitor: a nudge from another thread, and the end of a supervisor.

Owns the pipe and the supervisors' pidfds (pidfd_open(2)), and the sleep on them.
Where a system has no pidfds, only the monitor's next look sees such an end.
Knows nothing of what is to be done about an attempt.
"""

import os
import select
from contextlib import suppress

from sow.processes import process_facts
from sow.processes.process_facts import Life
from worker.running import Running


class Wakeups:
    """A sleep that ends when there is something to see. Only `nudge` may come from elsewhere."""

    def __init__(self) -> None:
        self._read, self._write = os.pipe()
        os.set_blocking(self._read, False)
        os.set_blocking(self._write, False)
        self._poller = select.poll()
        self._poller.register(self._read, select.POLLIN)

    def nudge(self) -> None:
        """End the sleep, or the next one; safe from any thread and signal handler."""
        with suppress(BlockingIOError):
            os.write(self._write, b"!")

    def sleep(self, seconds: float | None) -> set[int]:
        """Sleep at most so long (None: without end); return the descriptors that are ready."""
        ready = self._poller.poll(None if seconds is None else seconds * 1000)
        with suppress(BlockingIOError):
            while os.read(self._read, 4096):
                pass
        return {descriptor for descriptor, _ in ready}

    def open_pidfd(self, running: Running) -> None:
        """Let the end of an attempt's supervisor end the sleep, where the system can tell it."""
        identity = running.attempt.supervisor
        if identity is None or not hasattr(os, "pidfd_open"):
            return
        with suppress(OSError):
            running.pidfd = os.pidfd_open(identity.pid)
            self._poller.register(running.pidfd, select.POLLIN)
            if process_facts.life_of(identity) is not Life.ALIVE:
                self.close_pidfd(running)

    def close_pidfd(self, running: Running) -> None:
        """Stop sleeping on a supervisor: once it is dead, its pidfd is readable for ever."""
        if running.pidfd is not None:
            self._poller.unregister(running.pidfd)
            os.close(running.pidfd)
            running.pidfd = None
