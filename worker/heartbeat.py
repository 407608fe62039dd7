"""The thread by which a worker says to its queue's server that it lives, and moves its deadlines.

A queue in a file has no deadlines, and a worker of it no such thread. Owns when it beats and what
the log says of beats that fail; what a beat changes is the store's.
"""

import threading

from sow.errors import QueueError
from sow.faults import reason_of
from sow.jobs.faults import QueueChanged
from sow.jobs.store import Beats
from worker.context import WorkerContext, logger

BEAT_SECONDS = 20.0
"""A sixth of a lease: several beats may fail before anybody else could mind."""
RETRY_SECONDS = 2.0
"""How long after a beat that has failed the next one is due."""


class Heartbeat:
    """The beats of one worker."""

    def __init__(
        self,
        context: WorkerContext,
        *,
        beat_seconds: float = BEAT_SECONDS,
        retry_seconds: float = RETRY_SECONDS,
    ) -> None:
        self._context = context
        self._beat_seconds, self._retry_seconds = beat_seconds, retry_seconds
        self._fails = False
        self._is_leaving = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin. The registration of the worker was its first beat."""
        beats = self._context.database.beats(self._context.worker_id)
        if beats is None:
            return
        arguments = (beats,)
        self._thread = threading.Thread(
            target=self._run, args=arguments, name="heartbeat", daemon=True
        )
        self._thread.start()

    def stop(self, seconds: float) -> None:
        """Beat no more; wait so long for a beat that is under way."""
        self._is_leaving.set()
        if self._thread is not None:
            self._thread.join(timeout=seconds)

    def _run(self, beats: Beats) -> None:
        pause = self._beat_seconds
        try:
            while not self._is_leaving.wait(pause):
                pause = self._beat_seconds if self._beat(beats) else self._retry_seconds
        except QueueChanged:
            return  # whoever asks the queue next has the worker leave
        finally:
            beats.close()

    def _beat(self, beats: Beats) -> bool:
        """Beat; tell whether that was done. The boundary around it. Raises QueueChanged."""
        try:
            beats.beat()
        except QueueChanged:
            raise
        except (QueueError, OSError, MemoryError) as error:
            if not self._fails:
                logger.warning("the queue's server does not hear this worker: %s", reason_of(error))
            self._fails = True
            return False
        except Exception:  # a bug of ours must not end the beats
            logger.exception("the queue's server does not hear this worker")
            self._fails = True
            return False
        if self._fails:
            logger.info("the queue's server hears this worker again")
        self._fails = False
        return True
