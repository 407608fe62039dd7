"""Jobs at work, as rows at the bottom of a terminal: of a call that waits, and of a worker.

Owns the moves of the cursor, how large the terminal is, how many rows are shown at most, and the
looking: only those that are shown are read again and looked around, for with a thousand jobs each
look would cost a second. Nothing else may be written to the terminal between `draw` and `clear`,
but by a shell while the process is stopped. What a row says is `live_rows`.

A worker shows its rows below its log, and knows nothing of it: a thread draws them, and what is
written to standard error meanwhile takes them away first.
"""

import os
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from typing import Any, TextIO

from sow.cli.live_rows import Row, block_of, fitted, row_of, summary_row
from sow.cli.output import coloured
from sow.cli.output import terminal_size as size_of
from sow.cli.streams import Terminal, steer
from sow.errors import SowError
from sow.jobs import leases
from sow.jobs.changed_jobs import LiveJobs
from sow.jobs.database import Database, open_existing_queue
from sow.jobs.jobs import get_job
from sow.paths import Workspace
from sow.reports.prospects import look_around, look_at_staff
from sow.schema.job import Job, JobState
from sow.terminal_text import cells, without_sequences, without_steering

WIDTH, HEIGHT = 80, 24
"""What a terminal is taken for that does not tell its size."""
ERASE_BELOW = "\x1b[J"


class LiveBlock:
    """The lines that stand there now."""

    def __init__(self, write: Callable[[str], None] = steer) -> None:
        """`write`: writes our own words to the terminal, with what steers it."""
        self._write = write
        self._lines: list[str] = []
        self._is_drawing = False

    def draw(self, lines: Sequence[str]) -> None:
        """Have these lines stand there instead; each must fit the terminal's width."""
        shown = [without_steering(line) for line in lines]
        upwards, self._lines = self._upwards(), shown
        self._is_drawing = True
        self._write(upwards + "\n".join(shown))
        self._is_drawing = False

    def clear(self) -> None:
        """Take the lines away; what is written next begins where they began."""
        upwards, self._lines = self._upwards(), []
        if upwards:
            self._write(upwards)

    def leave(self) -> None:
        """Begin anew below whatever comes next; take the lines away unless they are being drawn."""
        if self._is_drawing:
            self._lines = []
        else:
            self.clear()

    @contextmanager
    def leaving(self) -> Iterator[None]:
        """Leave the lines for as long as somebody else has the terminal."""
        self.leave()
        yield

    def _upwards(self) -> str:
        """Return what moves to where the lines begin and erases them, in today's width."""
        if not self._lines:
            return ""
        width, _ = terminal_size()
        taken = sum(max(1, -(-cells(without_sequences(line)) // width)) for line in self._lines)
        up = f"\x1b[{taken - 1}A" if taken > 1 else ""
        return f"\r{up}{ERASE_BELOW}"


def leave_when_stopped(leaving: Callable[[], AbstractContextManager[None]]) -> None:
    """Have Ctrl-Z take the lines away before it stops us, and leave what the shell says then alone.

    From now on, and in the main thread. Where somebody has said what it does, it does that.
    `leaving` takes the lines away; none is drawn until it is over.
    """
    if signal.getsignal(signal.SIGTSTP) is not signal.SIG_DFL:
        return

    def stop(_signum: int, _frame: object) -> None:
        with leaving():
            signal.signal(signal.SIGTSTP, signal.SIG_DFL)
            signal.raise_signal(signal.SIGTSTP)  # we stand still here
        signal.signal(signal.SIGTSTP, stop)

    signal.signal(signal.SIGTSTP, stop)


def terminal_size() -> tuple[int, int]:
    """Return the columns and lines of the terminal that standard error is; variables go first."""
    size = size_of(sys.stderr)
    return _set("COLUMNS") or size.columns or WIDTH, _set("LINES") or size.lines or HEIGHT


def _set(variable: str) -> int:
    text = os.environ.get(variable, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 6 else 0


def paint(word: str, text: str) -> str:
    """Return a text in the colour of a state, unless the user wants none (no-color.org)."""
    if os.environ.get("NO_COLOR") or not os.environ.get("TERM"):
        return text
    return coloured(word, text)


MOST_ROWS = 12
KEPT_LINES = 4
"""So many lines of the terminal are left to what else was printed."""


class JobRows:
    """The rows of some jobs on standard error, a terminal."""

    def __init__(self, workspace: Workspace, database: Database, block: LiveBlock) -> None:
        self.workspace = workspace
        self.database = database
        self._block = block

    def draw(self, jobs: Iterable[Job], heading: str = "") -> None:
        """Draw those jobs anew that have not ended, below a heading if there is one.

        Their records may be those of an earlier look, except in which jobs have ended.
        """
        width, height = terminal_size()
        most = max(1, min(MOST_ROWS, height - KEPT_LINES))
        live = [job for job in jobs if not job.state.is_final]
        live.sort(key=lambda job: job.state is not JobState.RUNNING)
        rows = [*self._looked_at(live[:most]), *map(summary_row, live[most:])]
        above = [fitted(heading, width - 1)] if heading else []
        self._block.draw([*above, *block_of(rows, width - 1, most, paint)])

    def _looked_at(self, jobs: Sequence[Job]) -> list[Row]:
        now = time.time()
        staff = look_at_staff(self.workspace, self.database)
        read = [get_job(self.database, job.id) for job in jobs]
        return [
            row_of(job, look_around(self.workspace, self.database, job, now=now, staff=staff), now)
            for job in read
            if not job.state.is_final
        ]

    def clear(self) -> None:
        """Take the rows away."""
        self._block.clear()


def rows_on_stderr(workspace: Workspace, database: Database) -> JobRows:
    """Return rows on this process's terminal; Ctrl-Z takes them away before it stops us."""
    block = LiveBlock()
    leave_when_stopped(block.leaving)
    return JobRows(workspace, database, block)


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
