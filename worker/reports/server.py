"""`python -P -m worker.reports.server`: takes the reports of a worker's agents in sandboxes.

A process of its own: whatever an agent sends, the worker reads none of it. It has imported what
reports need, and forks a process for each. Its orders come on its standard input, a socket; it ends
with the worker, and all that it has forked ends with it.

Owns the order of things for an attempt: what was kept is carried out first, then the socket is
there; what is kept nevertheless comes before the next report; at the end all that was sent is
carried out, then what is still kept, and the folder is gone.
"""

import os
import select
import signal
import socket
import sys
import time
from contextlib import suppress
from importlib import import_module

import msgspec

from sow import quick_start
from sow.processes.tree_linux import end_with_parent
from worker.reports.attempts import MOST_AT_ONCE, Attempt, Received
from worker.reports.carrying_out import (
    ELSEWHERE,
    MOST_TRIES,
    NOT_HERE,
    Outcome,
    answer_of,
    carry_out,
    fork,
    is_here,
    may_come_again,
)
from worker.reports.kept import PREVENTED, empty
from worker.reports.server_messages import Action, Answer, Order

IMPORTED = (
    "sow.agents.rights",
    "sow.calls.batch_touch",
    "sow.calls.judging",
    "sow.calls.recorded_agent",
    "sow.cli.agent_log",
    "sow.cli.asking_right",
    "sow.cli.review",
    "sow.cli.root",
    "sow.cli.task_change",
    "sow.cli.usual_line",
    "sow.clones.judged",
    "sow.state.fields",
    "sow.state.tasks",
    "sow.state.verdicts",
    "sow.yamlfile.editing",
    "sow.yamlfile.loader",
    "sow.yamlfile.rendering",
)
"""What most reports need. Whatever else one needs, it imports."""
TICK_SECONDS = 1.0
MOST_LOOKING, LONGEST_PAUSE_SECONDS = 10, 30.0
"""How many times as long as the last look it takes until what an agent has put into its folder is
looked at again, and at most: it may have put a million files there."""
REPORT_SECONDS = 120.0
"""How long a report may take; then its process is killed."""
ANSWER_SECONDS = 10.0
"""How long an agent may take to take in its answer."""
FINISH_SECONDS = 15.0
"""How long what was sent may go on once its agent has ended."""
MOST_FAILURES = 20
"""How often in a row the carrying out of what was kept may fail; a second lies between."""
NOT_EMPTY = 1
LONGEST_ORDER = 1 << 22
ANSWERED = 0
KILLED = Outcome(
    1, b"", b"Error: the process that carried out this report was killed\n\nRun it again.\n"
)


