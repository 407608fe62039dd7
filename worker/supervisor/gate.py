"""What a supervisor does for an agent with `network: allow`: a proxy, and the one way to it.

The proxy is tinyproxy, in a sandbox of its own, for it reads what the agent sends: it sees the
system, its folder and the network. It listens on this machine's loopback and asks for a password
that only this attempt has, so nobody else uses it. The forwarder carries bytes to it from the
loopback of the agent's sandbox, which leads nowhere else. Both are children of the supervisor and
belong to the agent's tree: they end with it, and the kernel kills them with the supervisor.

Where the proxy does not start, the agent does not either.

Owns the form of these orders (a text each: how many hosts, hosts, argv), and the steps. Only
supervisors of such agents import it, and the worker, which packs the orders.
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
from worker.supervisor.forwarder import become_forwarder, note_refused
from worker.supervisor.tree_ending import LEFTOVER_GRACES, end_tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from collections.abc import Sequence

    from worker.supervisor.own_processes import OwnProcesses
else:
    import _signal as signal

FOLDER = "/proxy"
"""The proxy's own, in the attempt's."""
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
MOST_BYTES = 65_536
LONGEST_WORDS = 300
PATH = b"/usr/local/bin:/usr/bin:/bin"


class NoProxy(Exception):
    """A proxy cannot be started; `words` say why, and what to do."""

    def __init__(self, how: str) -> None:
        super().__init__(how)
        self.words = (
            f"the proxy of network: allow cannot be started: {how}\n"
            "Install it again (Debian, Ubuntu: apt-get install --reinstall tinyproxy-bin);"
            " `sow doctor` says whether sandboxes work here."
        )


def pack_proxy(hosts: "Sequence[str]", argv: "Sequence[str]") -> list[str]:
    """Return the fields of such orders."""
    return [str(len(hosts)), *hosts, *argv]


class Gate:
    """The way of one agent to the hosts that it may ask."""

    def __init__(
        self, folder: str, attempt: str, fields: "Sequence[bytes]", own: "OwnProcesses", lock: int
    ) -> None:
        """Start the proxy and the forwarder. Raises NoProxy, EndAsked, OSError."""
        end = 1 + int(fields[0])
        hosts = [os.fsdecode(host) for host in fields[1:end]]
        self._folder, self._attempt, self._own, self._lock = folder, attempt, own, lock
        self._place = folder + FOLDER
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
                return log, port
            os.close(log)
            end_tree(agent, self._own, LEFTOVER_GRACES)
            if TAKEN not in how:
                break
            say(f"the proxy has ended: {how}")
        raise NoProxy(how)

    def _fork_forwarder(self, door: socket.socket, log: int, port: int, data: bytes) -> None:
        supervisor = os.getpid()

        def note(word: bytes) -> None:
            note_refused(self._folder, self._attempt, word)

        def stay_with() -> None:
            self._own.tree.end_with_parent()
            if os.getppid() != supervisor:
                os._exit(1)

        if os.fork() == 0:
            become_forwarder(door, log, self._lock, port, data, note, stay_with)

    def _spawn(self, argv: "Sequence[bytes]") -> tuple[int, Agent]:
        log, writing = os.pipe()
        try:
            pid = os.posix_spawn(
                argv[0],
                [*argv],
                {b"PATH": PATH, env_vars.ATTEMPT_ID.encode(): self._attempt.encode()},
                file_actions=[
                    (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                    (os.POSIX_SPAWN_DUP2, writing, 1),
                    (os.POSIX_SPAWN_DUP2, writing, 2),
                ],
                setsigmask=(),
                setsigdef=(*REQUESTS, signal.SIGPIPE),
                setpgroup=0,
            )
        except OSError:
            os.close(log)
            raise
        finally:
            os.close(writing)
        return log, Agent(pid)


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
