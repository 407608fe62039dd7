"""An agents' CLI on this process's own terminal, until it ends: signals are left to it."""

import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FrameType

from sow.executors.base import Launch

FROM_KEYBOARD = (signal.SIGINT, signal.SIGQUIT)
PASSED_ON = (signal.SIGTERM, signal.SIGHUP)
LOOK_SECONDS = 0.5


def run_in_foreground(
    launch: Launch, environ: Mapping[str, str], *, pass_fds: Sequence[int] = ()
) -> int:
    """Run a launch on our terminal; return its exit code, minus the signal that killed it."""
    running: list[subprocess.Popen[bytes]] = []
    early: list[int] = []
    with _left_to(running, early):
        running.append(
            subprocess.Popen(launch.argv, cwd=launch.cwd, env=dict(environ), pass_fds=pass_fds)
        )
        for signum in early:
            running[0].send_signal(signum)
        return _wait_for(running[0])


def _wait_for(process: subprocess.Popen[bytes]) -> int:
    """Return a process's exit code; look up now and then.

    A signal that comes right before a call that blocks is heeded by Python after that call.
    """
    while True:
        try:
            return process.wait(timeout=LOOK_SECONDS)
        except subprocess.TimeoutExpired:
            continue


@contextmanager
def _left_to(running: Sequence[subprocess.Popen[bytes]], early: list[int]) -> Iterator[None]:
    """Leave signals to the CLI: the keyboard's reach it anyway, the others are passed on.

    They are caught, not ignored: what is ignored stays so in a program that is started.
    One that comes while the CLI is being started is kept in `early`.
    """

    def pass_on(signum: int, _frame: FrameType | None) -> None:
        if signum not in PASSED_ON:
            return
        for process in running:
            process.send_signal(signum)
        if not running:
            early.append(signum)

    before = {signum: signal.signal(signum, pass_on) for signum in (*FROM_KEYBOARD, *PASSED_ON)}
    try:
        yield
    finally:
        for signum, handler in before.items():
            signal.signal(signum, handler)
