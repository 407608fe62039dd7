"""Processes that a fork server forks for us: a small program that has imported what they need.

Owns the server's process: started once, and anew where it has died or was stopped. What it forks is
nobody's child here, so its death takes no other along, and ours none of them: it is known by its
identity, reads its orders from a pipe, and leaves when it gets none. One waits ahead where somebody
has asked for that while there was time (`start`), and where two were given within a moment: the
next is asked for at once then, and the answer read when it is needed. A supervisor that has just
been forked waits some 10 ms for the kernel, until it is in its control group. The server's standard
input is a socket. A request is one byte, together with the descriptor that the new process is to
read; the answer is its pid, or a negative errno, as a line.
"""

import math
import os
import select
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from sow.errors import SowError
from sow.processes import process_facts
from sow.schema.job import ProcessIdentity

REQUEST = b"f"
LONGEST_ANSWER = 64
LOOK_SECONDS = 0.25
"""How often a process that does not answer or read is looked at: it may have been stopped."""
PATIENCE_SECONDS = 30.0
"""How long one that runs may take to answer or read, on a machine that has no time for it."""
LEAVE_SECONDS = 1.0
"""How long one that waits ahead is waited for when it is not wanted any more."""
LEAVE_LOOK_SECONDS = 0.002
PEACE_SECONDS = 0.1
"""For how long a process that was given orders is not disturbed by the forking of another, unless
one was given in so short a time before it: many begin then, and each would wait for its own."""
MOST_SERVERS = 3
"""How many servers in a row may die before a start is given up."""


class NoAnswer(Exception):
    """The server has died, was stopped, or does not answer."""


class ServersDie(SowError):
    """Several servers in a row died, or what they had forked did: something may kill them."""

    passes = True

    def __init__(self, makes: str) -> None:
        super().__init__(
            f"cannot start a {makes}: each one ends before it has begun",
            hint="Check whether something on this machine kills these processes. Then spawn the"
            " task again.",
        )


@dataclass
class Waiting:
    """A process that was forked and waits for its orders."""

    identity: ProcessIdentity
    pipe: int
    """Where it reads its orders. It leaves when this closes without any."""

    def give(self, orders: bytes) -> None:
        """Give it its orders. One that has died meanwhile does nothing.

        Nor does one that was stopped, where they are larger than the pipe: orders that are cut
        off are none.
        """
        os.set_blocking(self.pipe, False)
        room = select.poll()
        room.register(self.pipe, select.POLLOUT)
        view, deadline = memoryview(orders), time.monotonic() + PATIENCE_SECONDS
        with suppress(BrokenPipeError):
            while view:
                try:
                    view = view[os.write(self.pipe, view) :]
                except BlockingIOError:
                    if room.poll(LOOK_SECONDS * 1000):
                        continue
                    if process_facts.is_stopped(self.identity) or time.monotonic() >= deadline:
                        return


