"""What happens in a run, written as lines of JSON on standard output, for `sow.executors.acp`.

Owns their form: an object with `type`. Words that come in pieces are put together, so that a
message is a few lines and not a line for each word. A reader who has gone, or a full disk, is no
reason to end the agent.
"""

import json
import os
import time
from contextlib import suppress
from typing import Any

MOST_CHARACTERS = 2_000
"""Words are written when they are as long as this."""
LONGEST_TEXT = 100_000
"""No line has more of them, in characters: a longer line would be noise to its reader."""
LONGEST_SECONDS = 1.0
"""Or when their first is as old as this."""
SIGN_SECONDS = 5.0
"""How often it is written that the agent thinks."""


class EventWriter:
    """Writes the events of one run."""

    def __init__(self, output: int = 1) -> None:
        self.has_written_work = False
        """Whether any word of the agent was written, or any call of a tool."""
        self._output = output
        self._is_cut = False
        """Whether the line before was written in part, as on a full disk."""
        self._text, self._message, self._since = "", "", 0.0
        self._thought_at = 0.0

    def write(self, kind: str, **fields: Any) -> None:
        """Write an event, after the words that came before it."""
        self.flush()
        self.has_written_work |= kind in ("text", "tool_use")
        with suppress(OSError):
            line = _line({"type": kind, **fields})
            line = b"\n" + line if self._is_cut else line
            while line:
                line = line[os.write(self._output, line) :]
                self._is_cut = bool(line)

    def add_text(self, text: str, message: str = "") -> None:
        """Take in words of the agent; another `message` is written apart."""
        if self._text and message != self._message:
            self.flush()
        if not self._text:
            self._since = time.monotonic()
        self._text, self._message = self._text + text, message
        if len(self._text) >= MOST_CHARACTERS:
            self.flush()

    def note_thought(self) -> None:
        """Give a sign of life now and then: its thoughts are not written."""
        if time.monotonic() - self._thought_at >= SIGN_SECONDS:
            self._thought_at = time.monotonic()
            self.write("thought")

    def flush(self, *, due_only: bool = False) -> None:
        """Write the words that were taken in (`due_only`: if they have waited for long)."""
        text = self._text
        if not text or (due_only and time.monotonic() - self._since < LONGEST_SECONDS):
            return
        self._text = ""
        for begin in range(0, len(text) if text.strip() else 0, LONGEST_TEXT):
            self.write("text", text=text[begin : begin + LONGEST_TEXT])


def _line(event: dict[str, Any]) -> bytes:
    """Return an event as a line that every reader of JSON takes, whatever the agent has sent.

    It has no half of a surrogate pair, no infinite number, and nothing that is nested too deeply.
    """
    try:
        text = json.dumps(event, ensure_ascii=False, allow_nan=False)
    except (ValueError, RecursionError):
        text = json.dumps({"type": event["type"]})
    return text.encode("utf-8", "replace") + b"\n"
