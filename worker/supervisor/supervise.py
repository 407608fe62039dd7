"""The supervision of one attempt, step by step: orders, lock, start, wait, end the rest, write.

It runs one attempt and outlives the worker that started it. It waits for its orders on standard
input (`instructions`): the attempt's folder, the agent's folder, argv and environment. It leaves
when that closes without any. It holds `alive.lock` together with the agent, gives the agent files
(never a pipe to the worker), waits, ends whatever the agent left behind, and writes `exit.json` by
rename. SIGINT, SIGTERM and SIGHUP ask it to end the whole tree: interrupt, terminate, kill, with a
grace after each.

Owns the order of the steps. The agent's own process is `agent_process`; what is below
it and whose that is, is `own_processes`; the signals are `tree_ending`; the records `exit_file`. An
agent with secrets has pipes for its output instead (`secret_orders`). What an agent may use at most
is watched by `limits`.
Runs inside the supervisor alone (`forking`), which must stay small: no module that it imports may
be heavy.
"""

import errno
import fcntl
import os
import sys
import time

from sow.env_vars import ATTEMPT_ID
from sow.evidence import KEY, is_named, is_void, record_of
from worker.supervisor.agent_process import (
    REQUESTS,
    WATCHED,
    Agent,
    EndAsked,
    receive,
    wait_for_signal,
)
from worker.supervisor.exit_file import (
    FIRST_RETRY_SECONDS,
    LONGEST_RETRY_SECONDS,
    exit_of,
    failure_of,
    leave_cause,
    put_in_place,
    say,
    try_to_put_in_place,
)
from worker.supervisor.foreign_processes import read_small
from worker.supervisor.instructions import Orders, await_orders
from worker.supervisor.own_processes import OwnProcesses
from worker.supervisor.sandboxed import agents_status, is_in_sandbox
from worker.supervisor.tree_ending import GRACES, LEFTOVER_GRACES, end_tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from collections.abc import Mapping, Sequence
    from types import ModuleType

    from worker.supervisor.agent_process import Start
    from worker.supervisor.gate import Gate
    from worker.supervisor.lease_end import LeaseEnd
    from worker.supervisor.limits import Limits
    from worker.supervisor.secret_orders import Keeper
else:
    import _signal as signal

STDIN, STDOUT, STDERR = 0, 1, 2
APPEND = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW
FILES = (("/prompt.md", os.O_RDONLY), ("/output.jsonl", APPEND), ("/stderr.log", APPEND))
"""An attempt's standard input, output and error: their names in its folder, and how they open."""
PASSING = frozenset(
    {
        errno.EAGAIN,
        errno.ENOMEM,
        errno.EMFILE,
        errno.ENFILE,
        errno.ENOSPC,
        errno.EDQUOT,
        errno.EINTR,
        errno.ETXTBSY,
    }
)
"""Faults of a start that pass: no room on the machine, or a program that is just being replaced."""


def start_agent(
    folder: str,
    argv: list[str],
    environ: "Mapping[bytes, bytes]",
    outputs: "Sequence[int]" = (),
) -> int:
    """Start the agent on its files and return its pid. Raises OSError when it cannot be run."""
    files = FILES[: len(FILES) - len(outputs)]
    return os.posix_spawnp(
        argv[0],
        argv,
        environ,
        file_actions=[
            *(
                (os.POSIX_SPAWN_OPEN, number, folder + name, flags, 0o600)
                for number, (name, flags) in enumerate(files)
            ),
            *(
                (os.POSIX_SPAWN_DUP2, output, number)
                for number, output in enumerate(outputs, len(files))
            ),
        ],
        setsigmask=(),
        setsigdef=(*REQUESTS, signal.SIGPIPE),
        setpgroup=0,
    )


def main(tree: "ModuleType", start: "Start" = start_agent) -> int:
    """Wait for orders on standard input and run one attempt to its end, with a process back end.

    `start` starts the attempt's process. Returns 0 unless the attempt was begun before.
    """
    tree.inherit_orphans()
    fence = tree.fence()
    orders = await_orders(STDIN)
    if orders is None:
        tree.give_up_fence(fence)
        return 0
    receive(WATCHED)
    folder, argv = os.fsdecode(orders.folder), [os.fsdecode(word) for word in orders.argv]
    set_output(folder)
    set_search_path(orders.environ)
    lock = hold_alive_lock(folder)
    attempt = os.fsdecode(orders.environ.get(ATTEMPT_ID.encode(), b""))
    if was_given_up(folder, attempt):
        return 0
    if was_begun(folder, attempt):
        sys.stderr.write("this attempt ran before; nothing is started\n")
        return 1
    own = OwnProcesses(folder, tree, attempt, in_sandbox=is_in_sandbox(orders.environ))
    supervise(folder, orders, argv, own, lock, fence, attempt, start)
    os.close(lock)
    return 0


def set_search_path(environ: "Mapping[bytes, bytes]") -> None:
    """Have an agent's program looked for where its own environment says."""
    os.environb.pop(b"PATH", None)
    if b"PATH" in environ:
        os.environb[b"PATH"] = environ[b"PATH"]


