"""The screen of the live view: who is told what when, and what a key sets off.

Owns the loop of looks, which runs beside the drawing, so that no slow disk holds up a key; and
how the view ends, also by an error.
"""

import asyncio
import os
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from threading import Thread
from typing import ClassVar

from rich.style import Style
from rich.text import Text
from textual import work
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.css.query import NoMatches
from textual.message import Message
from textual.widgets import Input, Static
from textual.worker import WorkerFailed

from sow.calls.caller import Caller
from sow.calls.foreground import run_in_foreground
from sow.environment import own_environment, own_process
from sow.errors import ExitCode
from sow.executors.base import Launch
from sow.situation.situation import Doing
from sow.watching.commands import Ran, cannot_start, run_command
from sow.watching.contents import Tab
from sow.watching.dialogs import AskWords, Confirm, Help
from sow.watching.drawing import BAD, BOLD, MARKDOWN, NOTE
from sow.watching.head import crew_text, keys_text, title_text
from sow.watching.keys import KEY_COMMANDS, command_line, command_of, help_lines, queue_argv
from sow.watching.listing import Listing
from sow.watching.looking import NOT_LOOKED, Looks
from sow.watching.pane import Pane
from sow.watching.snapshot import Group, Row
from sow.watching.terminal import Terminal, is_closed

MOST_LINES = 4
"""How many lines of a command's output are shown."""
TICK_SECONDS = 0.5
"""How often the queue is asked whether anything is new: a query by number."""
NOTHING = "No task and no job is here. `sow next` says what comes next."
NOT_FOUND = "No row has these words. Esc shows all again."


class Filter(Input):
    """Asks for words that rows must hold; hidden while it has none."""

    DEFAULT_CSS = """
    Filter, Filter:focus {
        height: 1; border: none; padding: 0; display: none; background: ansi_default;
    }
    Filter.shown { display: block; }
    """

    def __init__(self) -> None:
        super().__init__(placeholder="words to look for")

    def open(self) -> None:
        """Ask."""
        self.add_class("shown")
        self.focus()

    def rest(self) -> None:
        """Stay where there are words, and go away where there are none."""
        self.set_class(bool(self.value.strip()), "shown")

    def leave(self) -> bool:
        """Forget the words; return whether it was there."""
        is_shown = self.has_class("shown")
        self.value = ""
        self.rest()
        return is_shown


def filtered(groups: Sequence[Group], words: str) -> Sequence[Group]:
    """Return the rows that hold all of some words, in whatever of their columns."""
    wanted = words.casefold().split()
    if not wanted:
        return groups
    found = []
    for group in groups:
        rows = [row for row in group.rows if all(word in _text_of(row) for word in wanted)]
        if rows:
            found.append(Group(group.title, group.about, rows))
    return found


def _text_of(row: Row) -> str:
    parts = (row.key, row.name, row.who, row.executor, row.state, row.note)
    return " ".join(parts).casefold()


def _cause(error: BaseException) -> BaseException:
    return error.error if isinstance(error, WorkerFailed) else error


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

    def run(self, argv: Sequence[str], *, for_person: bool = False) -> None:
        """Run a command beside the view; it goes on if the view is left."""
        self._show(Text(f"$ {command_line(argv)}  …", NOTE))

        def run() -> None:
            ran = run_command(argv, caller.cwd, caller.environ, for_person=for_person)
            self.post_message(self.Ended(ran))

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


