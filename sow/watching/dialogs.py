"""What the view asks before a command is run, and its page of help."""

from collections.abc import Callable, Sequence
from typing import ClassVar

from rich.table import Table
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from sow.watching.drawing import BOLD, NOTE
from sow.watching.keys import command_line

BOX = """
    align: center middle;
    & > VerticalScroll {
        width: 90%; max-width: 100; height: auto; max-height: 100%;
        border: round ansi_blue; padding: 0 1; background: ansi_default;
    }
    & Input, & Input:focus {
        border: none; height: 1; padding: 0; margin: 1 0; background: ansi_default;
    }
"""
LEAVE = Binding("escape", "leave", show=False)


class AskWords(ModalScreen[str | None]):
    """Asks for words, and shows the command that they become; None where somebody has left."""

    DEFAULT_CSS = f"AskWords {{ {BOX} }}"
    BINDINGS: ClassVar[list[BindingType]] = [LEAVE]

    def __init__(self, title: str, question: str, argv: Callable[[str], Sequence[str]]) -> None:
        super().__init__()
        self._title, self._question, self._argv = title, question, argv

    def compose(self) -> ComposeResult:
        """Yield the parts."""
        with VerticalScroll(can_focus=False):
            yield Static(Text(self._title, BOLD))
            if self._question:
                yield Static(Text(self._question))
            yield Input(placeholder="your words")
            yield Static(self._command(""), id="command")
            yield Static(Text("Enter runs it, Esc leaves.", NOTE))

    def on_input_changed(self, event: Input.Changed) -> None:
        """Show the command with the words as they stand."""
        self.query_one("#command", Static).update(self._command(event.value))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Take the words; none are no answer."""
        if event.value.strip():
            self.dismiss(event.value)

    def action_leave(self) -> None:
        """Run nothing."""
        self.dismiss(None)

    def _command(self, words: str) -> Text:
        return Text(command_line(self._argv(words or "…")))


class Confirm(ModalScreen[bool]):
    """Asks whether a command is to be run that cannot be undone."""

    DEFAULT_CSS = f"Confirm {{ {BOX} }}"
    BINDINGS: ClassVar[list[BindingType]] = [
        LEAVE,
        Binding("n", "leave", show=False),
        Binding("y", "agree", show=False),
    ]

    def __init__(self, title: str, question: str, argv: Sequence[str]) -> None:
        super().__init__()
        self._title, self._question, self._argv = title, question, argv

    def compose(self) -> ComposeResult:
        """Yield the parts."""
        with VerticalScroll():
            yield Static(Text(self._title, BOLD))
            yield Static(Text(self._question))
            yield Static(Text(f"\n{command_line(self._argv)}\n"))
            yield Static(Text("y runs it, n or Esc leaves.", NOTE))

    def action_agree(self) -> None:
        """Run it."""
        self.dismiss(True)

    def action_leave(self) -> None:
        """Run nothing."""
        self.dismiss(False)


class Help(ModalScreen[None]):
    """Says what each key does, with the command that it would run now."""

    DEFAULT_CSS = f"Help {{ {BOX} }}"
    BINDINGS: ClassVar[list[BindingType]] = [
        LEAVE,
        Binding("question_mark,q,enter", "leave", show=False),
    ]

    def __init__(self, lines: Sequence[tuple[str, str, str]]) -> None:
        """`lines`: the key, what it does, and its command."""
        super().__init__()
        self._lines = lines

    def compose(self) -> ComposeResult:
        """Yield the parts."""
        with VerticalScroll():
            table = Table.grid(padding=(0, 2))
            for key, about, command in self._lines:
                text = Text(about)
                if command:
                    text.append(f"\n{command}", NOTE)
                table.add_row(Text(key, BOLD, no_wrap=True), text)
            table.add_row()
            table.add_row(Text("Esc", BOLD), Text("Leaves this page."))
            yield Static(table)

    def action_leave(self) -> None:
        """Go back."""
        self.dismiss(None)
