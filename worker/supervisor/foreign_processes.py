"""Who below an agent is not the agent's: workers, and other attempts that these have begun.

An agent's own `sow` calls start workers, in this checkout or in another one,
and these start supervisors. Owns the rule that tells such processes. A
variable alone spares nobody, for whoever starts a process may set it: a
worker holds its own lock, a supervisor that of its attempt, and an agent whose
supervisor has died is named by its attempt's `started.json`. Where we have no
descriptor or memory left to look, OSError is raised: a worker that cannot be
seen must not be ended for it. Sends no signal. Light: the supervisor runs on it.
"""

import fcntl
import os
import stat

from sow import env_vars
from sow.evidence import record_of
from sow.processes.shortage import is_shortage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType

    from sow.processes.stat import Stat

NO_ATTEMPT = "supervisor"
"""What a supervisor itself carries for its attempt's id: no tree of an attempt holds it."""
ALIVE_LOCK = "/alive.lock"
SMALL_BYTES = 65536
"""More than any record holds that is read here."""


def spared_of(tree: "ModuleType", family: "dict[int, Stat]", folder: str) -> set[int]:
    """Return who of a family does not belong to the attempt in `folder`, we ourselves left out.

    What lies below them does not belong to it either.
    """
    workers = registered_workers(run_folder(folder))
    me, folder = os.getpid(), os.path.realpath(folder)
    return {
        pid
        for pid, process in family.items()
        if is_registered(pid, process, workers) or (pid != me and is_stranger(tree, pid, folder))
    }


def run_folder(attempt_folder: str) -> str:
    """Return `.sow/run` for an attempt's folder `.sow/run/jobs/<job>/<attempt>`."""
    return os.path.dirname(os.path.dirname(os.path.dirname(attempt_folder)))  # noqa: PTH120


def is_stranger(tree: "ModuleType", pid: int, folder: str) -> bool:
    """Whether a process is a worker, another attempt's supervisor, or such an attempt's agent."""
    locks = [path for path in tree.open_files(pid) if path.endswith(".lock")]
    if any(is_worker(pid, path) for path in locks):
        return True
    variables = tree.variables(pid)
    if value_of(variables, env_vars.ATTEMPT_ID) == NO_ATTEMPT:
        others = [path for path in locks if path.endswith(ALIVE_LOCK)]
        return any(path != folder + ALIVE_LOCK and is_held(path) for path in others)
    return is_agent_of_another(pid, variables, folder)


def is_worker(pid: int, path: str) -> bool:
    """Whether a file that a process has open is its own lock, as a worker's names the worker."""
    named = named_in(path)
    return named is not None and named[0] == pid and is_held(path)


def is_agent_of_another(pid: int, variables: bytes, folder: str) -> bool:
    """Whether another attempt has written down that this process is its agent."""
    words = value_of(variables, env_vars.ATTEMPT_ID).split(".")
    root = value_of(variables, env_vars.ROOT)
    if len(words) < 3 or not root:  # a job, a number and a random word
        return False
    other = f"{root}/.sow/run/jobs/{words[0]}/{words[1]}"
    attempt = ".".join(words)
    return agent_pid_of(other, attempt) == pid and os.path.realpath(other) != folder


def agent_pid_of(folder: str, attempt: str) -> int | None:
    """Return the pid that an attempt's supervisor has written down for its agent."""
    pid = started(folder, attempt).get("agent_pid")
    return pid if isinstance(pid, int) else None


def started(folder: str, attempt: str) -> "dict[str, object]":
    """Return what an attempt's supervisor has written down of its agent's start, if anything.

    `attempt` is the attempt's id.
    """
    try:
        return record_of(read_small(folder + "/started.json"), attempt)
    except OSError as error:
        if is_shortage(error):
            raise
        return {}


def value_of(variables: bytes, name: str) -> str:
    """Return one variable of an environment that is NUL-separated; empty where it is not set."""
    _, found, rest = (b"\0" + variables).partition(f"\0{name}=".encode())
    return os.fsdecode(rest.partition(b"\0")[0]) if found else ""


def is_registered(pid: int, process: "Stat", workers: dict[int, tuple[str, str]]) -> bool:
    """Whether a process is a worker of this checkout that has registered and lives.

    Raw start ticks prove it. Where a worker or we use the portable back end,
    starts are told in other words or move with the clock; then the lock does.
    """
    if pid not in workers:
        return False
    ticks, path = workers[pid]
    if ticks == process.start_ticks:
        return True
    return not (ticks.isdigit() and process.start_ticks.isdigit()) and is_held(path)


def registered_workers(run: str) -> dict[int, tuple[str, str]]:
    """Return by pid the start ticks of each worker, as its lock file tells them, and that file."""
    workers: dict[int, tuple[str, str]] = {}
    try:
        names = os.listdir(run + "/workers")  # noqa: PTH208
    except OSError as error:
        if is_shortage(error):
            raise
        return workers
    for name in names:
        path = f"{run}/workers/{name}"
        if name.endswith(".lock") and (named := named_in(path)) is not None:
            workers[named[0]] = named[1], path
    return workers


def named_in(path: str) -> tuple[int, str] | None:
    """Return the pid and the start ticks that a worker's lock file tells."""
    try:
        pid, ticks = read_small(path).decode("ascii").split()
        return int(pid), ticks
    except OSError as error:
        if is_shortage(error):
            raise
        return None
    except ValueError:
        return None


def read_small(path: str) -> bytes:
    """Return what a file of ours holds. Raises OSError; what is no file, or no longer ours, is b"".

    An agent may have put a pipe there, of which a plain open would wait for the other end.
    """
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    try:
        return os.read(fd, SMALL_BYTES) if stat.S_ISREG(os.fstat(fd).st_mode) else b""
    finally:
        os.close(fd)


def is_held(path: str) -> bool:
    """Whether anybody holds the lock on a file."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if is_shortage(error):
            raise
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    else:
        return False
    finally:
        os.close(fd)
