"""The pane below the list: the tabs of one row, and the text of one of them.

Owns which tab of which row is read, and how long: it goes on as that grows, and begins anew
where the row's state is another one.
"""

import asyncio
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path

from rich.cells import cell_len
from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.geometry import Size
from textual.widgets import RichLog, Static

from sow.calls.caller import Caller
from sow.clock import clock_time
from sow.errors import SowError
from sow.paths import Workspace
from sow.reports.activity import newest_attempt
from sow.reports.agent_events import Event, Kind, OutputReader
from sow.schema.job import Job
from sow.terminal_text import printable
from sow.watching.contents import Look, Piece, Tab, read_tab, tab_command
from sow.watching.drawing import BOLD, CHOSEN, NOTE, PLAIN, renderable
from sow.watching.keys import command_line
from sow.watching.lines import count_words
from sow.watching.looking import Looks
from sow.watching.snapshot import Row

LAST_EVENTS = 200
LATEST_BYTES, LATEST_EVENTS = 1 << 18, 50
"""Of what an agent has printed between two looks no more is read, and shown."""
LOOKS = {
    Kind.TEXT: Look.WORDS,
    Kind.TOOL: Look.TOOL,
    Kind.TOOL_RESULT: Look.PLAIN,
    Kind.ERROR: Look.BAD,
    Kind.RETRY: Look.BAD,
    Kind.RESULT: Look.HEADING,
    Kind.NOTE: Look.NOTE,
}
MARKS = {Kind.TOOL: "> ", Kind.TOOL_RESULT: "< ", Kind.RETRY: "! ", Kind.ERROR: "! "}
MOST_PIECES = 1000
"""What came before them is in the file; whoever wants it asks the command."""
MOST_LINES = 2000
"""As they are broken in the pane; each that was drawn costs some twenty kilobytes."""
FOLLOW_SECONDS = 0.5
"""How often an agent's output is read on."""
TAB_SECONDS = 2.0
"""How often a tab's files are read again while it is shown."""
NO_AGENT = Piece(Look.NOTE, "No agent has worked on it yet.")
NO_RECORD = Piece(Look.NOTE, "No record of it is left.")
NO_TASK = Piece(Look.NOTE, "It has no task.")
NOTHING_YET = Piece(Look.NOTE, "Nothing is there to read yet.")


def away(host: str) -> Piece:
    """Return what is shown of an agent whose output is on another host."""
    words = f"Its output is on {printable(host)}. Its log and its status come home when it ends."
    return Piece(Look.NOTE, words)


class Following:
    """Reads on in a job's output, from its end, attempt after attempt."""

    def __init__(self, workspace: Workspace, job: Job) -> None:
        self.job = job
        self._workspace = workspace
        self._attempt = 0
        self._readers: dict[Path, OutputReader] = {}

    def read(self, now: float) -> Sequence[Piece]:
        """Return what has come since the last time. Raises nothing."""
        try:
            return list(self._new(now))
        except SowError as error:
            return [Piece(Look.BAD, printable(error.message))]

    def _new(self, now: float) -> Iterator[Piece]:
        newest = newest_attempt(self._workspace.job(self.job.id)) or 0
        if newest > self._attempt:
            self._attempt, self._readers = newest, {}
            yield Piece(Look.HEADING, f"job {self.job.id}, attempt {newest}")
        for path in self._files():
            reader = self._readers.get(path)
            if reader is None:
                reader = self._readers[path] = OutputReader(path, self.job.executor)
                events = reader.read_end(LAST_EVENTS)
                if self.job.executor is None:
                    yield Piece(Look.HEADING, printable(path.stem))
            else:
                found = list(reader.read(latest=LATEST_BYTES))
                events = found[-LATEST_EVENTS:]
                if reader.passed_over or found != events:
                    yield Piece(Look.NOTE, "… more than anybody can read was passed over")
            for event in events:
                yield piece_of(event, now)

    def _files(self) -> Sequence[Path]:
        """Return what the attempt writes: its agent's output, or the logs of its commands."""
        if not self._attempt:
            return ()
        paths = self._workspace.attempt(self.job.id, self._attempt)
        if self.job.executor is not None:
            return (paths.output,)
        return sorted(paths.folder.glob(paths.check_log("*").name))


def piece_of(event: Event, now: float) -> Piece:
    """Return an event as the pane shows it: words whole, tools folded."""
    look = Look.BAD if event.failed else LOOKS[event.kind]
    if event.kind is Kind.TEXT:
        return Piece(look, event.body)
    at = f"{clock_time(event.at, now)}  " if event.at is not None else ""
    return Piece(look, f"{at}{MARKS.get(event.kind, '')}{event.title}", event.body)


