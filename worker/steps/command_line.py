"""One command line of the repository, run to its end: its log, its time limit, the end of its tree.

Owns the process and all that it starts, by the supervisor's own means: this
program inherits the orphans below it, so that nothing of one command line runs
on beside the next. It is ended itself by whoever ends its own tree.
"""

import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from sow import env_vars
from sow.environment import caller_environment
from worker.supervisor.agent_process import CHILD_ENDED, REQUESTS, Agent, receive, wait_for_signal
from worker.supervisor.keyrings import close_keyrings
from worker.supervisor.own_processes import OwnProcesses, load_tree
from worker.supervisor.sandboxed import agents_status
from worker.supervisor.tree_ending import LEFTOVER_GRACES, end_tree

SHELL = "/bin/sh"
NOT_STARTED = 126
"""The exit code of a process that could not become what it was to be."""


class Ended(NamedTuple):
    """How a command line ended."""

    code: int | None
    signal: int | None
    timed_out: bool
    seconds: float


class Runner:
    """Runs command lines one after another, each in the folder that this process is in."""

    def __init__(self, folder: str, packages: str | None = None) -> None:
        """`folder` is the attempt's: a worker that was started below us is told by it."""
        self._tree = tree = load_tree(packages)
        tree.inherit_orphans()
        receive(CHILD_ENDED)
        attempt = os.environ.get(env_vars.ATTEMPT_ID, "")
        self._own_processes = OwnProcesses(folder, tree, attempt)

    def run(self, line: str, log: Path, *, seconds: float, fence: "Fence | None" = None) -> Ended:
        """Run a command line, at most `seconds`; what it has left running is ended with it.

        `fence` returns the argv of one in its sandbox. Raises what that raises.
        """
        argv = shell_argv(line) if fence is None else fence(shell_argv(line))
        self._own_processes.in_sandbox = fence is not None
        begun = time.monotonic()
        anew = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
        output = os.open(log, anew, 0o600)
        try:
            begin = start_shell if fence is None else start_fenced
            pid = begin(argv, stdin=None, output=output)
        finally:
            os.close(output)
        return self.follow(pid, begun, seconds=seconds)

    def follow(self, pid: int, begun: float, *, seconds: float) -> Ended:
        """Wait for a shell, at most `seconds` from `begun`; end what it has left running.

        An interrupt ends this process meanwhile, as any other request does: whoever ends its
        tree need not wait for it. Python's own handler would not run before the shell has ended.
        """
        agent = Agent(pid)
        handler = signal.signal(signal.SIGINT, signal.SIG_DFL)
        try:
            timed_out = not self._await_end(agent, begun + seconds)
        finally:
            signal.signal(signal.SIGINT, handler)
        own = self._own_processes
        end_tree(agent, own, LEFTOVER_GRACES)
        took = time.monotonic() - begun
        status = agents_status(agent.status) if own.in_sandbox else agent.status
        if timed_out or status is None:
            return Ended(None, None, timed_out=True, seconds=took)
        if os.WIFSIGNALED(status):
            return Ended(None, os.WTERMSIG(status), timed_out=False, seconds=took)
        return Ended(os.WEXITSTATUS(status), None, timed_out=False, seconds=took)

    def close(self) -> None:
        """Make this process again what it was: it is about to become another program."""
        self._tree.leave_orphans()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())

    def _await_end(self, agent: Agent, deadline: float) -> bool:
        """Wait until the shell itself has ended; False when its time is up first."""
        while True:
            agent.reap()
            if agent.status is not None:
                return True
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            look = self._own_processes.seconds_to_next_look()
            wait_for_signal(CHILD_ENDED, left if look is None else min(left, look))
            self._own_processes.remember()


Fence = Callable[[Sequence[str]], Sequence[str]]
"""Returns the argv that runs another one in a sandbox."""


def shell_argv(line: str) -> tuple[str, ...]:
    """Return the argv that runs a command line."""
    return (SHELL, "-c", line)


def start_fenced(argv: Sequence[str], *, stdin: int | None, output: int) -> int:
    """Start a shell in its sandbox, likewise: with the kernel's keyrings closed to it alone."""
    pid = os.fork()
    if pid:
        return pid
    try:
        os.setpgid(0, 0)
        source = os.open(os.devnull, os.O_RDONLY) if stdin is None else stdin
        for number, descriptor in enumerate((source, output, output)):
            os.dup2(descriptor, number)
        for signum in (*REQUESTS, signal.SIGPIPE):
            signal.signal(signum, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        close_keyrings()
        os.execve(argv[0], list(argv), caller_environment(os.environ))
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        os._exit(NOT_STARTED)


def start_shell(argv: Sequence[str], *, stdin: int | None, output: int) -> int:
    """Start a shell on open files, or on no input, and return its pid. Raises OSError."""
    silence = (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)
    return os.posix_spawn(
        argv[0],
        list(argv),
        caller_environment(os.environ),
        file_actions=[
            silence if stdin is None else (os.POSIX_SPAWN_DUP2, stdin, 0),
            (os.POSIX_SPAWN_DUP2, output, 1),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ],
        setsigmask=(),
        setsigdef=(*REQUESTS, signal.SIGPIPE),
        setpgroup=0,
    )
