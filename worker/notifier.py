"""The thread that tells events to the user's own commands (`notify:`), one after another.

Owns when it looks and what the worker's log says of it. That nothing is told
twice is `jobs.notifications`; the command's process is `calls.notice`. A fault
of it stops nothing else.
"""

import threading
from collections.abc import Callable

from sow.calls.notice import deliver
from sow.errors import SowError
from sow.faults import reason_of, words_of_bug
from sow.jobs import changes, notifications
from sow.jobs.changes import Cursor
from sow.jobs.faults import QueueChanged
from sow.jobs.notifications import Claimed
from sow.reports.notices import notification_of
from sow.schema.notification import DeliveryState, NoticeResult
from worker.context import WorkerContext, logger

RETRY_SECONDS = 1.0
"""How long after a queue that could not be written it is tried again."""


class Notifier:
    """The notifications of one worker. Without a command it does nothing."""

    def __init__(self, context: WorkerContext, on_idle: Callable[[], None]) -> None:
        """`on_idle` is called whenever all has been told."""
        self._context = context
        self._commands = context.configuration.notify
        self._on_idle = on_idle
        self._wake = threading.Event()
        self._is_leaving = threading.Event()
        self._is_busy = False
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin. What has happened in this queue before anybody told anything stays untold."""
        if not self._commands:
            return
        try:
            notifications.begin(self._context.database)
        except SowError as error:
            logger.warning("no notifications are sent: %s", error.message)
            return
        self._thread = threading.Thread(target=self._run, name="notifier", daemon=True)
        self._thread.start()

    @property
    def is_idle(self) -> bool:
        """Whether nothing is being told, or about to be."""
        return not (self._is_busy or self._wake.is_set())

    def look(self) -> None:
        """Have news told, if there is any. Raises QueueError."""
        if self._thread is not None and self.is_idle and self._has_work():
            self._wake.set()

    def stop(self, seconds: float) -> None:
        """Tell nothing more; wait so long for a command that runs. Left alone, it is uncertain."""
        self._is_leaving.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join(timeout=seconds)

    def _has_work(self) -> bool:
        database, workspace = self._context.database, self._context.workspace
        return notifications.has_news(database) or notifications.has_orphans(database, workspace)

    def _run(self) -> None:
        while self._wake.wait() and not self._is_leaving.is_set():
            self._is_busy = True
            self._wake.clear()
            is_all_told = self._tell_all()
            self._is_busy = False
            if is_all_told:  # otherwise it is tried again with the next look round
                self._on_idle()

    def _tell_all(self) -> bool:
        """Tell what there is; whether that could be done. The boundary around it."""
        context = self._context
        try:
            for lost in notifications.call_uncertain(
                context.database, context.workspace, now=context.now()
            ):
                _warn(lost.event, lost.seq, "may or may not have been notified", lost.reason)
            while not self._is_leaving.is_set() and (claimed := self._claim()):
                self._tell(claimed)
        except QueueChanged:
            return False  # the worker leaves for it
        except (SowError, OSError, MemoryError) as error:
            logger.warning("cannot notify now: %s", reason_of(error))
            return False
        except Exception:  # a bug in here must not keep the worker for ever
            logger.exception("sow itself failed while it sent notifications")
            return False
        return True

    def _claim(self) -> Claimed | None:
        context = self._context
        return notifications.claim_next(
            context.database, context.worker_id, self._commands, now=context.now()
        )

    def _tell(self, claimed: Claimed) -> None:
        """Run the command of a change that is ours to tell, and put on record how it ended."""
        change, event = claimed
        result = self._deliver(claimed)
        self._record(change.seq, result)
        if result.state is DeliveryState.DELIVERED:
            logger.info("notified of %s (change %d)", event, change.seq)
        else:
            last = result.output.rpartition("\n")[2]
            words = f"{result.reason}: {last}" if last else result.reason
            _warn(event, change.seq, f"was not notified of ({result.state})", words)

    def _deliver(self, claimed: Claimed) -> NoticeResult:
        context, (change, event) = self._context, claimed
        try:
            cursor = Cursor(changes.file_id(context.database), change.seq)
            words = notification_of(context.workspace, context.database, change, event, cursor)
            name = f"notify.{change.seq}.{context.worker_id}"
            command = self._commands[event]
            return deliver(context.workspace, command, words, context.environ, name=name)
        except QueueChanged:
            raise
        except Exception as error:  # the boundary: a bug in here must not stop the worker
            logger.error("a notification could not be created", exc_info=error)
            return NoticeResult(state=DeliveryState.FAILED, reason=words_of_bug(error))

    def _record(self, seq: int, result: NoticeResult) -> None:
        """Put on record how a command ended, as soon as that can be written."""
        while True:
            try:
                notifications.finish(
                    self._context.database,
                    seq,
                    result.state,
                    reason=result.reason,
                    now=self._context.now(),
                )
            except QueueChanged:
                raise
            except SowError:
                if self._is_leaving.wait(RETRY_SECONDS):
                    return
            else:
                return


def _warn(event: str, seq: int, what: str, why: str) -> None:
    logger.warning("%s (change %d) %s: %s", event, seq, what, why)
