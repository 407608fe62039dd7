"""The agent's own process, as its supervisor sees it, and the wait for the signal of its end.

Owns the collecting of children that have ended. macOS has no sigtimedwait(2), so an interval timer
limits sigwait(3). Light: the supervisor runs on it, and so it names signals by number: `signal` is
half a megabyte of enumerations around `_signal`.
"""

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from collections.abc import Callable, Mapping, Sequence

    Start = Callable[[str, list[str], Mapping[bytes, bytes], Sequence[int]], int]
    """Starts the process of the attempt in a folder, with an argv and an environment, and returns
    its pid. The last are the descriptors of its last standard streams: output and error, or all
    three. For the others it has its files. Raises OSError."""
else:
    import _signal as signal

REQUESTS = frozenset({signal.SIGINT, signal.SIGTERM, signal.SIGHUP})
"""Each asks a supervisor to end its tree."""
WATCHED = REQUESTS | {signal.SIGCHLD}
CHILD_ENDED = frozenset({signal.SIGCHLD})
SHORTEST_SECONDS = 0.001


class EndAsked(Exception):
    """The attempt's end was asked for before its agent has begun."""


def receive(signals: "frozenset[signal.Signals]") -> None:
    """Have these signals wait for `wait_for_signal` from now on instead of acting."""
    signal.pthread_sigmask(signal.SIG_BLOCK, signals | {signal.SIGALRM})
    # BSD kernels drop a blocked signal that is ignored by default; one with a handler they keep.
    signal.signal(signal.SIGCHLD, lambda _signum, _frame: None)


def wait_for_signal(signals: "frozenset[signal.Signals]", seconds: float | None) -> int | None:
    """Wait for one of `signals`, at most `seconds` (None: for ever); None when time is up.

    May return None early, by a timer that rang as the last wait ended.
    """
    if seconds is None:
        return signal.sigwait(signals)
    signal.setitimer(signal.ITIMER_REAL, max(seconds, SHORTEST_SECONDS))
    try:
        received = signal.sigwait(signals | {signal.SIGALRM})
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return None if received == signal.SIGALRM else received


def wake_on_request() -> int:
    """Have SIGTERM end a wait, and nothing else, in a process of ours that a supervisor has forked.

    Returns what can be read after it.
    """
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing)
    signal.signal(signal.SIGTERM, lambda _signum, _frame: None)
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {*REQUESTS, signal.SIGCHLD, signal.SIGALRM})
    return reading


class Agent:
    """The agent's process: its pid, then how it ended."""

    def __init__(self, pid: int, *, counts_all: bool = False) -> None:
        """`counts_all`: what it uses is that of all children that we collect.

        bubblewrap ends before it has collected the process in which its agent was (measured).
        """
        self.pid = pid
        self.counts_all = counts_all
        self.status: int | None = None
        self.cpu_seconds = 0.0
        self.peak_memory = 0
        """In the unit of wait4(2), which differs between systems."""
        self.helper = 0
        """The pid of the process that writes its output, where there is one."""
        self.helper_status: int | None = None

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
            elif pid == self.helper:
                self.helper_status = status
                continue
            if pid == self.pid or self.counts_all:
                self.cpu_seconds += usage.ru_utime + usage.ru_stime
                self.peak_memory = max(self.peak_memory, usage.ru_maxrss)
