"""Waiting for signals with a time limit, by what every POSIX system has.

macOS has no sigtimedwait(2), so an interval timer limits sigwait(3). Light: the
supervisor runs on it.
"""

import signal

REQUESTS = frozenset({signal.SIGINT, signal.SIGTERM, signal.SIGHUP})
"""Each asks a supervisor to end its tree."""
WATCHED = REQUESTS | {signal.SIGCHLD}
CHILD_ENDED = frozenset({signal.SIGCHLD})
SHORTEST_SECONDS = 0.001


def receive(signals: frozenset[signal.Signals]) -> None:
    """Have these signals wait for `wait_for_signal` from now on instead of acting."""
    signal.pthread_sigmask(signal.SIG_BLOCK, signals | {signal.SIGALRM})
    # BSD kernels drop a blocked signal that is ignored by default; one with a handler they keep.
    signal.signal(signal.SIGCHLD, lambda _signum, _frame: None)


def wait_for_signal(
    signals: frozenset[signal.Signals], seconds: float | None
) -> signal.Signals | None:
    """Wait for one of `signals`, at most `seconds` (None: for ever); None when time is up.

    May return None early, by a timer that rang as the last wait ended.
    """
    if seconds is None:
        return signal.Signals(signal.sigwait(signals))
    signal.setitimer(signal.ITIMER_REAL, max(seconds, SHORTEST_SECONDS))
    try:
        received = signal.sigwait(signals | {signal.SIGALRM})
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return None if received == signal.SIGALRM else signal.Signals(received)