class Server:
    """The process, with all attempts that it takes reports of."""

    def __init__(self, orders: socket.socket) -> None:
        self._orders = orders
        self._data = bytearray()
        self._attempts: dict[str, Attempt] = {}
        self._deadlines: dict[int, float] = {}
        self._woken, self._waking = os.pipe()
        for end in (self._woken, self._waking):
            os.set_blocking(end, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._waking, warn_on_full_buffer=False)

    def run(self) -> int:
        """Take reports until the worker has gone; return 0."""
        while True:
            ready = self._wait()
            if self._orders.fileno() in ready and not self._take_orders():
                return 0
            with suppress(BlockingIOError):
                os.read(self._woken, 4096)
            self._reap()
            for attempt in [*self._attempts.values()]:
                self._look_at(attempt, ready)

    def _wait(self) -> set[int]:
        """Wait until there is something to see; return the descriptors that are ready."""
        poller = select.poll()
        poller.register(self._orders, select.POLLIN)
        poller.register(self._woken, select.POLLIN)
        for attempt in self._attempts.values():
            if attempt.reads:
                poller.register(attempt.listener, select.POLLIN)  # type: ignore[arg-type]
                for descriptor in attempt.connections:
                    poller.register(descriptor, select.POLLIN)
        seconds = TICK_SECONDS if self._attempts else None
        return {fd for fd, _ in poller.poll(None if seconds is None else seconds * 1000)}

    def _take_orders(self) -> bool:
        """Do as the worker says; return whether it is still there."""
        try:
            piece = self._orders.recv(1 << 16)
        except OSError:
            return False
        self._data += piece
        *lines, rest = self._data.split(b"\n")
        self._data = rest
        for line in lines:
            self._obey(msgspec.json.decode(line, type=Order))
        return bool(piece) and len(rest) < LONGEST_ORDER

    def _obey(self, order: Order) -> None:
        attempt = self._attempts.get(order.attempt)
        match order.action:
            case Action.SERVE if order.served is not None and attempt is None:
                self._attempts[order.attempt] = Attempt(order.served)
            case Action.FINISH if attempt is None:
                self._say(Answer(attempt=order.attempt, is_finished=True))
            case Action.FINISH if attempt.finish_by is None:  # type: ignore[union-attr]
                attempt.finish_by = time.monotonic() + FINISH_SECONDS  # type: ignore[union-attr]
                attempt.close()  # type: ignore[union-attr]
            case Action.FORGET if attempt is not None:
                self._forget(attempt)

    def _say(self, answer: Answer) -> None:
        with suppress(OSError):
            self._orders.sendall(msgspec.json.encode(answer) + b"\n")

    def _forget(self, attempt: Attempt) -> None:
        attempt.close()
        attempt.give_up_waiting()
        for pid in (*attempt.running, attempt.emptying):
            if pid is not None:
                os.kill(pid, signal.SIGKILL)
        del self._attempts[attempt.served.id]

    def _look_at(self, attempt: Attempt, ready: set[int]) -> None:
        """Read what is there of one attempt, and carry out what may be."""
        now = time.monotonic()
        for pid in attempt.running:
            if self._deadlines[pid] < now:
                os.kill(pid, signal.SIGKILL)
        attempt.take_in(ready)
        attempt.drop_late(now)
        while not self._is_due(attempt, now):
            if not attempt.waiting or len(attempt.running) >= MOST_AT_ONCE:
                break
            attempt.passing = max(0, attempt.passing - 1)
            if not self._carry_out(attempt, attempt.waiting.popleft()):
                break  # the machine has no room for it now: once more with the next look
        if not attempt.is_due and attempt.finish_by is not None:
            self._finish(attempt, now)

    def _is_due(self, attempt: Attempt, now: float) -> bool:
        """Whether what was kept comes first; have it carried out. Asked before each report."""
        if not attempt.is_last and not attempt.passing and attempt.has_kept():
            attempt.is_due = True
        if attempt.is_due and attempt.emptying is None and now >= attempt.empty_after:
            self._empty(attempt)
        return attempt.is_due

    def _finish(self, attempt: Attempt, now: float) -> None:
        """Carry out the last reports of an attempt whose agent has ended."""
        if not attempt.running and not attempt.waiting and not attempt.is_last:
            attempt.is_last = attempt.is_due = True
            self._empty(attempt)  # now: the worker waits for it to settle the attempt
        elif attempt.finish_by is not None and attempt.finish_by < now:
            attempt.give_up_waiting()
            for pid in attempt.running:
                os.kill(pid, signal.SIGKILL)

    def _empty(self, attempt: Attempt) -> None:
        """Have what was kept carried out, in a process of its own."""
        is_last, attempt.emptying_since = attempt.is_last, time.monotonic()
        attempt.waited = len(attempt.waiting)
        try:
            attempt.emptying = fork(lambda: empty(attempt.served, is_last=is_last))
        except OSError:
            self._emptied(attempt, NOT_EMPTY)

    def _emptied(self, attempt: Attempt, code: int) -> None:
        """Go on after what was kept was carried out, or was not: that is tried again for a while.

        What prevents it may pass: a full disk, a lock, somebody who kills processes. At the end of
        an attempt the first two are waited for as long as the worker does.
        """
        now = time.monotonic()
        attempt.emptying = None
        attempt.failures = attempt.failures + 1 if code not in (0, NOT_HERE) else 0
        if attempt.failures:
            attempt.empty_after = now + TICK_SECONDS
            waits = attempt.is_last and code == PREVENTED
            if waits or attempt.failures < MOST_FAILURES:
                return
            words = "what its agent has reported while no worker took reports cannot be carried out"
            self._say(Answer(attempt=attempt.served.id, words=words))
        attempt.is_due = False
        attempt.failures = 0
        attempt.passing = min(attempt.waited, len(attempt.waiting))
        pause = max(TICK_SECONDS, MOST_LOOKING * (now - attempt.emptying_since))
        attempt.look_after = now + min(pause, LONGEST_PAUSE_SECONDS)
        if attempt.is_last:
            self._say(Answer(attempt=attempt.served.id, is_finished=True))
            del self._attempts[attempt.served.id]
        elif attempt.listener is None and attempt.finish_by is None:
            self._listen(attempt)

    def _listen(self, attempt: Attempt) -> None:
        try:
            attempt.listen()
        except OSError as error:
            words = f"its reports are taken from its folder alone: no socket there ({error})"
            if words != attempt.fault:
                attempt.fault = words
                self._say(Answer(attempt=attempt.served.id, words=words))

    def _carry_out(self, attempt: Attempt, received: Received) -> bool:
        """Have a report carried out by a process of its own, which answers; tell if it can be."""
        served, report, client = attempt.served, received.report, received.socket
        is_new = received.tries == 0
        received.tries += 1

        def answer() -> int:
            if is_here(served):
                outcome = carry_out(served, report, is_new=is_new)
            else:
                outcome = Outcome(4, b"", ELSEWHERE.encode())
            _send(client, outcome)
            return ANSWERED

        try:
            pid = fork(answer, (client.fileno(),))
        except OSError:
            attempt.waiting.appendleft(received)
            received.tries -= 1
            return False
        attempt.running[pid] = received
        self._deadlines[pid] = time.monotonic() + REPORT_SECONDS
        return True

    def _reap(self) -> None:
        """Take in what has ended."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if not pid:
                return
            deadline = self._deadlines.pop(pid, None)
            code = os.waitstatus_to_exitcode(status)
            for attempt in [*self._attempts.values()]:
                if attempt.emptying == pid:
                    self._emptied(attempt, code)
                elif pid in attempt.running:
                    is_late = deadline is not None and deadline < time.monotonic()
                    self._ended(attempt, attempt.running.pop(pid), code, is_late=is_late)

    def _ended(self, attempt: Attempt, received: Received, code: int, *, is_late: bool) -> None:
        """See to a report whose process has ended, perhaps before it has answered.

        Of one that would be carried out twice nobody can tell whether it was: silence says so.
        """
        if code == ANSWERED or not may_come_again(received.report):
            received.socket.close()
        elif received.tries < MOST_TRIES and not is_late:
            attempt.waiting.appendleft(received)
        else:
            with suppress(OSError):
                received.socket.send(answer_of(KILLED))
            received.socket.close()


def _send(client: socket.socket, outcome: Outcome) -> None:
    """Send an answer to an agent that may not read it."""
    with suppress(OSError):
        client.settimeout(ANSWER_SECONDS)
        client.sendall(answer_of(outcome))


def main() -> int:
    """Take reports until the worker has gone; return 0."""
    import ctypes  # noqa: F401 - for `end_with_parent`: imported once, not in each process

    end_with_parent()
    for name in IMPORTED:
        import_module(name)
    orders = socket.socket(fileno=os.dup(0))
    os.dup2(1, 0)  # none of our children has the orders
    return Server(orders).run()


if __name__ == "__main__":
    quick_start.begin()
    sys.exit(main())
