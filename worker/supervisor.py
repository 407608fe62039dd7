"""The tiny process that runs one attempt, and outlives the worker that started it.

    python -I -S supervisor.py ATTEMPT_FOLDER PROGRAM ARGUMENT...

It starts in a session of its own, with the agent's environment and in the
agent's folder. It holds `alive.lock` together with the agent, gives the agent
files (never a pipe to the worker), waits, ends whatever the agent left behind,
and writes `exit.json` by rename. SIGINT, SIGTERM and SIGHUP ask it to end the
whole tree: interrupt, terminate, kill, with a grace after each.

It must start fast and stay small (`-S`: no site-packages; few imports), so it
reads no configuration, opens no database and knows nothing of tasks or jobs.
Being a subreaper (prctl(2)), it inherits every orphan of the agent.
"""

import fcntl
import os
import signal
import sys
import time

sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))  # noqa: PTH100, PTH120

from sow.processes import procfs

ATTEMPT_VARIABLE = "SOW_ATTEMPT_ID"
PR_SET_CHILD_SUBREAPER = 36
WATCHED = {signal.SIGCHLD, signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
REQUESTS = WATCHED - {signal.SIGCHLD}

GRACES = ((signal.SIGINT, 5.0), (signal.SIGTERM, 3.0), (signal.SIGKILL, 5.0))
"""Each signal and how long the tree has, in seconds, before the next one."""
LEFTOVER_GRACES = ((signal.SIGTERM, 2.0), (signal.SIGKILL, 5.0))
"""The same for what an agent that has exited left in the background."""


class Agent:
    """The agent's process: its pid, then how it ended."""

    def __init__(self, folder: str, pid: int) -> None:
        self.folder = folder
        self.pid = pid
        self.status: int | None = None
        self.cpu_seconds = 0.0
        self.max_rss_kb = 0

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
                self.max_rss_kb = usage.ru_maxrss


def main(arguments: list[str]) -> int:
    """Run one attempt to its end."""
    folder, argv = os.path.abspath(arguments[0]), arguments[1:]  # noqa: PTH100
    signal.pthread_sigmask(signal.SIG_BLOCK, WATCHED)
    lock = hold_alive_lock(folder)
    if os.path.exists(folder + "/void"):  # noqa: PTH110
        return 0  # we came so late that the attempt was given up, and perhaps run again
    become_subreaper()
    started_at = time.time()
    try:
        agent = Agent(folder, start_agent(folder, argv))
    except OSError as error:
        return write_failure(folder, argv, error, started_at)
    write_json(folder, "started.json", {"agent_pid": agent.pid, "started_at": started_at})
    ended_by_request = wait_for_end(agent)
    ended_at = time.time()
    end_tree(agent, LEFTOVER_GRACES)
    write_exit(agent, started_at, ended_at, ended_by_request)
    os.close(lock)
    return 0


def hold_alive_lock(folder: str) -> int:
    """Lock `alive.lock`; the agent inherits the descriptor, and with it the lock."""
    fd = os.open(folder + "/alive.lock", os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.set_inheritable(fd, True)
    return fd


def become_subreaper() -> None:
    """Have orphaned descendants become our children instead of init's."""
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER)")


def start_agent(folder: str, argv: list[str]) -> int:
    """Start the agent on its files and return its pid. Raises OSError when it cannot be run."""
    append = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    return os.posix_spawnp(
        argv[0],
        argv,
        os.environ,
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, folder + "/prompt.md", os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, folder + "/output.jsonl", append, 0o600),
            (os.POSIX_SPAWN_OPEN, 2, folder + "/stderr.log", append, 0o600),
        ],
        setsigmask=(),
        setsigdef=(*REQUESTS, signal.SIGPIPE),
        setpgroup=0,
    )


def wait_for_end(agent: Agent) -> bool:
    """Wait until the agent has ended; return whether its end was asked for."""
    asked = False
    while True:
        agent.reap()
        if agent.status is not None:
            return asked
        requested = signal.sigwait(WATCHED) in REQUESTS
        agent.reap()
        if requested and agent.status is None:  # else it had ended before it was asked to
            asked = True
            end_tree(agent, GRACES)


def end_tree(agent: Agent, graces: tuple[tuple[signal.Signals, float], ...]) -> None:
    """Signal everything below us, ever more firmly, until nothing is left."""
    for signum, grace in graces:
        if not agent.reap() or not (targets := remaining(agent.folder)):
            return
        if signum == signal.SIGINT:
            interrupt(agent, targets, grace)
        else:
            send(signum, targets)
            await_none(agent, grace, again=signum if signum == signal.SIGKILL else None)


