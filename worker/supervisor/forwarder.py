"""The forwarder: a process that carries bytes between a sandbox's loopback and the attempt's proxy.

A supervisor forks it before an agent with `network: allow`, and a step before such a command line.
Through its door it gets a socket that listens inside of the sandbox, and answers with the variables
that name the proxy. From then on it accepts connections there and carries their bytes to the proxy,
which alone decides where they go. It also reads the proxy's log, and notes once each host that was
refused.

It has nothing of the agent's but bytes, which it does not look at. The kernel kills it with its
parent. SIGTERM has it read the rest of the log and leave: what was refused before the agent's
end is known. Where the proxy ends first, it notes that and leaves too, so that connections fail at
once. Owns the process and its promise. Only who has such an agent or command line imports it.
"""

import _socket as socket
import os
import select
import sys
import time

from sow.blanking import LOST, open_output, write_all
from sow.sandbox.proxy_settings import HERE, refused_host
from worker.supervisor.agent_process import wake_on_request

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from typing import NoReturn

RECORD = "/refused"
"""The file in an attempt's folder that names the hosts that its agent was refused."""
MOST_HOSTS = 100
"""How many of them are noted."""
MOST_CONNECTIONS = 200
READ_BYTES = 65_536
DESCRIPTOR_BYTES = 4
LONGEST_LINE = 65_536
ASKED_SECONDS = 1.0
"""How long after the end of its proxy it may be asked to end: both are ended together."""
PAUSE_SECONDS = 0.05
"""How long it waits where the system has no room for another connection."""


class ProxyLog:
    """What the proxy says, and the note of the hosts that it has refused."""

    def __init__(self, reading: int, note: "Callable[[bytes], None]") -> None:
        """`note` is told each refused host once, but for more than `MOST_HOSTS`."""
        os.set_blocking(reading, False)
        self.reading = reading
        self._note = note
        self._held = b""
        self._refused: set[str] = set()

    def take(self) -> bool:
        """Read what there is; return False once the proxy has ended."""
        try:
            while data := os.read(self.reading, READ_BYTES):
                *lines, self._held = (self._held + data).split(b"\n")
                self._held = self._held[-LONGEST_LINE:]
                for line in lines:
                    self._look_at(line)
        except BlockingIOError:
            return True
        return False

    def _look_at(self, line: bytes) -> None:
        host = refused_host(line)
        if host is None or host in self._refused or len(self._refused) >= MOST_HOSTS:
            return
        self._refused.add(host)
        self._note(host.encode())


class Way:
    """One direction of a connection."""

    def __init__(self, source: socket.socket, target: socket.socket) -> None:
        self.source, self.target = source, target
        self.has_ended = False
        self._data = b""

    @property
    def awaited(self) -> tuple[int, int]:
        """What it waits for: a descriptor, and poll(2)'s event."""
        if self._data:
            return self.target.fileno(), select.POLLOUT
        return self.source.fileno(), select.POLLIN

    def go_on(self) -> None:
        """Carry what can be carried now. Raises OSError where the connection is broken."""
        try:
            if not self._data:
                self._data = self.source.recv(READ_BYTES)
                if not self._data:
                    self.has_ended = True
                    self.target.shutdown(socket.SHUT_WR)
                    return
            self._data = self._data[self.target.send(self._data) :]
        except BlockingIOError:
            return


class Connection:
    """A connection from inside, and its other half to the proxy."""

    def __init__(self, client: socket.socket, server: socket.socket) -> None:
        self._sockets = (client, server)
        self._ways = [Way(client, server), Way(server, client)]

    @property
    def awaited(self) -> list[tuple[int, int]]:
        """What its ways wait for."""
        return [way.awaited for way in self._ways]

    def go_on(self, ready: "Collection[int]") -> bool:
        """Carry bytes where a descriptor is ready; return False once the connection is over."""
        try:
            for way in self._ways:
                if way.awaited[0] in ready:
                    way.go_on()
        except OSError:
            self._ways = []
        self._ways = [way for way in self._ways if not way.has_ended]
        if not self._ways:
            for each in self._sockets:
                each.close()
        return bool(self._ways)