def set_output(folder: str) -> None:
    """Take the attempt's log for our output, and nothing for our input."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, STDIN)
    os.close(nothing)
    try:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW
        log = os.open(folder + "/supervisor.log", flags, 0o600)
    except OSError:
        return  # a full disk: there will be nowhere to say it
    os.dup2(log, STDOUT)
    os.dup2(log, STDERR)
    os.close(log)


def supervise(
    folder: str,
    orders: Orders,
    argv: list[str],
    own: OwnProcesses,
    lock: int,
    fence: str,
    attempt: str,
    start: "Start",
) -> None:
    """Start the agent, wait for its end, end its tree, and say how it went.

    Each record bears the id of the attempt.
    """
    started_at = time.time()
    limits = limits_of(orders, fence, own)  # what is forked from here on has to be in its part
    try:
        keeper = keeper_of(folder, attempt, orders, own, lock, started_at, start)
        gate = gate_of(folder, attempt, orders, own, lock, started_at, keeper)
    except CannotBegin:
        return
    lease = lease_of(orders, folder)
    helpers = [*(gate.pids if gate is not None else ()), *guard_of(lease, own, fence)]
    if helpers and limits is not None:
        limits.leave_out(helpers)
    environ = orders.environ if keeper is None else keeper.environ
    environ = environ if gate is None else {**environ, **gate.variables}
    outputs = () if keeper is None else keeper.relay.writing
    try:
        os.chdir(orders.cwd)
        if own.in_sandbox:
            close_keyrings_for(argv[0])
        begin = start if limits is None else limits.within(start)
        pid = start_when_possible(begin, folder, argv, environ, outputs)
        agent = Agent(pid, counts_all=own.in_sandbox)
    except OSError as error:
        for each in (gate, keeper):
            if each is not None:
                each.give_up()
        failure = failure_of(folder, argv, error, started_at)
        put_in_place(folder, "exit.json", {KEY: attempt, **failure}, lock)
        return
    started: dict[str, object] = {"agent_pid": agent.pid, "started_at": started_at, "fence": fence}
    started[KEY] = attempt
    if gate is not None:
        gate.begun()
    if keeper is not None:
        keeper.begun(agent)
        started["relay_pid"] = agent.helper
    try_to_put_in_place(folder, "started.json", started)
    by_request = wait_for_end(agent, own, keeper, limits, lease)
    ended_at = time.time()
    if limits is not None:
        limits.look_last()
    end_tree(agent, own, LEFTOVER_GRACES)
    if keeper is not None:
        keeper.finish(agent)
    status = agents_status(agent.status) if own.in_sandbox else agent.status
    record = exit_of(status, agent.cpu_seconds, own.kilobytes(agent.peak_memory), by_request)
    for bound in (limits, lease):
        if bound is not None:
            record |= bound.facts()
    times = {"started_at": started_at, "ended_at": ended_at}
    put_in_place(folder, "exit.json", {KEY: attempt, **record, **times}, lock)


def limits_of(orders: Orders, fence: str, own: OwnProcesses) -> "Limits | None":
    """Return the limits of an attempt; None where it has none."""
    if not orders.limits:
        return None
    # Few attempts have any.
    from worker.supervisor.limits import Limits

    return Limits(orders.limits, fence, own)


def lease_of(orders: Orders, folder: str) -> "LeaseEnd | None":
    """Return the end of an attempt's lease; None where that has none."""
    if not orders.lease:
        return None
    # Only in a queue that several hosts may serve there is one.
    from worker.supervisor.lease_end import LeaseEnd

    return LeaseEnd(orders.lease, folder)


def guard_of(lease: "LeaseEnd | None", own: OwnProcesses, fence: str) -> list[int]:
    """Have another process end the agent with its lease too; return its pid, if there is one."""
    if lease is None:
        return []
    from worker.supervisor.lease_guard import fork_guard  # as above

    return fork_guard(lease, own, fence)


def close_keyrings_for(program: str) -> None:
    """Close the kernel's keyrings to an agent in a sandbox, which cannot hide them. Raises OSError.

    A program that makes a clone first does so itself, before it becomes the agent's CLI.
    """
    # Only agents in sandboxes need it.
    from worker.supervisor.keyrings import close_keyrings, is_fence

    if is_fence(program):
        close_keyrings()


class CannotBegin(Exception):
    """An agent was not started; why is on record."""


def keeper_of(
    folder: str,
    attempt: str,
    orders: Orders,
    own: OwnProcesses,
    lock: int,
    started_at: float,
    start: "Start",
) -> "Keeper | None":
    """Return who keeps the agent's secrets, once it has them; None for an agent without any.

    Raises CannotBegin.
    """
    if not orders.secrets:
        return None
    # Few agents have any.
    from worker.supervisor import secret_orders

    record: dict[str, object] = {}
    try:
        return secret_orders.Keeper(folder, attempt, orders, own, lock, start)
    except EndAsked:
        record["by_request"] = True
    except secret_orders.NoSecret as error:
        leave_cause(folder, attempt, secret_orders.CAUSE, error.words, lock)
    except OSError as error:
        record |= failure_of(folder, ["a relay"], error, started_at)
    put_unbegun(folder, attempt, record, lock, started_at)
    raise CannotBegin


