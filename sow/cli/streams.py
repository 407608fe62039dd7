"""The standard streams of a command, whatever its caller has closed, filled or left unread.

Owns that a command always has three of them, and that nothing it says on
standard error can fail it: what it did stands, and its exit code tells how it
went. Standard output is different: a program reads it, so a result that could
not be written there is an error of its own (`sow.cli.root`).

Owns too that nothing which agents and files say steers a person's terminal,
whichever command shows it; programs get every text as it is.
"""

import errno
import io
import os
import sys
from contextlib import suppress
from typing import cast

from sow.terminal_text import without_steering


class Terminal(io.TextIOWrapper):
    """A stream that is a person's terminal: what would steer it is left out of any text."""

    def write(self, text: str) -> int:
        """Write a text, without what would steer the terminal."""
        super().write(without_steering(text))
        return len(text)

    def steer(self, text: str) -> None:
        """Write our own words with whatever is in them."""
        super().write(text)
        self.flush()


class Heedless(io.FileIO):
    """A descriptor to which writing never fails: what cannot be written is dropped."""

    def write(self, data: object) -> int:
        """Write what can be written; the rest is taken as written."""
        size = memoryview(data).nbytes  # type: ignore[arg-type] # any buffer
        try:
            written = super().write(data)  # type: ignore[arg-type]
        except OSError:
            return size
        return size if written is None else written


def have_streams() -> None:
    """Give the process the streams that its caller has closed, and let them take any text.

    Else the first file that is opened would become standard output, of us or
    of a program that we start. What the terminal's encoding cannot say is
    shown escaped.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        _fill(number)
        if getattr(sys, name) is None:
            mode = "w" if number else "r"
            stream = open(os.devnull, mode, encoding="utf-8")  # noqa: SIM115, PTH123 - for good
            setattr(sys, name, stream)
    sys.stderr = _heedless(sys.stderr)
    sys.stdout = _for_a_person(sys.stdout)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def steer(text: str) -> None:
    """Write our own words to standard error, a terminal, with what steers it."""
    if isinstance(sys.stderr, Terminal):
        sys.stderr.steer(text)
    else:
        sys.stderr.write(text)
        sys.stderr.flush()


def wait_for_more(seconds: float) -> None:
    """Wait so long. Raises BrokenPipeError at once when whoever reads our output has closed it."""
    # Only what waits needs it.
    import select

    poller = select.poll()
    try:
        poller.register(sys.stdout.fileno(), 0)
    except (OSError, ValueError):  # no descriptor stands behind it
        select.select([], [], [], seconds)
        return
    if any(event & (select.POLLERR | select.POLLNVAL) for _, event in poller.poll(seconds * 1000)):
        raise BrokenPipeError


def silence_stdout() -> None:
    """Point stdout nowhere, so that the interpreter's own flush at exit stays quiet."""
    with suppress(OSError, ValueError, AttributeError):  # closed, or never there
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fill(number: int) -> None:
    """Open a standard descriptor that is closed, for us and for the programs that we start."""
    try:
        os.fstat(number)
    except OSError as error:
        if error.errno != errno.EBADF:
            return
        with suppress(OSError):
            opened = os.open(os.devnull, os.O_RDWR)
            if opened == number:
                os.set_inheritable(opened, True)
            else:
                os.dup2(opened, number)
                os.close(opened)


def _heedless(stream: object) -> io.TextIOWrapper:
    """Return the interpreter's own stderr as one that cannot fail; any other one as it is.

    Others belong to whoever put them there: tests, or a program that calls us.
    """
    if stream is not sys.__stderr__ or type(stream) is not io.TextIOWrapper:
        return cast("io.TextIOWrapper", stream)
    try:
        raw = Heedless(stream.fileno(), "w", closefd=False)
    except (OSError, ValueError):
        return stream
    form = Terminal if raw.isatty() else io.TextIOWrapper
    return form(
        io.BufferedWriter(raw),
        encoding=stream.encoding,
        errors="backslashreplace",
        line_buffering=True,
        write_through=True,
    )


def _for_a_person(stream: object) -> io.TextIOWrapper:
    """Return the interpreter's own stdout as a Terminal if it is one; any other as it is."""
    if stream is not sys.__stdout__ or type(stream) is not io.TextIOWrapper:
        return cast("io.TextIOWrapper", stream)
    if not stream.isatty():
        return stream
    raw = io.FileIO(stream.fileno(), "w", closefd=False)
    return Terminal(io.BufferedWriter(raw), encoding=stream.encoding, line_buffering=True)
