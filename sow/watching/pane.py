"""The pane below the list: the tabs of one row, and the text of one of them.

Owns how a piece is drawn. Markup in what anybody says is text: nothing here is parsed but
markdown, whose links and images are words.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from typing import ClassVar

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.markdown import Heading as MarkdownHeading
from rich.markdown import Markdown, MarkdownElement
from rich.padding import Padding
from rich.style import Style
from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.geometry import Size
from textual.widgets import RichLog, Static

from sow.watching.contents import Look, Piece, Tab
from sow.watching.keys import command_line
from sow.watching.lines import cut
from sow.watching.palette import BAD, BOLD, CHOSEN, GOOD, HEADING, NOTE, PLAIN, TOOL

MOST_PIECES = 2000
"""What came before them is in the file; whoever wants it asks the command."""
STYLES: dict[Look, Style] = {
    Look.PLAIN: PLAIN,
    Look.HEADING: HEADING,
    Look.TOOL: TOOL,
    Look.GOOD: GOOD,
    Look.BAD: BAD,
    Look.NOTE: NOTE,
}


class Pane(Vertical):
    """Shows one tab of one row."""

    DEFAULT_CSS = """
    Pane { height: 1.5fr; display: none; border-top: solid ansi_blue; }
    Pane:focus-within { border-top: heavy ansi_cyan; }
    Pane.open { display: block; }
    Pane > Static { height: 1; }
    Pane > RichLog {
        height: 1fr; background: ansi_default; scrollbar-size-vertical: 1; overflow-x: hidden;
    }
    """

    def __init__(self) -> None:
        super().__init__()
        self.tab = Tab.AGENT
        self.unfolds = False
        self._pieces: deque[Piece] = deque(maxlen=MOST_PIECES)
        self._width = 0

    def compose(self) -> ComposeResult:
        """Yield the parts."""
        yield Static(id="tabs")
        yield RichLog(wrap=True, min_width=1, max_lines=20 * MOST_PIECES)

    @property
    def is_open(self) -> bool:
        """Whether it is shown."""
        return self.has_class("open")

    def title(self, about: str, argv: Sequence[str]) -> None:
        """Show which row and tab it is of, and the command that tells the same."""
        text = Text(no_wrap=True, overflow="ellipsis")
        text.append(f"{about}  ", BOLD)
        for number, tab in enumerate(Tab, 1):
            text.append(f" {number} {tab.value} ", CHOSEN if tab is self.tab else PLAIN)
        if argv:
            text.append(f"  {command_line(argv)}", NOTE)
        self.query_one("#tabs", Static).update(text)

    def show(self, pieces: Iterable[Piece], *, from_end: bool) -> None:
        """Show these pieces and no others."""
        self._pieces.clear()
        self._log.clear()
        self._log.auto_scroll = from_end
        self.add(pieces)
        if not from_end:
            self._log.scroll_home(animate=False)

    def add(self, pieces: Iterable[Piece]) -> None:
        """Show these pieces below the others; who has scrolled up stays there."""
        for piece in pieces:
            self._pieces.append(piece)
            self._draw(piece)

    def fold(self) -> None:
        """Show what is folded away, or fold it again."""
        self.unfolds = not self.unfolds
        self._draw_anew()

    def on_resize(self) -> None:
        """Break the lines anew where the width is another one."""
        if self._width not in (0, self.size.width):
            self._draw_anew()
        self._width = self.size.width

    @property
    def _log(self) -> RichLog:
        return self.query_one(RichLog)

    def _draw_anew(self) -> None:
        self._log.clear()
        for piece in self._pieces:
            self._draw(piece)

    def _draw(self, piece: Piece) -> None:
        self._log.write(renderable(piece, self._room, unfolds=self.unfolds), expand=True)

    @property
    def _room(self) -> int:
        size: Size = self._log.scrollable_content_region.size
        return max(20, size.width)


class LeftHeading(MarkdownHeading):
    """A heading at the left, like every other line."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the line."""
        self.text.justify = "left"
        yield self.text


class Words(Markdown):
    """Markdown as the pane draws it."""

    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **Markdown.elements,
        "heading_open": LeftHeading,
    }


def renderable(piece: Piece, width: int, *, unfolds: bool) -> RenderableType:
    """Return a piece as it is drawn in so many cells."""
    if piece.look is Look.WORDS:
        return Padding(Words(piece.text, hyperlinks=False, code_theme="ansi_dark"), (0, 1, 0, 0))
    style = STYLES[piece.look]
    if not piece.more:
        return Text(piece.text, style)
    if unfolds:
        below = "\n".join(f"    {line}" for line in piece.more.splitlines())
        return Text.assemble((f"{piece.text}\n", style), below)
    count = len(piece.more.splitlines())
    fold = f"  [+{count}]"
    return Text(cut(piece.text, width - len(fold)), style).append(fold, PLAIN)