class ForkServer:
    """A fork server of ours. For one thread."""

    def __init__(self, argv: Sequence[str], environ: Mapping[str, str], *, makes: str) -> None:
        """Describe the server, which `argv` starts. `makes` names what it forks, for a person."""
        self._argv = [*argv]
        self._environ = environ
        self._makes = makes
        self._process: subprocess.Popen[bytes] | None = None
        self._requests: socket.socket | None = None
        self._ahead: Waiting | None = None
        self._asked: int | None = None
        """Where the next process is to read its orders, which the server has not answered for."""
        self._given_at = -math.inf

    @contextmanager
    def forked(self) -> Iterator[Waiting]:
        """Give the process that waits ahead, or fork one; without orders it leaves after the block.

        Raises SowError when none can be started; ServersDie where they begin, and end at once.
        """
        waiting = self._take_ahead() or self._fork()
        try:
            yield waiting
        finally:
            os.close(waiting.pipe)
            before, self._given_at = self._given_at, time.monotonic()
            if self._given_at - before < PEACE_SECONDS:
                self._ask_ahead()

    def start(self) -> None:
        """Start the server where none runs, and have a process wait ahead. Raises SowError."""
        self._start_where_none_runs()  # a new one: what the last one has forked goes with it
        self._ahead = self._ahead or self._take_asked() or self._fork()

    @property
    def is_running(self) -> bool:
        """Whether there is a server, so that a process of it costs no start of one."""
        return self._process is not None and self._process.poll() is None

    def start_in_peace(self) -> float:
        """Do as `start`, but not while the process begins that was given last.

        Two cores have no time for both. Returns after how many seconds it is due; infinite once
        one waits ahead. Raises SowError.
        """
        left = self._given_at + PEACE_SECONDS - time.monotonic()
        if left > 0:
            return left
        self.start()
        return math.inf

    def close(self) -> None:
        """End the server. What it has forked goes on; what has no orders gets them or leaves."""
        waiting, self._ahead = self._ahead or self._take_asked(), None  # never both
        if waiting is not None:
            self._dismiss(waiting)
        if self._requests is not None:
            self._requests.close()
            self._requests = None
        if self._process is not None:
            self._process.kill()  # it holds nothing, and one that was stopped would not leave
            self._process.wait()
            self._process = None

    def _take_ahead(self) -> Waiting | None:
        """Return the process that waits ahead, if there is one that goes on."""
        waiting, self._ahead = self._ahead or self._take_asked(), None
        if waiting is not None and not process_facts.goes_on(waiting.identity):
            os.close(waiting.pipe)
            return None
        return waiting

    def _ask_ahead(self) -> None:
        """Ask for a process that is to wait ahead; nobody waits for the answer.

        Where that cannot be, the next start tells why.
        """
        runs = self._process is not None and self._process.poll() is None
        if not runs or self._ahead is not None or self._asked is not None:
            return
        with suppress(OSError):
            reading, writing = os.pipe()
            try:
                self._send(reading)
                self._asked = writing
            except OSError:
                os.close(writing)
            finally:
                os.close(reading)

    def _take_asked(self) -> Waiting | None:
        """Return the process that was asked for ahead; None for none, or where there is none."""
        pipe, self._asked = self._asked, None
        if pipe is None:
            return None
        try:
            number = self._answer()
            identity = process_facts.identify(number) if number > 0 else None
        except (NoAnswer, OSError):
            identity = None
            self.close()  # so that nobody takes a late answer for that to another question
        if identity is None:
            os.close(pipe)
            return None
        return Waiting(identity, pipe)

    def _dismiss(self, waiting: Waiting) -> None:
        """Have a process leave, and wait for that: whoever comes after us finds nothing of it."""
        os.close(waiting.pipe)
        deadline = time.monotonic() + LEAVE_SECONDS
        while process_facts.goes_on(waiting.identity) and time.monotonic() < deadline:
            time.sleep(LEAVE_LOOK_SECONDS)

    def _fork(self) -> Waiting:
        """Have a process forked. Raises SowError."""
        for _ in range(MOST_SERVERS):
            waiting = self._try_to_fork()
            if waiting is not None:
                return waiting
        raise ServersDie(self._makes)

    def _try_to_fork(self) -> Waiting | None:
        """Have a process forked; None where the server or the process has died. Raises SowError.

        Each try has a pipe of its own. A server that dies before it answers may have forked a
        process that nobody knows: it gets no orders, and leaves.
        """
        self._start_where_none_runs()
        reading, writing = os.pipe()
        try:
            identity = self._fork_reader(reading)
        except BaseException:
            os.close(writing)
            raise
        finally:
            os.close(reading)
        if identity is None:
            os.close(writing)
            return None
        return Waiting(identity, writing)

    def _start_where_none_runs(self) -> None:
        if self._process is not None and self._process.poll() is not None:
            self.close()
        if self._process is None:
            self._start()

    def _fork_reader(self, reading: int) -> ProcessIdentity | None:
        """Have a process forked that reads there; None where the server or the process has died.

        Raises SowError.
        """
        try:
            number = self._ask(reading)
        except (NoAnswer, OSError):
            self.close()
            return None
        if number < 0:
            error = OSError(-number, os.strerror(-number))
            raise self._cannot_start(error) from error
        return process_facts.identify(number)

    def _ask(self, reading: int) -> int:
        """Return the server's answer: a pid, or a negative errno. Raises NoAnswer and OSError."""
        self._send(reading)
        return self._answer()

    def _send(self, reading: int) -> None:
        """Have a process forked that reads there. Raises OSError."""
        assert self._requests is not None  # noqa: S101 - it was just started
        socket.send_fds(self._requests, [REQUEST], [reading])

    def _answer(self) -> int:
        requests = self._requests
        assert requests is not None  # noqa: S101 - it was just asked
        answer, deadline = b"", time.monotonic() + PATIENCE_SECONDS
        while not answer.endswith(b"\n"):
            try:
                data = requests.recv(LONGEST_ANSWER)
            except TimeoutError:
                if self._is_stopped() or time.monotonic() >= deadline:
                    raise NoAnswer from None
                continue
            if not data:
                raise NoAnswer
            answer += data
        return int(answer)

    def _is_stopped(self) -> bool:
        assert self._process is not None  # noqa: S101 - it was just asked
        identity = process_facts.identify(self._process.pid)
        return identity is None or process_facts.is_stopped(identity)

    def _start(self) -> None:
        try:
            ours, theirs = socket.socketpair()
        except OSError as error:
            raise self._cannot_start(error) from error
        with theirs:
            try:
                self._process = subprocess.Popen(
                    self._argv,
                    env=self._environ,
                    stdin=theirs.fileno(),
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,
                )
            except OSError as error:
                ours.close()
                raise self._cannot_start(error) from error
        ours.settimeout(LOOK_SECONDS)
        self._requests = ours

    def _cannot_start(self, error: OSError) -> SowError:
        return SowError(
            f"cannot start a {self._makes} with {self._argv[0]}: {error.strerror}",
            hint="Check that this Python still exists and that the system can start more"
            " processes. Then spawn the task again.",
        )
