"""What a worker shows in its own terminal besides its log: a row for each job that it runs.

Owns the thread that draws them, and that a line of the log never lands between them: what
is written to standard error meanwhile takes them away first. The worker knows nothing of it.
"""

import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any, TextIO

from sow.cli.job_rows import JobRows, LiveBlock, leave_when_stopped
from sow.cli.streams import Terminal
from sow.errors import SowError
from sow.jobs import leases
from sow.jobs.changed_jobs import LiveJobs
from sow.jobs.database import Database, open_existing_queue
from sow.paths import Workspace
from sow.schema.job import Job

DRAW_SECONDS = 2.0


@contextmanager
def rows_below_log(workspace: Workspace) -> Iterator[None]:
    """Show this process's jobs at the bottom of its terminal; nothing where there is none."""
    terminal = sys.stderr
    if not isinstance(terminal, Terminal) or os.environ.get("TERM") == "dumb":
        yield
        return
    screen = _Screen(workspace, LiveBlock(terminal.steer))
    sys.stderr = _AboveRows(terminal, screen)
    leave_when_stopped(screen.leaving)
    thread = threading.Thread(target=screen.run, name="screen", daemon=True)
    thread.start()
    try:
        yield
    finally:
        screen.stop()
        thread.join()
        sys.stderr = terminal


class _AboveRows:
    """A stream whose lines land above the rows."""

    def __init__(self, stream: TextIO, screen: "_Screen") -> None:
        self._stream = stream
        self._screen = screen

    def write(self, text: str) -> int:
        """Write a text where the rows were; they are drawn again below it before long."""
        with self._screen.without_rows():
            return self._stream.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class _Screen:
    """The rows, and who may write just now."""

    def __init__(self, workspace: Workspace, block: LiveBlock) -> None:
        self.workspace = workspace
        self._block = block
        self._lock = threading.RLock()
        self._over = threading.Event()

    def run(self) -> None:
        """Draw the rows again and again. Without a queue it ends: the worker says why."""
        try:
            database = open_existing_queue(self.workspace)
            if database is None:
                return
            with closing(database):
                rows, live = JobRows(self.workspace, database, self._block), LiveJobs(database)
                while not self._over.wait(DRAW_SECONDS):
                    self._draw(rows, *_parted(database, live.read(at=time.monotonic())))
        except SowError:
            return
        finally:
            with self.without_rows():
                pass

    def stop(self) -> None:
        """Have it end, and its rows go."""
        self._over.set()

    @contextmanager
    def without_rows(self) -> Iterator[None]:
        """Take the rows away; nobody draws them meanwhile."""
        with self._lock:
            self._block.clear()
            yield

    @contextmanager
    def leaving(self) -> Iterator[None]:
        """Leave the rows to somebody else; the thread draws none meanwhile."""
        with self._lock:
            self._block.leave()
            yield

    def _draw(self, rows: JobRows, ours: Sequence[Job], others: Sequence[Job]) -> None:
        counts = Counter(job.state.value for job in others)
        waiting = ", ".join(f"{count} {state}" for state, count in counts.items())
        with self._lock:
            if ours:
                rows.draw(ours, f"{len(ours)} at work{f'; {waiting}' if waiting else ''}")
            else:
                rows.clear()


def _parted(database: Database, live: Sequence[Job]) -> tuple[Sequence[Job], Sequence[Job]]:
    """Return those of some jobs that this process runs, and the others."""
    owners = leases.owners_of_jobs(database)
    own_id = f"w{os.getpid()}-"
    ours: list[Job] = []
    others: list[Job] = []
    for job in live:
        (ours if owners.get(job.id, "").startswith(own_id) else others).append(job)
    return ours, others