class WatchApp(App[None]):
    """The live view of one workspace."""

    ENABLE_COMMAND_PALETTE = False
    CSS = """
    Listing, RichLog, VerticalScroll {
        scrollbar-color: ansi_blue; scrollbar-background: ansi_default;
        scrollbar-color-hover: ansi_cyan; scrollbar-background-hover: ansi_default;
        scrollbar-color-active: ansi_cyan; scrollbar-background-active: ansi_default;
    }
    #head, #crew, #keys, #tabs { height: 1; text-wrap: nowrap; text-overflow: ellipsis; }
    #faults { height: auto; max-height: 5; display: none; }
    #faults.shown { display: block; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q,ctrl+c,ctrl+q", "quit", show=False, priority=False),
        Binding("enter,f", "follow", show=False),
        Binding("escape", "leave", show=False),
        Binding("question_mark", "help", show=False),
        Binding("slash", "filter", show=False),
        Binding("v", "fold", show=False),
        Binding("p", "queue", show=False),
        Binding("left", "next_tab(-1)", show=False),
        Binding("right", "next_tab(1)", show=False),
        *(Binding(str(n), f"tab('{tab.value}')", show=False) for n, tab in enumerate(Tab, 1)),
        *(Binding(each.key, f"command_of_key('{each.key}')", show=False) for each in KEY_COMMANDS),
    ]

    def __init__(self, caller: Caller, styles: Mapping[str, Style]) -> None:
        # Asked here: without colours Textual chooses here how it does without them.
        super().__init__(driver_class=Terminal, ansi_color=True)
        self.theme = "ansi-dark"
        self._caller = caller
        self._styles = styles
        self._looks = Looks(caller.workspace, caller.now)
        self._snapshot = NOT_LOOKED

    def compose(self) -> ComposeResult:
        """Yield the parts, from top to bottom."""
        yield Static(id="head")
        yield Static(id="crew")
        yield Static(id="faults")
        yield Listing(self._styles)
        yield Pane(self._caller, self._looks)
        yield CommandOutput(self._caller)
        yield Filter()
        yield Static(id="keys")

    def on_mount(self) -> None:
        """Begin to look."""
        self.console.push_theme(MARKDOWN)
        for signum in (signal.SIGTERM, signal.SIGHUP):
            asyncio.get_running_loop().add_signal_handler(signum, self.exit)
        self._listing.focus()
        self._watch()

    @property
    def failure(self) -> BaseException | None:
        """What has ended the view; None where somebody has left it."""
        return None if self._exception is None else _cause(self._exception)

    def _handle_exception(self, error: Exception) -> None:
        """End. Whoever has begun the view tells why; Textual would print pages of its own."""
        if isinstance(_cause(error), NoMatches) and not self.is_running:
            return  # of a view that was left: its parts are gone
        self._return_code = int(ExitCode.FAILED)
        if self._exception is None:
            self._exception = error
            self._exception_event.set()
        self._close_messages_no_wait()

    @property
    def _listing(self) -> Listing:
        return self.query_one(Listing)

    @property
    def _pane(self) -> Pane:
        return self.query_one(Pane)

    @work
    async def _watch(self) -> None:
        """Look again and again, beside the drawing."""
        doing: Mapping[int, Doing] = {}
        try:
            while self.is_headless or not is_closed(0):
                found = await asyncio.to_thread(self._looks.look)
                if not self.is_running:  # it was left meanwhile, and its parts are gone
                    return
                if found is not None:
                    self._snapshot = found
                    self._show()
                live = [row.job for row in self._listing.visible_rows if row.job is not None]
                news = await asyncio.to_thread(self._looks.doing, live)
                if not self.is_running:
                    return
                doing = {**doing, **(news or {})}
                self._listing.tell(doing, self._caller.now())
                await asyncio.sleep(TICK_SECONDS)
        finally:
            self._looks.close()
        self.exit()

    def _show(self) -> None:
        """Show what the last look has found."""
        self.query_one("#head", Static).update(title_text(self._snapshot))
        self.query_one("#crew", Static).update(crew_text(self._snapshot))
        faults = self.query_one("#faults", Static)
        faults.set_class(bool(self._snapshot.faults), "shown")
        faults.update(Text("\n".join(self._snapshot.faults), BAD))
        self._show_rows()

    def _show_rows(self) -> None:
        words, groups = self.query_one(Filter).value, self._snapshot.groups
        self._listing.show(filtered(groups, words), NOT_FOUND if groups else NOTHING)

    def on_listing_chosen(self, event: Listing.Chosen) -> None:
        """Show what can be done with the row, and its pane."""
        self.query_one("#keys", Static).update(keys_text(event.row, self._snapshot.crew))
        self._pane.tell(event.row)

    def action_follow(self) -> None:
        """Open the pane on the agent of the chosen row, or close it."""
        self._open_pane(None if self._pane.tab is Tab.AGENT else Tab.AGENT)

    def action_tab(self, name: str) -> None:
        """Open the pane on a tab."""
        self._open_pane(Tab(name))

    def action_next_tab(self, step: int) -> None:
        """Go to the tab beside."""
        tabs = list(Tab)
        if self._pane.tab is not None:
            place = tabs.index(self._pane.tab) + step
            self._open_pane(tabs[place % len(tabs)])

    def _open_pane(self, tab: Tab | None) -> None:
        self._pane.open(tab)
        if tab is None:
            self._listing.focus()

    def action_leave(self) -> None:
        """Put away what was opened last: the filter, what a command has said, the pane."""
        if self.query_one(Filter).leave():
            self._listing.focus()
        elif not self.query_one(CommandOutput).leave():
            self._open_pane(None)

    def action_fold(self) -> None:
        """Unfold or fold what is in the pane."""
        self._pane.fold()

    def action_filter(self) -> None:
        """Ask for words that rows must hold."""
        self.query_one(Filter).open()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Show the rows that hold the words typed so far."""
        if isinstance(event.input, Filter):
            self._show_rows()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Go back to the list, which stays filtered."""
        if isinstance(event.input, Filter):
            event.input.rest()
            self._listing.focus()

    def action_help(self) -> None:
        """Show what each key does, and would run now."""
        self.push_screen(Help(list(help_lines(self._listing.chosen, self._snapshot.crew))))

    def action_queue(self) -> None:
        """Pause the queue, or let it go on."""
        self.query_one(CommandOutput).run(queue_argv(self._snapshot.crew))

    @work
    async def action_command_of_key(self, key: str) -> None:
        """Do with the chosen row what a key stands for, after what is to be asked."""
        row = self._listing.chosen
        command = command_of(key, row)
        if command is None or row is None:
            return
        title, words = f"{command.name} {row.key}", ""
        if command.asks_words:
            typed = await self.push_screen_wait(
                AskWords(f"{title}: {command.asks_words}", row.note, partial(command.argv, row))
            )
            if typed is None:
                return
            words = typed
        argv = command.argv(row, words)
        if command.asks and not await self.push_screen_wait(Confirm(title, command.asks, argv)):
            return
        shell = self.query_one(CommandOutput)
        if command.takes_terminal:
            shell.run_on_terminal(argv)
        else:
            shell.run(argv, for_person=command.for_person)
