"""The screen of the live view: who is told what when, and what a key sets off.

Owns the loop of looks, which runs beside the drawing, so that no slow disk holds up a key.
"""

import asyncio
import os
import signal
from collections.abc import Mapping, Sequence
from functools import partial
from threading import Thread
from typing import ClassVar

from rich.style import Style
from rich.text import Text
from rich.theme import Theme
from textual import work
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Input, Static

from sow.calls.caller import Caller
from sow.calls.foreground import run_in_foreground
from sow.environment import own_environment, own_process
from sow.executors.base import Launch
from sow.situation.situation import Doing
from sow.watching.commands import Ran, run_command
from sow.watching.contents import Look, Piece, Tab, read_tab, tab_command
from sow.watching.dialogs import AskWords, Confirm, Help
from sow.watching.following import Following
from sow.watching.head import crew_text, title_text
from sow.watching.keys import DEEDS, Deed, command_line, deed_of, deeds_for, queue_argv
from sow.watching.lines import count_words
from sow.watching.listing import Listing
from sow.watching.looking import NOT_LOOKED, Looks
from sow.watching.palette import BAD, BOLD, NOTE
from sow.watching.pane import Pane
from sow.watching.snapshot import Group, Row

TICK_SECONDS = 0.5
"""How often the queue is asked whether anything is new: a query by number."""
TAB_SECONDS = 2.0
"""How often a tab's files are read again while it is shown."""
MOST_SAID = 4
"""How many lines of what a command has said are shown."""
MARKDOWN = Theme(
    {
        "markdown.code": "bold cyan",
        "markdown.code_block": "cyan",
        "markdown.h1": "bold",
        "markdown.h2": "bold",
        "markdown.h3": "bold",
        "markdown.link": "underline",
        "markdown.link_url": "underline",
        "markdown.item.bullet": "bold",
        "markdown.item.number": "bold",
    }
)
"""The palette of the terminal and no backgrounds, so that it is readable on any."""
MOVES = (
    ("↑ ↓", "Choose a row; PgUp, PgDn, Home and End go further."),
    ("Enter", "Follow the chosen row in the pane below; again, close the pane."),
    ("1 … 5", "The pane's tabs; ← and → go to the next one."),
    ("Tab", "Go from the list to the pane, to scroll there, and back."),
    ("v", "Unfold what tools were told and have answered, or fold it again."),
    ("/", "Show only rows with these words; Esc shows all again."),
)
"""The keys that run no command."""