def interrupt(agent: Agent, targets: list[int], grace: float) -> None:
    """Do as a terminal does on ^C, and wait for the agent: its CLI ends its own tools."""
    deadline = time.monotonic() + grace
    send(signal.SIGINT, [pid for pid in targets if group_of(pid) == agent.pid])
    while agent.status is None and (left := deadline - time.monotonic()) > 0:
        signal.sigtimedwait({signal.SIGCHLD}, left)
        agent.reap()


def await_none(agent: Agent, grace: float, again: signal.Signals | None) -> None:
    """Wait until nothing is left below us, at most `grace` seconds."""
    deadline = time.monotonic() + grace
    while (left := deadline - time.monotonic()) > 0:
        if not agent.reap() or not (targets := remaining(agent.folder)):
            return
        if again is not None:
            send(again, targets)
        signal.sigtimedwait({signal.SIGCHLD}, min(left, 0.05))


def group_of(pid: int) -> int:
    """Return the process group of `pid`; 0 when it has just ended."""
    try:
        return os.getpgid(pid)
    except OSError:
        return 0


def send(signum: signal.Signals, pids: list[int]) -> None:
    """Send a signal; a process that has just ended is no error."""
    for pid in pids:
        try:
            os.kill(pid, signum)
        except OSError:
            continue


def remaining(folder: str) -> list[int]:
    """Return what runs below us and is ours to end.

    Another attempt's supervisor, a registered worker and all that is below
    them are not: an agent's own `sow` call may have started them.
    """
    below = procfs.descendants(os.getpid())
    workers = registered_workers(folder)
    spared = {pid for pid, stat in below.items() if is_spared(pid, stat, workers)}
    return [
        pid
        for pid, stat in below.items()
        if stat.state not in "ZX" and not spared.intersection(lineage(pid, below))
    ]


def lineage(pid: int, below: dict[int, procfs.Stat]) -> list[int]:
    """Return `pid` and its ancestors up to us."""
    chain = []
    while pid in below:
        chain.append(pid)
        pid = below[pid].parent
    return chain


def is_spared(pid: int, stat: procfs.Stat, workers: set[tuple[int, str]]) -> bool:
    """Whether a process is a registered worker, or belongs to another attempt."""
    if (pid, stat.start_ticks) in workers:
        return True
    marker = f"\0{ATTEMPT_VARIABLE}=".encode()
    if marker not in b"\0" + procfs.variables(pid):
        return False
    return not procfs.carries(pid, ATTEMPT_VARIABLE, os.environ[ATTEMPT_VARIABLE])


def registered_workers(folder: str) -> set[tuple[int, str]]:
    """Return pid and start ticks of each worker, as its lock file tells them."""
    workers: set[tuple[int, str]] = set()
    run = os.path.dirname(os.path.dirname(os.path.dirname(folder)))  # noqa: PTH120
    try:
        names = os.listdir(run + "/workers")  # noqa: PTH208
    except OSError:
        return workers
    for name in names:
        if name.endswith(".lock"):
            try:
                with open(f"{run}/workers/{name}", encoding="ascii") as file:  # noqa: PTH123
                    pid, ticks = file.read().split()
                workers.add((int(pid), ticks))
            except (OSError, ValueError):
                continue
    return workers


def write_exit(agent: Agent, started_at: float, ended_at: float, by_request: bool) -> None:
    """Say how the agent ended, once nothing of it is left."""
    status = agent.status or 0
    signaled = os.WIFSIGNALED(status)
    write_json(
        agent.folder,
        "exit.json",
        {
            "code": None if signaled else os.WEXITSTATUS(status),
            "signal": os.WTERMSIG(status) if signaled else None,
            "by_request": by_request,
            "cpu_seconds": round(agent.cpu_seconds, 3),
            "max_rss_kb": agent.max_rss_kb,
            "started_at": started_at,
            "ended_at": ended_at,
        },
    )


def write_failure(folder: str, argv: list[str], error: OSError, started_at: float) -> int:
    """Say that the agent could not be started, with the shell's own exit codes for it."""
    with open(folder + "/stderr.log", "a", encoding="utf-8") as file:  # noqa: PTH123
        file.write(f"cannot run {argv[0]}: {error.strerror}\n")
    code = 127 if isinstance(error, FileNotFoundError) else 126
    write_json(
        folder,
        "exit.json",
        {"code": code, "signal": None, "started_at": started_at, "ended_at": time.time()},
    )
    return 0


def write_json(folder: str, name: str, record: dict[str, object]) -> None:
    """Put a record in place whole, by rename, and on disk."""
    import json

    draft = f"{folder}/.{name}"
    with open(draft, "w", encoding="utf-8") as file:  # noqa: PTH123
        json.dump(record, file)
        file.flush()
        os.fsync(file.fileno())
    os.rename(draft, f"{folder}/{name}")  # noqa: PTH104


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
