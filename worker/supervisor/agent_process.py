"""The agent's own process, as its supervisor sees it: its pid, then how it ended.

Owns the collecting of children that have ended. Light: the supervisor runs on it.
"""

import os


class Agent:
    """The agent's process: its pid, then how it ended."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.status: int | None = None
        self.cpu_seconds = 0.0
        self.peak_memory = 0
        """In the unit of wait4(2), which differs between systems."""

    def reap(self) -> bool:
        """Collect every child that has ended, orphans we inherited too; tell if any is left."""
        while True:
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            if pid == self.pid:
                self.status = status
                self.cpu_seconds = usage.ru_utime + usage.ru_stime
                self.peak_memory = usage.ru_maxrss