def forward(listener: socket.socket, port: int, log: ProxyLog, wake: int) -> bool:
    """Carry bytes until somebody asks us to leave; return False where the proxy ends before."""
    listener.setblocking(False)
    connections: list[Connection] = []
    while True:
        awaited = [(wake, select.POLLIN), (log.reading, select.POLLIN)]
        if len(connections) < MOST_CONNECTIONS:
            awaited.append((listener.fileno(), select.POLLIN))
        ready = ready_of(awaited + [each for some in connections for each in some.awaited])
        if not log.take():
            return bool(ready_of([(wake, select.POLLIN)], ASKED_SECONDS))
        if wake in ready:
            return True
        connections = [each for each in connections if each.go_on(ready)]
        if listener.fileno() in ready and (new := connection_from(listener, port)) is not None:
            connections.append(new)


def ready_of(awaited: list[tuple[int, int]], seconds: float | None = None) -> set[int]:
    """Wait for one of these events, of descriptors; return the descriptors."""
    events: dict[int, int] = {}
    for descriptor, event in awaited:
        events[descriptor] = events.get(descriptor, 0) | event
    poller = select.poll()
    for descriptor, event in events.items():
        poller.register(descriptor, event)
    return {number for number, _ in poller.poll(None if seconds is None else seconds * 1000)}


def connection_from(listener: socket.socket, port: int) -> Connection | None:
    """Return the next connection; None where there is none, or no room for it."""
    try:
        number, _ = listener._accept()  # type: ignore[attr-defined] # as `socket` does
    except BlockingIOError:
        return None
    except OSError:
        time.sleep(PAUSE_SECONDS)
        return None
    client = socket.socket(fileno=number)
    try:
        server = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    except OSError:
        client.close()
        return None
    for each in (client, server):
        each.setblocking(False)
    server.connect_ex((HERE, port))  # a refusal is found when bytes are carried
    return Connection(client, server)


def listener_through(door: socket.socket, variables: bytes, wake: int) -> socket.socket | None:
    """Return the socket that listens inside, once its door is open; None where that never is."""
    if wake in ready_of([(wake, select.POLLIN), (door.fileno(), select.POLLIN)]):
        return None
    _, carried, _, _ = door.recvmsg(1, socket.CMSG_LEN(DESCRIPTOR_BYTES))
    if not carried:
        return None
    ((_, _, descriptor),) = carried
    listener = socket.socket(fileno=int.from_bytes(descriptor, sys.byteorder))
    door.sendall(variables)
    door.close()
    return listener


def note_refused(folder: str, attempt: str, word: bytes) -> None:
    """Put on record a host that was refused; where that cannot be written, nothing is said."""
    try:
        descriptor = open_output(folder + RECORD)
    except OSError:
        return
    write_all(descriptor, attempt.encode() + b" " + word + b"\n")
    os.close(descriptor)


def keep_only(*descriptors: int) -> None:
    """Close what a process just forked has open besides these and its standard streams."""
    begin = 3
    for kept in sorted(descriptors):
        os.closerange(begin, kept)
        begin = kept + 1
    os.closerange(begin, os.sysconf("SC_OPEN_MAX"))


def become_forwarder(
    door: socket.socket,
    log: int,
    locks: "Sequence[int]",
    port: int,
    variables: bytes,
    note: "Callable[[bytes], None]",
    stay_with: "Callable[[], None]",
) -> "NoReturn":
    """Be the forwarder, and end with it. `stay_with` has the system end us with our parent.

    `locks` are descriptors that it keeps.
    """
    code = 1
    try:
        keep_only(door.fileno(), log, *locks)
        stay_with()
        wake = wake_on_request()
        listener = listener_through(door, variables, wake)
        if listener is not None and not forward(listener, port, ProxyLog(log, note), wake):
            note(LOST)
        code = 0
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        os._exit(code)
