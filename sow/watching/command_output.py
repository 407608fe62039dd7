"""The lines that show which command was run, and what it printed.

Owns how a command runs: beside the view, or on the terminal in its place.
"""

import os
from collections.abc import Sequence
from contextlib import suppress
from threading import Thread

from rich.text import Text
from textual.message import Message
from textual.widgets import Static

from sow.calls.caller import Caller
from sow.calls.foreground import run_in_foreground
from sow.environment import own_environment, own_process
from sow.executors.base import Launch
from sow.watching.commands import Ran, cannot_start, run_command
from sow.watching.keys import command_line
from sow.watching.palette import BAD, BOLD, NOTE

MOST_LINES = 4
"""How many lines of a command's output are shown."""


class CommandOutput(Static):
    """The output of the last command; hidden after Escape."""

    DEFAULT_CSS = """
    CommandOutput { height: auto; max-height: 5; display: none; }
    CommandOutput.shown { display: block; }
    """

    class Ended(Message):
        """A command has ended."""

        def __init__(self, ran: Ran) -> None:
            super().__init__()
            self.ran = ran

    def __init__(self, caller: Caller) -> None:
        super().__init__()
        self._caller = caller

    def run(self, argv: Sequence[str]) -> None:
        """Run a command beside the view; it goes on if the view is left."""
        self._show(Text(f"$ {command_line(argv)}  …", NOTE))

        def run() -> None:
            self.post_message(self.Ended(run_command(argv, caller.cwd, caller.environ)))

        caller = self._caller
        Thread(target=run, daemon=True).start()

    def run_on_terminal(self, argv: Sequence[str]) -> None:
        """Give the terminal to a command until it has ended."""
        with self.app.suspend():
            ran = _on_terminal(argv, self._caller)
        self.post_message(self.Ended(ran))

    def on_command_output_ended(self, event: Ended) -> None:
        """Show how a command has ended, and its first lines."""
        ran = event.ran
        text = Text(f"$ {command_line(ran.argv)}", BOLD)
        if ran.code:
            text.append(f"  (exit {ran.code})", BAD)
        for line in ran.lines[:MOST_LINES]:
            text.append(f"\n{line}", BAD if ran.code else "")
        if len(ran.lines) > MOST_LINES:
            text.append(f"\n… and {len(ran.lines) - MOST_LINES} lines more", NOTE)
        self._show(text)

    def leave(self) -> bool:
        """Put it away; return whether it was there."""
        is_shown = self.has_class("shown")
        self.remove_class("shown")
        return is_shown

    def _show(self, text: Text) -> None:
        self.update(text)
        self.add_class("shown")


def _on_terminal(argv: Sequence[str], caller: Caller) -> Ran:
    launch = Launch(tuple(own_process("sow", *argv)), "", caller.cwd)
    try:
        print(f"$ {command_line(argv)}", flush=True)
        code = run_in_foreground(launch, own_environment(caller.environ))
    except OSError as error:
        return cannot_start(argv, error)
    with suppress(OSError):  # the terminal may be gone
        print("Enter leads back to the view.", end="", flush=True)
        os.read(0, 1024)
    return Ran(argv, code, ())
