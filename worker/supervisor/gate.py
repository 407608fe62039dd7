"""The way of an agent, or a command line, with `network: allow`: a proxy, and what leads to it.

The proxy is tinyproxy, in a sandbox of its own, for it reads what the agent sends: it sees the
system, its folder and the network. It listens on this machine's loopback and asks for a password
that only this attempt has, so nobody else uses it. The forwarder carries bytes to it from the
loopback of the agent's sandbox, which leads nowhere else. Both are children of the supervisor, or
of the step that runs a command line, and belong to its tree: they end with it, and the kernel kills
them with their parent.

Where the proxy does not start, the agent does not either.

Owns the form of these orders (a text each: how many hosts, hosts, argv), and the steps. Only
supervisors of such agents import it, steps with such command lines, and the worker, which packs the
orders.
"""

import _socket as socket
import os
import select
import time

from sow import env_vars
from sow.sandbox.proxy_settings import (
    FILTER,
    HERE,
    READY,
    SETTINGS,
    filter_text,
    settings_text,
    variables_inside,
)
from worker.supervisor.agent_process import REQUESTS, Agent, EndAsked
from worker.supervisor.exit_file import say, write_new
from worker.supervisor.fenced_start import start_fenced
from worker.supervisor.forwarder import become_forwarder
from worker.supervisor.tree_ending import LEFTOVER_GRACES, end_tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from collections.abc import Callable, Sequence

    from worker.supervisor.own_processes import OwnProcesses
else:
    import _signal as signal

FOLDER = "/proxy"
"""That of an agent's proxy, in the attempt's."""
CAUSE = "sandbox_failed"
"""The cause of a start without a proxy (`sow.schema.causes`)."""
PASSWORD_BYTES = 24
START_SECONDS = 30.0
LOOK_SECONDS = 0.05
"""How often it is looked meanwhile whether the attempt's end is asked for."""
MOST_STARTS = 5
"""So often another port is tried: somebody may take ours in between."""
TAKEN = "listening sockets"
"""What it says where it cannot listen on its port."""
REMEDY = (
    "Install it again (Debian, Ubuntu: apt-get install --reinstall tinyproxy-bin);"
    " `sow doctor` says whether sandboxes work here."
)
MOST_BYTES = 65_536
LONGEST_WORDS = 300
PATH = b"/usr/local/bin:/usr/bin:/bin"


class NoProxy(Exception):
    """A proxy cannot be started; `how` says why, `words` that and what to do."""

    def __init__(self, how: str) -> None:
        super().__init__(how)
        self.how = how
        self.words = f"the proxy of network: allow cannot be started: {how}\n{REMEDY}"


def pack_proxy(hosts: "Sequence[str]", argv: "Sequence[str]") -> list[str]:
    """Return the fields of such orders."""
    return [str(len(hosts)), *hosts, *argv]


class Gate:
    """The way of one agent to the hosts that it may ask."""

    def __init__(
        self,
        place: str,
        attempt: str,
        fields: "Sequence[bytes]",
        own: "OwnProcesses",
        note: "Callable[[bytes], None]",
        locks: "Sequence[int]" = (),
    ) -> None:
        """Start the proxy and the forwarder. Raises NoProxy, EndAsked, OSError.

        `place` is the proxy's folder, which is made, `note` is the forwarder's, and is told of
        refused hosts; `locks` are descriptors that the forwarder keeps open.
        """
        end = 1 + int(fields[0])
        hosts = [os.fsdecode(host) for host in fields[1:end]]
        self._attempt, self._own, self._locks = attempt, own, locks
        self._note = note
        self._place = place
        self.pids: list[int] = []
        """The proxy's, and the forwarder's."""
        password = os.urandom(PASSWORD_BYTES).hex()
        os.mkdir(self._place, 0o700)  # noqa: PTH102
        write_new(f"{self._place}/{FILTER}", filter_text(hosts).encode())
        ours, self._door = socket.socketpair()
        try:
            log, port = self._start_proxy(fields[end:], password)
            variables = variables_inside(hosts, password).items()
            data = b"".join(f"{name}={value}\0".encode() for name, value in variables)
            self._fork_forwarder(ours, log, port, data)
        except BaseException:
            self.give_up()
            raise
        ours.close()
        os.close(log)
        os.set_inheritable(self._door.fileno(), True)
        self.variables = {env_vars.DOOR.encode(): b"%d" % self._door.fileno()}
        """What the agent's environment has for its door."""

    def begun(self) -> None:
        """Leave the door to the agent; it has begun."""
        self._door.close()

    def give_up(self) -> None:
        """End the proxy and the forwarder: there is no agent."""
        self._door.close()
        end_tree(Agent(0), self._own, LEFTOVER_GRACES)

    def _start_proxy(self, argv: "Sequence[bytes]", password: str) -> tuple[int, int]:
        """Start the proxy; return its log, and its port. Raises NoProxy, EndAsked, OSError."""
        how = ""
        for _ in range(MOST_STARTS):
            with_port = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
            with_port.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            with_port.bind((HERE, 0))
            _, port = with_port.getsockname()
            write_new(f"{self._place}/{SETTINGS}", settings_text(port, password).encode())
            log, agent = self._spawn(argv)
            try:
                how = await_ready(log)
            finally:
                with_port.close()
            if not how:
                self.pids.append(agent.pid)
                return log, port
            os.close(log)
            end_tree(agent, self._own, LEFTOVER_GRACES)
            if TAKEN not in how:
                break
            say(f"the proxy has ended: {how}")
        raise NoProxy(how)

    def _fork_forwarder(self, door: socket.socket, log: int, port: int, data: bytes) -> None:
        parent = os.getpid()

        def stay_with() -> None:
            self._own.tree.end_with_parent()
            if os.getppid() != parent:
                os._exit(1)

        pid = os.fork()
        if pid == 0:
            become_forwarder(door, log, self._locks, port, data, self._note, stay_with)
        self.pids.append(pid)

    def _spawn(self, argv: "Sequence[bytes]") -> tuple[int, Agent]:
        log, writing = os.pipe()
        nothing = os.open(os.devnull, os.O_RDONLY)
        environ = {b"PATH": PATH, env_vars.ATTEMPT_ID.encode(): self._attempt.encode()}
        try:
            return log, Agent(start_fenced(argv, environ, (nothing, writing, writing)))
        except OSError:
            os.close(log)
            raise
        finally:
            os.close(nothing)
            os.close(writing)


def await_ready(log: int) -> str:
    """Wait until a proxy says that it listens; return why not where it ends before.

    Raises NoProxy where it says neither for too long, EndAsked.
    """
    poller = select.poll()
    poller.register(log, select.POLLIN)
    deadline = time.monotonic() + START_SECONDS
    text = b""
    while READY not in text:
        if REQUESTS & signal.sigpending():
            raise EndAsked
        if time.monotonic() >= deadline or len(text) > MOST_BYTES:
            raise NoProxy(f"it does not listen after {START_SECONDS:.0f} s")
        if not poller.poll(LOOK_SECONDS * 1000):
            continue
        part = os.read(log, MOST_BYTES)
        if not part:
            words = text.decode("utf-8", "replace").split("\n")
            return next((line for line in reversed(words) if line), "it ended")[:LONGEST_WORDS]
        text += part
    return ""
