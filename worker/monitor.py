"""The thread that watches every running attempt of a worker and settles what has ended.

Owns the set of attempts under watch, and what follows from a look at one. It
sleeps until something wakes it (`wakeups`) or a look is due. Started and adopted
attempts are the same to it, so a worker needs no thread for each agent and a new
one takes over where a dead one stopped.
"""

import logging
import os
import select
import threading
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec import Struct

from sow.errors import SowError
from sow.executors.base import Verdict
from sow.faults import passing_fault
from sow.ids import JobId
from sow.jobs import workers
from sow.jobs.faults import QueueChanged
from sow.jobs.jobs import UnknownJob
from sow.jobs.leases import Fenced
from sow.processes import process_facts
from sow.processes.life import Life
from sow.schema.cause_table import CAUSES
from sow.schema.causes import Cause
from worker.attempt_processes import (
    LookAtEnded,
    ask_to_end,
    end_supervisor,
    has_ended,
    is_end_recorded,
    remove_fence,
    supervisor_lives,
)
from worker.context import WorkerContext, tell
from worker.fail_internal import fail_internal
from worker.kinds import worker_kind
from worker.running import Running
from worker.settle import settle_attempt
from worker.watchdog import look_at_running

if TYPE_CHECKING:
    from worker.reports.service import ReportService


class Wakeups:
    """A sleep that ends when there is something to see. Only `nudge` may come from elsewhere."""

    def __init__(self) -> None:
        self._read, self._write = os.pipe()
        os.set_blocking(self._read, False)
        os.set_blocking(self._write, False)
        self._poller = select.poll()
        self._poller.register(self._read, select.POLLIN)

    def nudge(self) -> None:
        """End the sleep, or the next one; safe from any thread and signal handler."""
        with suppress(BlockingIOError):
            os.write(self._write, b"!")

    def sleep(self, seconds: float | None) -> set[int]:
        """Sleep at most so long (None: without end); return the descriptors that are ready."""
        ready = self._poller.poll(None if seconds is None else seconds * 1000)
        with suppress(BlockingIOError):
            while os.read(self._read, 4096):
                pass
        return {descriptor for descriptor, _ in ready}

    def open_pidfd(self, running: Running) -> None:
        """Let the end of an attempt's supervisor end the sleep, where the system can tell it."""
        identity = running.attempt.supervisor
        if identity is None or not hasattr(os, "pidfd_open"):
            return
        with suppress(OSError):
            running.pidfd = os.pidfd_open(identity.pid)
            self._poller.register(running.pidfd, select.POLLIN)
            if process_facts.life_of(identity) is not Life.ALIVE:
                self.close_pidfd(running)

    def close_pidfd(self, running: Running) -> None:
        """Stop sleeping on a supervisor: once it is dead, its pidfd is readable for ever."""
        if running.pidfd is not None:
            self._poller.unregister(running.pidfd)
            os.close(running.pidfd)
            running.pidfd = None


READING_SECONDS = 0.25
"""How long one round over all attempts may read what their agents print; they share it evenly.
Where that is not enough, round follows round, and in each of them ends and cancels are seen."""
SHORTEST_READING_SECONDS = 0.005

ROUND_FAILED_SECONDS = 1.0
"""How long the thread waits after a round that has failed as a whole."""

MOST_FAILURES = 20
"""How often in a row a passing fault may prevent the gathering; then the attempt is settled without
it, and the job's warnings say so."""

WORKER_STOPPED = Verdict(Cause.WORKER_STOPPED, CAUSES[Cause.WORKER_STOPPED].words)

logger = logging.getLogger("sow.worker")


class Pace(Struct, frozen=True):
    """How often a monitor looks, and how long it is patient."""

    tick_seconds: float = 0.5
    """How often the output of running agents is read, and unverified endings looked at."""
    longest_postponement_seconds: float = 30.0
    """How long an attempt that cannot be settled is left alone at most, before the next try."""
    most_bugs: int = 10
    """How often what is neither an error of ours nor a passing fault may keep an attempt whose end
    is proved from being settled; then its job is closed as failed."""


USUAL = Pace()


