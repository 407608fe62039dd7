"""The relay: a process that writes an agent's output to its files, with the names of secrets.

An agent that was given secrets has pipes for its output. Its supervisor forks a relay before it,
which has the secrets in memory and nowhere else. It outlives the supervisor, as the agent does, and
ends when nobody can write any more. It holds the attempt's lock: an attempt whose output is not
written has not ended. SIGTERM has it take what is in the pipes and leave.

A relay that was killed is replaced as long as the supervisor lives, which keeps the pipes open.
What it had read and not written is lost; a line that this may have cut in a secret goes too. What
cannot be written (a full disk) is lost as well: the agent is never held up by it.

Owns the process and its promise. Only supervisors of such agents import it.
"""

import mmap
import os
import select
import sys
import time

from sow.blanking import LOST, Blanker, note_blanked, open_output, write_all
from worker.supervisor.agent_process import CHILD_ENDED, Agent, wait_for_signal, wake_on_request
from worker.supervisor.exit_file import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from collections.abc import Mapping
    from typing import NoReturn
else:
    import _signal as signal

READ_BYTES = 65_536
MOST_DRAINED_BYTES = 1 << 22
"""How much is taken of each pipe at the end: what wrote it has ended, or will not be waited for."""
END_SECONDS = 2.0
"""How long a relay may go on once the agent's tree has ended: only a stranger holds the pipe."""
DRAIN_SECONDS = 10.0
MOST_RELAYS = 20
"""How many relays of one attempt may be killed before their pipes are given up."""
DONE, LEFT = 0, 3
"""How a relay ends: nobody can write any more, or it was asked to leave."""


