"""One command line of the repository, run to its end: its log, its time limit, the end of its tree.

Owns the process and all that it starts, by the supervisor's own means: this
program inherits the orphans below it, so that nothing of one command line runs
on beside the next. It is ended itself by whoever ends its own tree.
"""

import os
import signal
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from sow import env_vars
from sow.environment import caller_environment
from worker.supervisor.agent_process import CHILD_ENDED, REQUESTS, Agent, receive, wait_for_signal
from worker.supervisor.fenced_start import start_fenced
from worker.supervisor.own_processes import OwnProcesses, load_tree
from worker.supervisor.sandboxed import agents_status
from worker.supervisor.tree_ending import LEFTOVER_GRACES, end_tree

if TYPE_CHECKING:
    from worker.supervisor.gate import Gate

SHELL = "/bin/sh"


class Ended(NamedTuple):
    """How a command line ended."""

    code: int | None
    signal: int | None
    timed_out: bool
    seconds: float


class Fence(NamedTuple):
    """How a command line is put into its sandbox."""

    around: Callable[[Sequence[str]], Sequence[str]]
    """Returns the argv that runs another one there."""
    gate: "Callable[[OwnProcesses], Gate] | None" = None
    """Opens its way to the hosts that it may ask; None where it has none."""


class Runner:
    """Runs command lines one after another, each in the folder that this process is in."""

    def __init__(self, folder: str, packages: str | None = None) -> None:
        """`folder` is the attempt's: a worker that was started below us is told by it."""
        self._tree = tree = load_tree(packages)
        tree.inherit_orphans()
        receive(CHILD_ENDED)
        attempt = os.environ.get(env_vars.ATTEMPT_ID, "")
        self._own_processes = OwnProcesses(folder, tree, attempt)

    def run(self, line: str, log: Path, *, seconds: float, fence: Fence | None = None) -> Ended:
        """Run a command line, at most `seconds`; what it has left running is ended with it.

        `fence` puts it into its sandbox. Raises what that raises.
        """
        argv = shell_argv(line) if fence is None else fence.around(shell_argv(line))
        self._own_processes.in_sandbox = fence is not None
        begun = time.monotonic()
        anew = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
        output = os.open(log, anew, 0o600)
        try:
            if fence is None:
                pid = start_shell(argv, stdin=None, output=output)
            else:
                pid = self._start_fenced(argv, output, fence)
        finally:
            os.close(output)
        return self.follow(pid, begun, seconds=seconds)

    def _start_fenced(self, argv: Sequence[str], output: int, fence: Fence) -> int:
        environ = caller_environment(os.environ)
        gate = None if fence.gate is None else fence.gate(self._own_processes)
        if gate is not None:
            environ |= {os.fsdecode(name): os.fsdecode(it) for name, it in gate.variables.items()}
        nothing = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
        try:
            return start_fenced(argv, environ, (nothing, output, output))
        finally:
            os.close(nothing)
            if gate is not None:
                gate.begun()

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


def shell_argv(line: str) -> tuple[str, ...]:
    """Return the argv that runs a command line."""
    return (SHELL, "-c", line)


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