class Pane(Vertical):
    """Shows one tab of one row."""

    DEFAULT_CSS = """
    Pane { height: 1.5fr; display: none; border-top: solid ansi_blue; }
    Pane:focus-within { border-top: heavy ansi_cyan; }
    Pane.open { display: block; }
    Pane > RichLog {
        height: 1fr; background: ansi_default; scrollbar-size-vertical: 1; overflow-x: hidden;
    }
    """

    def __init__(self, caller: Caller, looks: Looks) -> None:
        super().__init__()
        self.tab: Tab | None = None
        """The one that is shown; None while the pane is closed."""
        self.unfolds = False
        self._caller, self._looks = caller, looks
        self._row: Row | None = None
        self._pieces: deque[Piece] = deque(maxlen=MOST_PIECES)
        self._undrawn: deque[Piece] = deque(maxlen=MOST_PIECES)
        self._width = 0

    def compose(self) -> ComposeResult:
        """Yield the parts."""
        yield Static(id="tabs")
        yield RichLog(wrap=True, min_width=1, max_lines=MOST_LINES)

    def open(self, tab: Tab | None) -> None:
        """Show a tab of the row; None closes the pane."""
        self.tab = tab
        self.set_class(tab is not None, "open")
        self._show([], from_end=True)
        self._begin()

    def tell(self, row: Row | None) -> None:
        """Show another row, or the same as it stands by now."""
        before, self._row = self._row, row
        if _text_of(before, self.tab) != _text_of(row, self.tab):
            self._begin()
        else:
            self._title()

    def fold(self) -> None:
        """Show what is folded away, or fold it again."""
        self.unfolds = not self.unfolds
        self._draw_anew()

    def on_resize(self) -> None:
        """Break the lines where the width is another one, or is known now."""
        if self._width != self.size.width:
            self._width = self.size.width
            self._title()
            self._draw_anew()

    def _begin(self) -> None:
        if self._row is None:
            self._show([], from_end=True)
        self._title()
        self._read(self._row, self.tab)

    @work(exclusive=True)
    async def _read(self, row: Row | None, tab: Tab | None) -> None:
        """Show a tab of a row, and go on as that grows."""
        if row is None or tab is None:
            return
        if tab is Tab.AGENT:
            await self._follow(row)
        else:
            await self._read_files(row.task, tab)

    async def _follow(self, row: Row) -> None:
        job = await asyncio.to_thread(self._looks.job, row.job)
        if job is None:
            self._show([NO_AGENT if row.job is None else NO_RECORD], from_end=True)
            return
        following, is_empty = Following(self._caller.workspace, job), True
        place: str | None = None
        self._show([NOTHING_YET], from_end=True)
        while True:
            pieces = await asyncio.to_thread(following.read, self._caller.now())
            if pieces and is_empty:
                self._show(pieces, from_end=True)
                is_empty = False
            else:
                self._add(pieces)
            if is_empty:
                before, place = place, await asyncio.to_thread(self._looks.elsewhere, job)
                if place is not None and place != before:
                    self._show([away(place)], from_end=True)
            await asyncio.sleep(FOLLOW_SECONDS)

    async def _read_files(self, task: str, tab: Tab) -> None:
        if not task:
            self._show([NO_TASK], from_end=False)
            return
        before: Sequence[Piece] | None = None
        read = partial(read_tab, self._caller.workspace, tab, task, self._caller.environ)
        while True:
            pieces = await asyncio.to_thread(read)
            if pieces != before:
                self._show(pieces, from_end=tab is Tab.LOG)
            if tab is Tab.DIFF:  # it costs a command; another state of the row asks again
                return
            before = pieces
            await asyncio.sleep(TAB_SECONDS)

    def _title(self) -> None:
        """Show which row and tab it is of, and the command that tells the same."""
        if self.tab is not None:
            self.query_one("#tabs", Static).update(title_of(self._row, self.tab, self._width))

    def _show(self, pieces: Iterable[Piece], *, from_end: bool) -> None:
        """Show these pieces and no others."""
        self._pieces.clear()
        self._undrawn.clear()
        self._log.clear()
        self._log.auto_scroll = from_end
        self._add(pieces)
        if not from_end:
            self._log.scroll_home(animate=False)

    def _add(self, pieces: Iterable[Piece]) -> None:
        """Show these pieces below the others; who has scrolled up stays there."""
        shown = list(pieces)
        self._pieces.extend(shown)
        self._undrawn.extend(shown)
        self._draw()

    @property
    def _log(self) -> RichLog:
        return self.query_one(RichLog)

    def _draw_anew(self) -> None:
        self._log.clear()
        self._undrawn = self._pieces.copy()
        self._draw()

    @work(exclusive=True, group="draw")
    async def _draw(self) -> None:
        """Draw what is not yet, piece by piece, so that no key waits for much of it."""
        while self._width and self._undrawn:
            drawn = renderable(self._undrawn.popleft(), self._room, unfolds=self.unfolds)
            self._log.write(drawn, expand=True)
            await asyncio.sleep(0)

    @property
    def _room(self) -> int:
        size: Size = self._log.scrollable_content_region.size
        return max(20, size.width)


def title_of(row: Row | None, shown: Tab, width: int) -> Text:
    """Return which row and tab a pane is of, and the command that tells the same.

    The command is what nobody knows by heart: where it would be cut, less is said of the row.
    """
    text = Text()
    for number, tab in enumerate(Tab, 1):
        text.append(f" {number} {tab.value} ", CHOSEN if tab is shown else PLAIN)
    if row is None:
        return text
    if argv := tab_command(shown, row.task, row.job):
        text.append(f"  {command_line(argv)}", NOTE)
    used = f", {count_words(row.tokens)} tokens" if row.tokens else ""
    names = (f"{row.key} {row.who}{used}  ", f"{row.key} {row.who}  ", f"{row.key}  ")
    fitting = (name for name in names if cell_len(name) + text.cell_len <= width)
    return Text().append(next(fitting, names[-1]), BOLD).append_text(text)


def _text_of(row: Row | None, tab: Tab | None) -> tuple[object, ...]:
    """Return on what a tab's text depends besides the files that are read again anyway."""
    if row is None or tab is None:
        return ()
    if tab is Tab.AGENT:
        return row.key, row.job
    if tab is Tab.DIFF:
        return row.key, row.job, row.state, row.status, row.attempts
    return (row.key,)
