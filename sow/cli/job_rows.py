"""Jobs at work, as rows at the bottom of a terminal: looked at, drawn over and over, taken away.

Owns the moves of the cursor, how large the terminal is, how many rows are shown at most, and the
looking: only those that are shown are read again and looked around, for with a thousand jobs each
look would cost a second. Nothing else may be written to the terminal between `draw` and `clear`,
but by a shell while the process is stopped. What a row says is `live_rows`.
"""

import os
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager

from sow.cli.live_rows import Row, block_of, fitted, row_of, summary_row
from sow.cli.output import coloured
from sow.cli.output import terminal_size as size_of
from sow.cli.streams import steer
from sow.jobs.database import Database
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