def gate_of(
    folder: str,
    attempt: str,
    orders: Orders,
    own: OwnProcesses,
    lock: int,
    started_at: float,
    keeper: "Keeper | None",
) -> "Gate | None":
    """Return the way of an agent to the hosts that it may ask; None for one without a proxy.

    Raises CannotBegin.
    """
    if not orders.proxy:
        return None
    # Few agents have any.
    from worker.supervisor import forwarder, gate

    def note(word: bytes) -> None:
        forwarder.note_refused(folder, attempt, word)

    record: dict[str, object] = {}
    try:
        return gate.Gate(folder + gate.FOLDER, attempt, orders.proxy, own, note, (lock,))
    except EndAsked:
        record["by_request"] = True
    except gate.NoProxy as error:
        leave_cause(folder, attempt, gate.CAUSE, error.words, lock)
    except OSError as error:
        record |= failure_of(folder, ["a proxy"], error, started_at)
    if keeper is not None:
        keeper.give_up()
    put_unbegun(folder, attempt, record, lock, started_at)
    raise CannotBegin


def put_unbegun(
    folder: str, attempt: str, record: dict[str, object], lock: int, started_at: float
) -> None:
    """Put on record that an agent was not started, with what else is known of that."""
    times = {"started_at": started_at, "ended_at": time.time()}
    basis: dict[str, object] = {KEY: attempt, "code": 126, "signal": None}
    put_in_place(folder, "exit.json", {**basis, **record, **times}, lock)


def hold_alive_lock(folder: str) -> int:
    """Lock `alive.lock`; the agent inherits the descriptor, and with it the lock.

    Waits for it: whoever looks whether an attempt lives, or gives it up, holds
    the lock for an instant. What was decided meanwhile is to be read after it.
    """
    fd = os.open(folder + "/alive.lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    fcntl.flock(fd, fcntl.LOCK_EX)
    os.set_inheritable(fd, True)
    return fd


def was_given_up(folder: str, attempt: str) -> bool:
    """Whether we come so late that the attempt was given up, and perhaps run again."""
    if not os.path.isdir(folder):  # noqa: PTH112
        return True
    try:
        return is_void(read_small(folder + "/void"), attempt)
    except FileNotFoundError:
        return False
    except OSError:
        return not is_named(attempt)


def was_begun(folder: str, attempt: str) -> bool:
    """Whether another supervisor has run this attempt before us: it is never run twice."""
    return any(_is_there(f"{folder}/{name}.json", attempt) for name in ("started", "exit"))


def _is_there(path: str, attempt: str) -> bool:
    """Whether a record of this attempt lies there; of an older sow's, anything."""
    if not is_named(attempt):
        return os.path.exists(path)  # noqa: PTH110
    try:
        return bool(record_of(read_small(path), attempt))
    except OSError:
        return False


def start_when_possible(
    start: "Start",
    folder: str,
    argv: list[str],
    environ: "Mapping[bytes, bytes]",
    outputs: "Sequence[int]" = (),
) -> int:
    """Start the agent, again and again while the machine has no room for it; return its pid.

    Raises OSError when it cannot be run, or when its end is asked for before it could be.
    """
    pause = FIRST_RETRY_SECONDS
    while True:
        try:
            return start(folder, argv, environ, outputs)
        except OSError as error:
            if error.errno not in PASSING:
                raise
            say(f"cannot start the agent yet: {error.strerror}")
            if wait_for_signal(REQUESTS, pause) is not None:
                raise
        pause = min(pause * 2, LONGEST_RETRY_SECONDS)


def wait_for_end(
    agent: Agent,
    own: OwnProcesses,
    keeper: "Keeper | None" = None,
    limits: "Limits | None" = None,
    lease: "LeaseEnd | None" = None,
) -> bool:
    """Wait until the agent has ended; return whether its end was asked for.

    One that reaches a limit is ended, and so is one whose lease comes to its end.
    """
    asked = False
    while True:
        agent.reap()
        if agent.status is not None:
            return asked
        if keeper is not None:
            keeper.watch(agent)
        pause = own.seconds_to_next_look()
        if limits is not None:
            pause = limits.pause if pause is None else min(pause, limits.pause)
        if lease is not None:
            if lease.comes():
                lease.end(agent, own)
                continue
            pause = lease.pause if pause is None else min(pause, lease.pause)
        requested = wait_for_signal(WATCHED, pause) in REQUESTS
        own.remember()
        agent.reap()
        if requested and agent.status is None:  # else it had ended before it was asked to
            asked = True
            end_tree(agent, own, GRACES)
        elif limits is not None and agent.status is None and limits.are_reached():
            limits.end(agent)