class Monitor:
    """Watches attempts from `watch()` to their settling. All else happens on its own thread."""

    def __init__(
        self,
        context: WorkerContext,
        on_change: Callable[[QueueChanged], None] = lambda _: None,
        pace: Pace = USUAL,
    ) -> None:
        self.context = context
        self._on_change = on_change
        self._pace = pace
        self._incoming: list[Running] = []
        self._watched: dict[JobId, Running] = {}
        self._wakeups = Wakeups()
        self._reports: ReportService | None = None
        self._asked = False
        self._next_look = 0.0
        self._stopping = threading.Event()
        self._idle = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="monitor", daemon=True)

    def start(self) -> None:
        """Begin to watch."""
        self._thread.start()

    def stop(self) -> None:
        """Stop watching; the agents go on and are adopted by the next worker."""
        self._stopping.set()
        self.wake()
        self._thread.join(timeout=1.0)

    def wake(self) -> None:
        """Have the thread look at every attempt now; safe from any thread and signal handler."""
        self._asked = True
        self._wakeups.nudge()

    def watch(self, running: Running) -> None:
        """Watch one more attempt."""
        with self._idle:
            self._incoming.append(running)
        self._wakeups.nudge()

    def watches(self, job_id: JobId) -> bool:
        """Whether an attempt of a job is under watch."""
        with self._idle:
            arriving = any(running.job.id == job_id for running in self._incoming)
            return arriving or job_id in self._watched

    def running(self) -> list[Running]:
        """Return what is under watch."""
        with self._idle:
            return [*self._incoming, *self._watched.values()]

    @property
    def count(self) -> int:
        """How many attempts are under watch."""
        with self._idle:
            return len(self._incoming) + len(self._watched)

    def wait_until_idle(self, seconds: float) -> bool:
        """Wait until nothing is under watch, at most `seconds`; return whether nothing is."""
        with self._idle:
            return self._idle.wait_for(
                lambda: not self._incoming and not self._watched, timeout=seconds
            )

    def end_all(self) -> None:
        """End every agent; their jobs go back into the queue as resumes."""
        for running in self.running():
            running.ended_for = WORKER_STOPPED
            ask_to_end(running)
        self.wake()

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                self._go_round()
            except Exception:  # the worker would go on, and nobody watch what it starts
                logger.exception("the agents cannot be checked now; sow checks them again soon")
                self._stopping.wait(ROUND_FAILED_SECONDS)

    def _go_round(self) -> None:
        """Sleep until there is something to see, and look at whom it concerns."""
        ready = self._sleep()
        self._take_incoming()
        if self._reports is not None:
            self._reports.look()
        due = [running for running in self._due(ready) if not running.is_postponed]
        _note_ends(due, ready)
        look = LookAtEnded(due)
        # Whose output waits comes last: the ends of others are seen first.
        for running in sorted(due, key=lambda running: running.output.is_behind):
            self._look_at(running, look)
        self._guard_state()

    def _guard_state(self) -> None:
        """See to the state that agents' git takes, while there are agents. The boundary of it."""
        try:
            if self._watched:
                self.context.state.look_if_due()
        except Exception:
            logger.exception("the state cannot be read now")

    def _sleep(self) -> set[int]:
        """Sleep until nudged, until a supervisor ends or a look is due; return what is ready."""
        patience = max(0.0, self._next_look - time.monotonic()) if self._watched else None
        if self._behind():
            patience = 0.0
        return self._wakeups.sleep(patience)

    def _due(self, ready: Collection[int]) -> list[Running]:
        """Return whom to look at: all when asked to or every tick.

        Else those whose supervisor has ended, or whose output waits to be read.
        """
        now = time.monotonic()
        if not self._asked and now < self._next_look:
            ended = [running for running in self._watched.values() if running.pidfd in ready]
            return [*ended, *(running for running in self._behind() if running not in ended)]
        self._asked, self._next_look = False, now + self._pace.tick_seconds
        return list(self._watched.values())

    def _behind(self) -> list[Running]:
        """Return those of whose output there is more to read than the last look has read."""
        watched = self._watched.values()
        return [
            running for running in watched if running.output.is_behind and not running.is_postponed
        ]

    def _reading_seconds(self) -> float:
        """Return how long one look may read."""
        return max(SHORTEST_READING_SECONDS, READING_SECONDS / max(1, len(self._watched)))

    def _take_incoming(self) -> None:
        """Watch what `watch()` has brought. The first look is a tick later: it has only begun."""
        with self._idle:
            arrivals, self._incoming = self._incoming, []
            if not self._watched:
                self._next_look = time.monotonic() + self._pace.tick_seconds
            for running in arrivals:
                self._watched[running.job.id] = running
        for running in arrivals:
            if os.path.isdir(running.paths.reports):  # noqa: PTH112 - asked of every attempt
                self._take_reports(running)
            self._wakeups.open_pidfd(running)
            if running.pidfd is None:
                self._asked = True  # it may have ended already

    def _take_reports(self, running: Running) -> None:
        """Take the reports of an attempt whose agent is in a sandbox. The boundary of it."""
        # No other attempt needs it.
        from worker.reports.service import ReportService

        try:
            self._reports = self._reports or ReportService(self.context, self.wake)
            self._reports.serve(running)
        except Exception:
            logger.exception("job %s: its reports cannot be taken", running.job.id)

    def _look_at(self, running: Running, look: LookAtEnded) -> None:
        """Read what is new of one attempt and settle it if it has ended. The boundary of it."""
        try:
            running.is_over = False  # until this very look proves it
            running.is_over = has_ended(running, look)
            if running.is_over:
                self._wakeups.close_pidfd(running)
                running.output.ends_here()
                running.output.read_for(self._reading_seconds())
                if not running.output.is_behind:
                    self._settle(running)
                return
            is_alone = not supervisor_lives(running)
            if is_alone:
                self._wakeups.close_pidfd(running)
            seconds = self._reading_seconds()
            context = running.guest or self.context
            look_at_running(context, running, reading_seconds=seconds, is_alone=is_alone)
            running.failures = running.bugs = 0
        except Fenced:
            tell(running.job, "was taken over by another worker")
            self._forget(running)
        except UnknownJob:
            tell(running.job, "is not on record any more; what its agent has made is kept")
            self._forget(running)
        except QueueChanged as error:  # we leave; the agent goes on
            running.postpone(self._pace.longest_postponement_seconds)
            self._on_change(error)
            if running.is_over:
                self._forget(running)
        except SowError as error:
            tell(running.job, f"cannot be {_deed_on(running)} yet: {error.message}")
            running.postpone(self._pace.longest_postponement_seconds)
        except Exception as error:
            if passing_fault(error) is not None:
                tell(running.job, f"cannot be checked now: {error}")
            else:
                words = "job %s: cannot be %s yet"
                logger.exception(words, running.job.id, _deed_on(running))
                running.bugs += running.is_over
                if running.bugs >= self._pace.most_bugs and self._close(running, error):
                    return
            running.postpone(self._pace.longest_postponement_seconds)

    def _settle(self, running: Running) -> None:
        if not self._is_gathered(running):
            return  # looked at again when it is
        if self._reports is not None and not self._reports.is_finished(running):
            return  # as above
        end_supervisor(running)
        settle_attempt(running.guest or self.context, running)
        self._forget(running)
        workers.wake(self.context.workspace)  # a slot is free; and we may have nothing left to do
        _remove_fence(running)

    def _close(self, running: Running, error: Exception) -> bool:
        """Close a job that a bug of ours keeps from being settled; tell whether it is let go of."""
        try:
            fail_internal(running.guest or self.context, running, error)
        except Fenced:
            pass  # it was closed before, or another worker has it
        except QueueChanged as changed:
            self._on_change(changed)
            return False
        except Exception:
            logger.exception("job %s: cannot be closed either", running.job.id)
            return False
        self._forget(running)
        workers.wake(self.context.workspace)
        return True

    def _is_gathered(self, running: Running) -> bool:
        """Whether what is to be found out of files is; begin with it if need be. Raises faults."""
        if running.gathering is None:
            context = running.guest or self.context
            running.gathering = worker_kind(running.job).gathering(context, running)
            if running.gathering is None:
                return True
            running.gathering.start(self.wake)
        fault = running.gathering.fault
        if fault is not None and running.failures < MOST_FAILURES:
            running.gathering = None  # it is done again after a while, longer each time
            raise fault
        running.gathering.give_up()
        return running.gathering.result is not None

    def _forget(self, running: Running) -> None:
        self._wakeups.close_pidfd(running)
        if self._reports is not None:
            self._reports.forget(running)
        with self._idle:
            self._watched.pop(running.job.id, None)
            self._idle.notify_all()


def _remove_fence(running: Running) -> None:
    """Remove its empty group, for which nobody waits; the boundary of it.

    One that stays, because its worker is killed now, the next worker removes as it starts.
    """
    try:
        remove_fence(running)
    except Exception:
        logger.exception("job %s: its group of processes cannot be removed", running.job.id)


def _deed_on(running: Running) -> str:
    """Return what a look was about to do, for words on what kept it from that."""
    return "settled" if running.is_over else "looked at"


def _note_ends(due: Sequence[Running], ready: Collection[int]) -> None:
    """Note of all that have ended when that was: one look at the state serves all of them."""
    now = time.monotonic()
    for running in due:
        if running.over_since is None and running.pidfd in ready and is_end_recorded(running):
            running.over_since = now
