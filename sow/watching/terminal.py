"""The terminal of the view, and what becomes of it: closed under it, or sending what is no text.

Owns that neither hangs the view. Textual's own driver ends its writer at the first failed write,
after which the screen waits for a queue that nobody empties; its reader ends at the first byte that
is no UTF-8, and reads the end of a closed terminal again and again.
"""

import os
import select
import sys
from codecs import getincrementaldecoder
from contextlib import suppress
from io import TextIOWrapper
from typing import TextIO, cast

from textual._xterm_parser import XTermParser
from textual.app import App
from textual.drivers.linux_driver import LinuxDriver

LONGEST_MILLISECONDS = 100
"""How long the reader sleeps at most: then it looks whether the view has ended."""
MOST_BYTES = 4096


class Lenient:
    """A stream to a terminal that may be gone: what can no longer be shown is dropped."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> None:
        """Write a text, as long as somebody is there."""
        with suppress(OSError):
            self._stream.write(text)

    def flush(self) -> None:
        """Hand over what was written."""
        with suppress(OSError):
            self._stream.flush()

    def fileno(self) -> int:
        """Return the descriptor."""
        return self._stream.fileno()


class Terminal(LinuxDriver):
    """The driver of a terminal that may go away, or send anything."""

    def __init__(
        self,
        app: App[None],
        *,
        debug: bool = False,
        mouse: bool = True,
        size: tuple[int, int] | None = None,
    ) -> None:
        super().__init__(app, debug=debug, mouse=mouse, size=size)
        self._file = cast("TextIOWrapper", Lenient(cast("TextIO", sys.__stderr__)))

    def run_input_thread(self) -> None:
        """Read keys until the view ends, or the terminal; what is no text is no key."""
        parser = XTermParser(self._debug)
        decode = getincrementaldecoder("utf-8")("replace").decode
        asked = select.poll()
        asked.register(self.fileno, select.POLLIN)
        while not self.exit_event.is_set():
            if asked.poll(LONGEST_MILLISECONDS):
                data = _read(self.fileno)
                if not data:
                    return
                for event in parser.feed(decode(data)):
                    self.process_message(event)
            for event in parser.tick():  # an escape that nothing has followed is a key
                self.process_message(event)


def _read(descriptor: int) -> bytes:
    """Return what was typed; nothing once the terminal is closed."""
    with suppress(OSError):
        return os.read(descriptor, MOST_BYTES)
    return b""


def is_closed(descriptor: int) -> bool:
    """Whether the terminal of a descriptor is gone."""
    asked = select.poll()
    asked.register(descriptor, 0)
    return bool(asked.poll(0))
