"""How a worker says to its queue's server that it lives, and what it does where nobody hears it.

A queue in a file has no deadlines, and a worker of it no such threads. In a queue that is shared,
others may take over what has passed its deadline, 120 s after the last beat that the server has
answered. So a worker that gets no answer ends its agents before, after 100 s; a supervisor does
so by itself after 110 s (`worker.supervisor.lease_end`), for a worker may be killed alone. A
thread beats, and another one counts: a beat to a server that is stopped may never return.

Owns when it beats, when it ends agents, and what the log says of both. What a beat changes is the
store's; what follows from its answer is in `worker.hearing`.
"""

import threading
from collections.abc import Callable
from contextlib import suppress

from sow.errors import QueueError
from sow.faults import reason_of
from sow.jobs.faults import QueueChanged
from sow.jobs.store import Beat, Beats
from worker.attempt_processes import ask_to_end, is_end_recorded, kill_left, supervisor_lives
from worker.context import WorkerContext, logger, tell
from worker.hearing import CUT_OFF
from worker.monitor import Monitor
from worker.running import Running
from worker.supervisor.lease_end import boot_seconds

LOOK_SECONDS = 5.0
"""How long the counting sleeps at most: the sleep of a thread stands still while the machine's
goes on."""
RETRY_SECONDS = 2.0
"""How long after a beat that has failed the next one is due."""


class Heartbeat:
    """The beats of one worker."""

    def __init__(
        self,
        context: WorkerContext,
        monitor: Monitor,
        on_heard: Callable[[], None] = lambda: None,
        *,
        retry_seconds: float = RETRY_SECONDS,
    ) -> None:
        """`on_heard` is called when a beat is answered after a silence: jobs may be taken again.

        It is called as well where the worker was struck off the record meanwhile.
        """
        self._context = context
        self._hearing = context.hearing
        self._monitor = monitor
        self._on_heard = on_heard
        self._retry_seconds = retry_seconds
        self._fails = False
        self._is_leaving = threading.Event()
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        """Beat once, and begin."""
        beats = self._context.database.beats(self._context.worker_id)
        if beats is None:
            return
        with suppress(QueueChanged):  # the thread meets it again
            self._beat(beats)
        self._threads = [
            threading.Thread(target=self._run, args=(beats,), name="heartbeat", daemon=True),
            threading.Thread(target=self._count, name="silence", daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def stop(self, seconds: float) -> None:
        """Beat no more; wait so long for a beat that is under way."""
        self._is_leaving.set()
        for thread in self._threads:
            thread.join(timeout=seconds)

    def _run(self, beats: Beats) -> None:
        try:
            while not self._is_leaving.wait(self._pause()):
                self._beat(beats)
        except QueueChanged:
            return  # whoever asks the queue next has the worker leave
        finally:
            beats.close()

    def _count(self) -> None:
        """End every agent where nobody has heard us for so long. The boundary of it."""
        pause = 0.0
        while not self._is_leaving.wait(pause):
            left = self._hearing.seconds_left
            if left <= 0 and self._hearing.is_shared:
                try:
                    self._end_agents()
                except Exception:  # their supervisors end them a little later
                    logger.exception("the agents cannot be ended")
            pause = min(LOOK_SECONDS, left if left > 0 else self._retry_seconds)

    def _pause(self) -> float:
        """Return when to beat again: soon after a beat that failed, or whose answer took long."""
        usual = self._hearing.beat_seconds
        is_late = self._fails or self._hearing.silent_seconds > usual
        return self._retry_seconds if is_late else usual

    def _beat(self, beats: Beats) -> None:
        """Beat. The boundary around it. Raises QueueChanged."""
        sent_at, allowed_another = boot_seconds(), self._hearing.allows_another
        try:
            answer = beats.beat()
            self._hearing.heard(sent_at, answer.lease_seconds)
            self._hearing.is_on_record = answer.is_on_record
            self._renew(answer)
            self._end_asked(answer)
        except QueueChanged:
            raise
        except (QueueError, OSError, MemoryError) as error:
            if not self._fails:
                logger.warning("the queue's server does not hear this worker: %s", reason_of(error))
            self._fails = True
        except Exception:  # a bug of ours must not end the beats
            logger.exception("the queue's server does not hear this worker")
            self._fails = True
        else:
            if self._fails:
                logger.info("the queue's server hears this worker again")
            if self._fails or not allowed_another or not answer.is_on_record:
                self._on_heard()
            self._fails = False

    def _renew(self, answer: Beat) -> None:
        """Tell the supervisors of the jobs that are still ours that their leases go on."""
        for running in self._monitor.running() if self._hearing.is_shared else ():
            if running.job.id in answer.jobs:
                try:
                    self._hearing.renew_lease(str(running.paths.folder))
                except OSError as error:
                    tell(running.job, f"its lease cannot be renewed: {error.strerror}")

    def _end_asked(self, answer: Beat) -> None:
        """End the agents whose end was asked for; the monitor may not have been able to ask."""
        asked = [running for running in self._monitor.running() if running.job.id in answer.ending]
        for running in asked:
            if not running.asked_to_end:
                ask_to_end(running)
        if asked:
            self._monitor.wake()

    def _end_agents(self) -> None:
        for running in self._monitor.running():
            _end(running)
        self._monitor.wake()


def _end(running: Running) -> None:
    """End one agent; without a supervisor there is no time for anything but a kill.

    One that has ended by itself, and could not be settled since, keeps its own cause.
    """
    if not running.asked_to_end and not is_end_recorded(running):
        tell(running.job, f"{CUT_OFF.reason}; ending it")
        running.ended_for = CUT_OFF
    if supervisor_lives(running):
        ask_to_end(running)
    else:
        kill_left(running)