class Relay:
    """The relay of one attempt, as its supervisor sees it."""

    def __init__(
        self, folder: str, attempt: str, values: "Mapping[bytes, bytes]", outputs: tuple[str, str]
    ) -> None:
        """Open pipes and files. `outputs` are the files' names. Raises OSError."""
        self._folder, self._attempt, self._values = folder, attempt, values
        self._targets = [open_output(folder + name) for name in outputs]
        pipes = [os.pipe(), os.pipe()]
        self._reading = [reading for reading, _ in pipes]
        self.writing = [writing for _, writing in pipes]
        """What the agent has for its standard output and error."""
        self._busy = mmap.mmap(-1, len(pipes))
        """A byte for each pipe, shared with the relay: whether it has read what it has not written.
        """
        self._started = 0
        self.pid = 0

    def start(self) -> None:
        """Fork the relay. Raises OSError."""
        self._started += 1
        self.pid = os.fork()
        if self.pid == 0:
            self._become()

    def begun(self) -> None:
        """Close what the agent writes to: it has it now."""
        for writing in self.writing:
            os.close(writing)
        self.writing = []

    def replace(self, agent: Agent) -> None:
        """Fork another relay where it was killed, and have the agent's supervisor know its pid.

        An agent that has closed its output needs none.
        """
        if agent.helper_status is None or not self._reading:
            return
        if agent.helper_status == DONE:
            self.pid = agent.helper = 0
            return
        say("the relay was killed; another one takes its place")
        if any(self._busy):
            note_blanked(self._folder, self._attempt, LOST)
        agent.helper_status = None
        try:
            if self._started >= MOST_RELAYS:
                raise OSError(0, f"{MOST_RELAYS} of them were killed")
            self.start()
        except OSError as error:
            say(f"no relay can be started any more: {error.strerror}")
            for reading in self._reading:  # what the agent writes from now on fails
                os.close(reading)
            self._reading = []
            self.pid = 0
        agent.helper = self.pid

    def finish(self, agent: Agent) -> None:
        """Wait until all output is written; the agent's tree has ended."""
        seconds = END_SECONDS
        while self._reading:
            if not self._await_end(agent, seconds):
                os.kill(self.pid, signal.SIGTERM)  # a child of ours: the pid is its own
                if not self._await_end(agent, DRAIN_SECONDS):
                    os.kill(self.pid, signal.SIGKILL)
                    self._await_end(agent, DRAIN_SECONDS)
                    note_blanked(self._folder, self._attempt, LOST)
                    return
            if os.waitstatus_to_exitcode(agent.helper_status or DONE) in (DONE, LEFT):
                return
            self.replace(agent)

    def _await_end(self, agent: Agent, seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        agent.reap()
        while agent.helper_status is None and (left := deadline - time.monotonic()) > 0:
            wait_for_signal(CHILD_ENDED, left)
            agent.reap()
        return agent.helper_status is not None

    def _become(self) -> "NoReturn":
        """Be the relay, and end with it."""
        code = 1
        try:
            wake = wake_on_request()
            for writing in self.writing:
                os.close(writing)
            streams = [
                Stream(reading, target, self._blanker(), self._busy, place)
                for place, (reading, target) in enumerate(
                    zip(self._reading, self._targets, strict=True)
                )
            ]
            code = DONE if relay(streams, wake) else LEFT
        except BaseException:
            sys.excepthook(*sys.exc_info())
        finally:
            os._exit(code)

    def _blanker(self) -> Blanker:
        return Blanker(self._values, lambda name: note_blanked(self._folder, self._attempt, name))


class Stream:
    """One pipe, and the file that it leads to."""

    def __init__(
        self, reading: int, target: int, blanker: Blanker, busy: mmap.mmap, place: int
    ) -> None:
        self.reading = reading
        self._target = target
        self._is_cut = False
        """Whether something was lost that there was no room for, perhaps the end of a line."""
        self._blanker = blanker
        self._busy, self._place = busy, place
        self._must_drop = blanker.longest_over_lines if busy[place] else 0
        """How much at least is dropped of a line in which a relay has died, in bytes."""

    def take(self) -> int:
        """Pass on what there is, up to some kilobytes; return how much it was, 0 at the end.

        Raises BlockingIOError where a pipe that does not wait has nothing.
        """
        was_busy = self._busy[self._place]
        self._busy[self._place] = 1
        try:
            data = os.read(self.reading, READ_BYTES)
        except BlockingIOError:
            self._busy[self._place] = was_busy
            raise
        if not data:
            self._pass_on(self._blanker.rest())
            self._busy[self._place] = 0
            return 0
        self._pass_on(self._blanker.feed(self._without_cut_line(data)))
        self._busy[self._place] = 1 if self._must_drop or self._blanker.keeps_back else 0
        return len(data)

    def drain(self) -> None:
        """Take what is in the pipe now, and end."""
        os.set_blocking(self.reading, False)
        taken = 0
        try:
            while (size := self.take()) and taken < MOST_DRAINED_BYTES:
                taken += size
        except BlockingIOError:
            pass
        self._pass_on(self._blanker.rest())

    def _pass_on(self, data: bytes) -> None:
        """Write; what comes after something lost is no part of its line."""
        if data:
            self._is_cut = not write_all(self._target, b"\n" + data if self._is_cut else data)

    def _without_cut_line(self, data: bytes) -> bytes:
        if not self._must_drop:
            return data
        end = data.find(b"\n", min(len(data), self._must_drop - 1))
        if end < 0:
            self._must_drop = max(1, self._must_drop - len(data))
            return b""
        self._must_drop = 0
        return data[end + 1 :]


def relay(streams: list[Stream], wake: int) -> bool:
    """Pass on what is written; return whether all pipes have ended, or we were asked to leave."""
    poller = select.poll()
    poller.register(wake, select.POLLIN)
    waiting = {stream.reading: stream for stream in streams}
    for reading in waiting:
        poller.register(reading, select.POLLIN)
    while waiting:
        for descriptor, _ in poller.poll():
            if descriptor == wake:
                for stream in waiting.values():
                    stream.drain()
                return False
            if descriptor in waiting and not waiting[descriptor].take():
                poller.unregister(descriptor)
                del waiting[descriptor]
    return True
