"""Work that is killed with SIGKILL at one of its steps, in a process of its own."""

import os
import signal
from collections.abc import Callable

Step = Callable[[str], None]


def killed_at(window: str, act: Callable[[Step], object]) -> None:
    """Begin some work, and have it killed at the step of this name; it must come to that."""
    process = os.fork()
    if process == 0:
        try:
            act(_killer(window))
        finally:
            os._exit(1)
    ended = os.waitpid(process, 0)[1]
    assert os.WIFSIGNALED(ended), f"it has not come to the step {window!r}"
    assert os.WTERMSIG(ended) == signal.SIGKILL


def steps_of(act: Callable[[Step], object]) -> tuple[str, ...]:
    """Carry some work out; return the names of its steps, in their order."""
    seen: list[str] = []
    act(seen.append)
    return tuple(seen)


def _killer(window: str) -> Step:
    def step(name: str) -> None:
        if name == window:
            os.kill(os.getpid(), signal.SIGKILL)

    return step
