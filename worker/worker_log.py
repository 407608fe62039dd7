"""What a worker says, and where: lines for people on standard error, or objects for programs.

Owns the form. A background worker's standard error is its log file.
"""

import json
import logging
import os
import sys
import threading

from sow.clock import format_time, local_time
from sow.ids import WorkerId
from sow.paths import Workspace
from worker.context import logger


class JsonLines(logging.Formatter):
    """One object a line: `at`, `level`, `message`, and what it is about: `job`, `task`, `agent`."""

    def format(self, record: logging.LogRecord) -> str:
        """Return a record as one object; a traceback is part of its message."""
        about = {name: getattr(record, name, None) for name in ("job", "task", "agent")}
        trace = f"\n{self.formatException(record.exc_info)}" if record.exc_info else ""
        words = getattr(record, "words", None) or record.getMessage()
        fields = {
            "at": format_time(record.created),
            "level": record.levelname.lower(),
            "message": words + trace,
            **about,
        }
        return json.dumps(fields, ensure_ascii=False)


class Lines(logging.Formatter):
    """A line for people, its local time before it: a log is read on other days too."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s  %(message)s")

    def formatTime(self, record: logging.LogRecord, _form: str | None = None) -> str:  # noqa: N802 - logging's name
        """Return when a record was made, as every log tells it."""
        return local_time(record.created)


def configure_logging(*, as_json: bool) -> None:
    """Write what the worker does, a line a thing, with the time."""
    handler = logging.StreamHandler(sys.stdout if as_json else sys.stderr)
    handler.setFormatter(JsonLines() if as_json else Lines())
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    logger.propagate = False
    logging.getLogger("huey").addHandler(handler)
    logging.getLogger("huey").setLevel(logging.WARNING)
    # No line tells where it was said, nor who said it: that would import `multiprocessing`.
    logging._srcfile = None  # as logging's own guide says
    logging.logMultiprocessing = logging.logProcesses = logging.logThreads = False
    threading.excepthook = _log_thread_failure
    logging.raiseExceptions = False  # nowhere to say it: a full disk, a terminal that is gone


def name_log(workspace: Workspace, worker_id: WorkerId) -> None:
    """Give the log that a background worker was started with the worker's own name."""
    started_with = workspace.workers / f"w{os.getpid()}.log"
    if started_with.exists():
        started_with.rename(workspace.worker_log(worker_id))


def _log_thread_failure(failure: threading.ExceptHookArgs) -> None:
    logger.error("a thread failed", exc_info=failure.exc_value)
