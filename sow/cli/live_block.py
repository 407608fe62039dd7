"""A few lines at the bottom of a terminal that are drawn over and over, and taken away again.

Owns the moves of the cursor, and how large the terminal is. Nothing else may be written
to the terminal between `draw` and `clear`, but by a shell while the process is stopped.
"""

import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

from sow.cli.output import coloured
from sow.cli.output import terminal_size as size_of
from sow.cli.streams import steer
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


class Leaving(Protocol):
    """What draws lines, and can keep off the terminal for a while."""

    def leaving(self) -> AbstractContextManager[None]:
        """Take the lines away, and draw none until this is over."""


def leave_when_stopped(drawer: Leaving) -> None:
    """Have Ctrl-Z take the lines away before it stops us, and leave what the shell says then alone.

    From now on, and in the main thread. Where somebody has said what it does, it does that.
    """
    if signal.getsignal(signal.SIGTSTP) is not signal.SIG_DFL:
        return

    def stop(_signum: int, _frame: object) -> None:
        with drawer.leaving():
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
