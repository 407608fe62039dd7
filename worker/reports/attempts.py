"""What the process that takes reports holds of one attempt: its socket, and who has spoken to it.

Owns the bounds on what an agent may cost: so many connections, so many bytes, so many reports at
once, and no waiting for anybody. A connection that says nothing, too much or nonsense is closed;
where too many are open the oldest goes. Nothing here ever blocks.
"""

import os
import socket
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from sow.paths import AttemptPaths
from sow.report_message import (
    KEPT_SUFFIX,
    MOST_BYTES,
    SOCKET,
    BadMessage,
    Report,
    length_of,
    unpack_report,
)
from worker.reports.server_messages import ServedAttempt

BACKLOG = 64
MOST_CONNECTIONS = 16
"""How many may be about to send a report."""
MOST_HELD_BYTES = 2 * MOST_BYTES
"""How much of what was not sent to its end is held. Nothing more is read while whole reports have
as much."""
MOST_WAITING = 16
"""How many whole reports may wait; then nothing more is read."""
MOST_AT_ONCE = 4
MOST_ACCEPTED = 32
"""How many connections one look takes: the others' turn comes then."""
SEND_SECONDS = 10.0
"""How long a report may take to come."""
CHUNK_BYTES = 1 << 18
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
MOST_LOOKED_AT = 64
"""Where more lies in the folder, something may have been kept."""
SETTLED_SECONDS = 0.05
"""After how long a folder's time of change tells all changes: the kernel's clock has ticked."""


@dataclass
class Connection:
    """A client that is about to send a report."""

    socket: socket.socket
    deadline: float
    data: bytearray = field(default_factory=bytearray)


@dataclass
class Received:
    """A whole report, and who waits for its answer."""

    report: Report
    socket: socket.socket
    size: int
    tries: int = 0


class Attempt:
    """One attempt whose agent reports."""

    def __init__(self, served: ServedAttempt) -> None:
        self.served = served
        self.paths = AttemptPaths(Path(served.folder))
        self.listener: socket.socket | None = None
        self.connections: dict[int, Connection] = {}
        self.waiting: deque[Received] = deque()
        self.running: dict[int, Received] = {}
        """The reports that are carried out, by the pids of their processes."""
        self.emptying: int | None = None
        """The pid of the process that carries out what was kept."""
        self.emptying_since = 0.0
        """When it began; on the monotonic clock."""
        self.failures = 0
        """How often in a row that process was killed."""
        self.finish_by: float | None = None
        """When its agent has ended: until when what was received is carried out."""
        self.is_last = False
        """Whether what was kept is carried out for the last time."""
        self.fault = ""
        self.waited = 0
        """How many reports waited when that process was started. What is kept meanwhile may come
        before one that is sent meanwhile."""
        self.passing = 0
        """How many of the reports that wait have had what was kept carried out before them."""
        self.is_due = True
        """Whether what was kept is to be carried out before anything else."""
        self.empty_after = 0.0
        """When that may be tried again; likewise."""
        self.look_after = 0.0
        """When to look again at what lies in the folder and cannot be carried out; likewise."""
        self._seen = -1

    def listen(self) -> None:
        """Listen in the attempt's folder. Raises OSError where something keeps us from that.

        The folder is the agent's own. What lies in the socket's place goes; a folder stays there.
        """
        folder = os.open(self.paths.report_folder, FOLDER)
        try:
            with suppress(FileNotFoundError):
                os.unlink(SOCKET, dir_fd=folder)
            listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                listener.bind(f"/proc/self/fd/{folder}/{SOCKET}")
                listener.listen(BACKLOG)
                listener.setblocking(False)
            except OSError:
                listener.close()
                raise
        finally:
            os.close(folder)
        self.listener = listener

    def close(self) -> None:
        """Listen no longer, and let go of who has not sent a whole report."""
        if self.listener is not None:
            self.listener.close()
            self.listener = None
        for connection in self.connections.values():
            connection.socket.close()
        self.connections.clear()

    @property
    def reads(self) -> bool:
        """Whether more reports are taken in now."""
        if self.listener is None or len(self.waiting) >= MOST_WAITING:
            return False
        held = sum(each.size for each in (*self.waiting, *self.running.values()))
        return held < MOST_HELD_BYTES

    def take_in(self, ready: set[int]) -> None:
        """Read from those who have sent something, and from those who want to speak."""
        for descriptor in [*ready.intersection(self.connections)]:
            self.read(descriptor)
        if self.listener is None or self.listener.fileno() not in ready:
            return
        for _ in range(MOST_ACCEPTED):
            if not self.reads or (accepted := self.accept()) is None:
                return
            self.read(accepted)  # most have sent all by now: so none of these makes room for others

    def accept(self) -> int | None:
        """Take in who wants to speak, if anybody does; the oldest goes where there are too many."""
        try:
            client, _ = self.listener.accept()  # type: ignore[union-attr]
        except OSError:  # nobody is left, or has gone, or we may open no more
            return None
        client.setblocking(False)
        if len(self.connections) >= MOST_CONNECTIONS:
            self._drop(next(iter(self.connections)))
        deadline = time.monotonic() + SEND_SECONDS
        self.connections[client.fileno()] = Connection(client, deadline)
        return client.fileno()

    def read(self, descriptor: int) -> None:
        """Read on from a client; a whole report waits to be carried out.

        Where no more is taken in, or where the client had to go for another one's sake, nothing.
        """
        connection = self.connections.get(descriptor)
        if connection is None or not self.reads:
            return
        try:
            piece = connection.socket.recv(CHUNK_BYTES)
            connection.data += piece
            size = length_of(connection.data)
            if not piece or (size is not None and len(connection.data) > size):
                raise BadMessage("cut off, or longer than it says")
            if size is None or len(connection.data) < size:
                self._hold_less()
                return
            report = unpack_report(connection.data)
        except BlockingIOError:
            return
        except (OSError, BadMessage):
            self._drop(descriptor)
            return
        del self.connections[descriptor]
        self.waiting.append(Received(report, connection.socket, size))

    def drop_late(self, now: float) -> None:
        """Let go of those who take too long."""
        for descriptor, connection in [*self.connections.items()]:
            if connection.deadline <= now:
                self._drop(descriptor)

    def _hold_less(self) -> None:
        while sum(len(each.data) for each in self.connections.values()) > MOST_HELD_BYTES:
            self._drop(next(iter(self.connections)))

    def _drop(self, descriptor: int) -> None:
        self.connections.pop(descriptor).socket.close()

    def give_up_waiting(self) -> None:
        """Let go of the reports that wait."""
        while self.waiting:
            self.waiting.popleft().socket.close()

    def has_kept(self) -> bool:
        """Whether a report may lie in the folder.

        Nothing has come where the folder has not changed since the last look that found none.
        """
        try:
            changed = self.paths.report_folder.stat(follow_symlinks=False).st_mtime_ns
            if changed == self._seen:
                return False
            with os.scandir(self.paths.report_folder) as entries:
                names = [entry.name for entry in islice(entries, MOST_LOOKED_AT)]
        except OSError:
            return False
        if len(names) == MOST_LOOKED_AT or any(name.endswith(KEPT_SUFFIX) for name in names):
            return time.monotonic() >= self.look_after or bool(self.waiting)
        if time.time_ns() - changed > SETTLED_SECONDS * 1e9:
            self._seen = changed
        return False