class WatchApp(App[None]):
    """The live view of one workspace."""

    ENABLE_COMMAND_PALETTE = False
    CSS = """
    Listing, RichLog, VerticalScroll {
        scrollbar-color: ansi_blue; scrollbar-background: ansi_default;
        scrollbar-color-hover: ansi_cyan; scrollbar-background-hover: ansi_default;
        scrollbar-color-active: ansi_cyan; scrollbar-background-active: ansi_default;
    }
    #head, #crew, #keys { height: 1; }
    #faults, #said { height: auto; max-height: 5; display: none; }
    #faults.shown, #said.shown { display: block; }
    #filter, #filter:focus {
        height: 1; border: none; padding: 0; display: none; background: ansi_default;
    }
    #filter.shown { display: block; }
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
        *(Binding(deed.key, f"deed('{deed.key}')", show=False) for deed in DEEDS),
    ]

    def __init__(self, caller: Caller, styles: Mapping[str, Style]) -> None:
        # Said at once: without colours Textual chooses here how it does without them.
        super().__init__(ansi_color=True)
        self.theme = "ansi-dark"
        self._caller = caller
        self._styles = styles
        self._looks = Looks(caller.workspace, caller.now)
        self._snapshot = NOT_LOOKED
        self._doing: Mapping[int, Doing] = {}
        self._wanted = ""
        self._following: Following | None = None
        self._pieces: Sequence[Piece] = ()

    def compose(self) -> ComposeResult:
        """Yield the parts, from top to bottom."""
        yield Static(id="head")
        yield Static(id="crew")
        yield Static(id="faults")
        yield Listing(self._styles)
        yield Pane()
        yield Static(id="said")
        yield Input(id="filter", placeholder="words to look for")
        yield Static(id="keys")

    def on_mount(self) -> None:
        """Begin to look."""
        self.console.push_theme(MARKDOWN)
        for signum in (signal.SIGTERM, signal.SIGHUP):
            asyncio.get_running_loop().add_signal_handler(signum, self.exit)
        self._listing.focus()
        self._watch()
        self._read_pane()

    @property
    def _listing(self) -> Listing:
        return self.query_one(Listing)

    @property
    def _pane(self) -> Pane:
        return self.query_one(Pane)

    @work(exclusive=True, group="watch")
    async def _watch(self) -> None:
        """Look again and again, beside the drawing."""
        try:
            while True:
                found = await asyncio.to_thread(self._looks.look)
                if found is not None:
                    self._snapshot = found
                    self._show()
                live = [row.job for row in self._listing.visible_rows if row.job is not None]
                doing = await asyncio.to_thread(self._looks.doing, live)
                if doing is not None:
                    self._doing = {**self._doing, **doing}
                self._listing.tell(self._doing, self._caller.now())
                await asyncio.sleep(TICK_SECONDS)
        finally:
            self._looks.close()

    def _show(self) -> None:
        """Show a snapshot."""
        self.query_one("#head", Static).update(title_text(self._snapshot))
        self.query_one("#crew", Static).update(crew_text(self._snapshot))
        faults = self.query_one("#faults", Static)
        faults.set_class(bool(self._snapshot.faults), "shown")
        faults.update(Text("\n".join(self._snapshot.faults), BAD))
        self._listing.show(filtered(self._snapshot.groups, self._wanted))

    def on_listing_chosen(self, event: Listing.Chosen) -> None:
        """Show what can be done with the row, and its pane."""
        self._show_keys(event.row)
        if self._pane.is_open:
            self._title_pane()
            self._read_pane()

    def _show_keys(self, row: Row | None) -> None:
        text = Text(no_wrap=True, overflow="ellipsis")
        words = [("enter", "follow"), *((deed.key, deed.name) for deed in deeds_for(row))]
        queue = queue_argv(self._snapshot.crew)[1]
        for key, name in [*words, ("p", f"{queue} queue"), ("/", "filter"), ("?", "help")]:
            text.append(f"{key} ", BOLD)
            text.append(f"{name}  ")
        self.query_one("#keys", Static).update(text)

    @work(exclusive=True, group="pane")
    async def _read_pane(self) -> None:
        """Fill the pane with its tab of the chosen row, and go on as that grows."""
        row = self._listing.chosen
        if not self._pane.is_open or row is None:
            return
        if self._pane.tab is Tab.AGENT:
            await self._follow(row)
        else:
            await self._read_files(row, self._pane.tab)

    async def _follow(self, row: Row) -> None:
        following = self._following
        if following is None or following.job.id != row.job:
            self._following = following = None
            job = await asyncio.to_thread(self._looks.job, row.job)
            if job is None:
                words = (
                    "It has had no agent yet." if row.job is None else "No record of it is left."
                )
                self._pane.show([Piece(Look.NOTE, words)], from_end=True)
                return
            following = Following(self._caller.workspace, job)
            pieces = await asyncio.to_thread(following.read, self._caller.now())
            nothing = [Piece(Look.NOTE, "Nothing is there to read yet.")]
            self._pane.show(pieces or nothing, from_end=True)
            self._following = following
        while True:
            await asyncio.sleep(TICK_SECONDS)
            self._pane.add(await asyncio.to_thread(following.read, self._caller.now()))

    async def _read_files(self, row: Row, tab: Tab) -> None:
        self._following = None
        before: Sequence[Piece] | None = None
        read = partial(read_tab, self._caller.workspace, tab, row.task, self._caller.environ)
        while True:
            pieces = (
                await asyncio.to_thread(read) if row.task else [Piece(Look.NOTE, "It has no task.")]
            )
            if pieces != before:
                self._pane.show(pieces, from_end=tab is Tab.LOG)
            before = pieces
            if tab is Tab.DIFF or not row.task:  # a diff costs a command; a change of the row asks
                return
            await asyncio.sleep(TAB_SECONDS)

    def _title_pane(self) -> None:
        row = self._listing.chosen
        if row is not None:
            argv = tab_command(self._pane.tab, row.task, row.job)
            used = f", {count_words(row.tokens)} tokens" if row.tokens else ""
            self._pane.title(f"{row.key} {row.who}{used}", argv)

    def action_follow(self) -> None:
        """Open the pane on the agent of the chosen row, or close it."""
        is_followed = self._pane.is_open and self._pane.tab is Tab.AGENT
        self._open_pane(None if is_followed else Tab.AGENT)

    def action_tab(self, name: str) -> None:
        """Open the pane on a tab."""
        self._open_pane(Tab(name))

    def action_next_tab(self, step: int) -> None:
        """Go to the tab beside."""
        tabs = list(Tab)
        if self._pane.is_open:
            place = tabs.index(self._pane.tab) + step
            self._open_pane(tabs[place % len(tabs)])

    def _open_pane(self, tab: Tab | None) -> None:
        self._following = None
        self._pane.set_class(tab is not None, "open")
        if tab is None:
            self._listing.focus()
        else:
            self._pane.tab = tab
            self._pane.show([], from_end=True)
            self._title_pane()
        self._read_pane()

    def action_leave(self) -> None:
        """Put away what was opened last: the filter, what a command has said, the pane."""
        answer = self.query_one("#said", Static)
        if self._wanted or self.query_one("#filter", Input).has_class("shown"):
            self._filter_by("")
            self._end_filter()
        elif answer.has_class("shown"):
            answer.remove_class("shown")
        elif self._pane.is_open:
            self._open_pane(None)

    def action_fold(self) -> None:
        """Unfold or fold what is in the pane."""
        self._pane.fold()

    def action_filter(self) -> None:
        """Ask for words that rows must hold."""
        box = self.query_one("#filter", Input)
        box.add_class("shown")
        box.focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Show the rows that hold the words typed so far."""
        if event.input.id == "filter":
            self._filter_by(event.value)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Go back to the list, which stays filtered."""
        if event.input.id == "filter":
            self._end_filter()

    def _filter_by(self, words: str) -> None:
        self._wanted = words.strip().casefold()
        self._listing.show(filtered(self._snapshot.groups, self._wanted))

    def _end_filter(self) -> None:
        box = self.query_one("#filter", Input)
        box.value = self._wanted
        box.set_class(bool(self._wanted), "shown")
        self._listing.focus()

    def action_help(self) -> None:
        """Show what each key does, and would run now."""
        row = self._listing.chosen
        fitting = deeds_for(row)
        lines = [(key, about, "") for key, about in MOVES]
        for deed in DEEDS:
            fits = row is not None and deed in fitting
            lines.append((deed.key, deed.about, _line_of(deed, row) if fits and row else ""))
        queue = queue_argv(self._snapshot.crew)
        lines.append(("p", "Pause the queue, or let it go on.", command_line(queue)))
        lines.append(("q", "Leave. Agents, workers and commands go on.", ""))
        self.push_screen(Help(lines))

    def action_queue(self) -> None:
        """Pause the queue, or let it go on."""
        self._run(queue_argv(self._snapshot.crew))

    @work(group="deed")
    async def action_deed(self, key: str) -> None:
        """Do with the chosen row what a key stands for, after what is to be asked."""
        row = self._listing.chosen
        deed = deed_of(key, row)
        if deed is None or row is None:
            return
        title, words = f"{deed.name} {row.key}", ""
        if deed.asks_words:
            typed = await self.push_screen_wait(
                AskWords(f"{title}: {deed.asks_words}", row.note, partial(deed.argv, row))
            )
            if typed is None:
                return
            words = typed
        argv = deed.argv(row, words)
        if deed.asks and not await self.push_screen_wait(Confirm(title, deed.asks, argv)):
            return
        if deed.takes_terminal:
            self._run_on_terminal(argv)
        else:
            self._run(argv)

    def _run(self, argv: Sequence[str]) -> None:
        """Run a command beside the view; it goes on if the view is left."""
        self._say(Text(f"$ {command_line(argv)}  …", NOTE))

        def run() -> None:
            ran = run_command(argv, self._caller.cwd, self._caller.environ)
            self.call_from_thread(self._tell_end, ran)

        Thread(target=run, daemon=True).start()

    def _run_on_terminal(self, argv: Sequence[str]) -> None:
        """Give the terminal to a command until it has ended."""
        environ = own_environment(self._caller.environ)
        launch = Launch(tuple(own_process("sow", *argv)), "", self._caller.cwd)
        with self.suspend():
            print(f"$ {command_line(argv)}", flush=True)
            code = run_in_foreground(launch, environ)
            print("Enter leads back to the view.", end="", flush=True)
            os.read(0, 1024)
        self._tell_end(Ran(argv, code, ()))

    def _tell_end(self, ran: Ran) -> None:
        text = Text(f"$ {command_line(ran.argv)}", BOLD)
        if ran.code:
            text.append(f"  (exit {ran.code})", BAD)
        for line in ran.lines[:MOST_SAID]:
            text.append(f"\n{line}", BAD if ran.code else "")
        if len(ran.lines) > MOST_SAID:
            text.append(f"\n… and {len(ran.lines) - MOST_SAID} lines more", NOTE)
        self._say(text)

    def _say(self, text: Text) -> None:
        answer = self.query_one("#said", Static)
        answer.update(text)
        answer.add_class("shown")


def _line_of(deed: Deed, row: Row) -> str:
    return command_line(deed.argv(row, "…"))


def filtered(groups: Sequence[Group], words: str) -> Sequence[Group]:
    """Return the rows that hold all of some words, in whatever of their columns."""
    if not words:
        return groups
    found = []
    for group in groups:
        rows = [row for row in group.rows if all(word in _text_of(row) for word in words.split())]
        if rows:
            found.append(Group(group.title, group.about, rows))
    return found


def _text_of(row: Row) -> str:
    parts = (row.key, row.name, row.who, row.executor, row.state, row.note)
    return " ".join(parts).casefold()
