"""The colours of the view, and how a piece of text is drawn in the pane.

The colours are those of the terminal's own palette, as in every other command: its user has chosen
them to be readable on its background, be that light or dark. Markup in what anybody says is text:
nothing here is parsed but markdown, whose links and images are words. Pure.
"""

from collections.abc import Mapping
from typing import ClassVar

from rich.color import Color
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.markdown import CodeBlock, Markdown, MarkdownElement
from rich.markdown import Heading as MarkdownHeading
from rich.padding import Padding
from rich.style import Style
from rich.text import Text
from rich.theme import Theme

from sow.watching.contents import Look, Piece
from sow.watching.lines import cut

FIRST = 30
"""The number of the first colour in an escape sequence."""
PLAIN = Style()
BOLD = Style(bold=True)
HEADING = Style(bold=True)
CHOSEN = Style(reverse=True)
BAD = Style(color=Color.from_ansi(1))
GOOD = Style(color=Color.from_ansi(2))
NOTE = Style(color=Color.from_ansi(3))
TOOL = Style(color=Color.from_ansi(6))


def styles_of(numbers: Mapping[str, int]) -> Mapping[str, Style]:
    """Return the style of each word of a state, by the numbers of their colours."""
    return {word: Style(color=Color.from_ansi(number - FIRST)) for word, number in numbers.items()}


STYLES: dict[Look, Style] = {
    Look.PLAIN: PLAIN,
    Look.HEADING: HEADING,
    Look.TOOL: TOOL,
    Look.GOOD: GOOD,
    Look.BAD: BAD,
    Look.NOTE: NOTE,
}
MARKDOWN = Theme(
    {
        "markdown.code": "bold cyan",
        "markdown.code_block": "cyan",
        "markdown.h1": "bold",
        "markdown.h2": "bold",
        "markdown.h3": "bold",
        "markdown.h4": "bold",
        "markdown.h5": "bold",
        "markdown.h6": "bold",
        "markdown.hr": "none",
        "markdown.block_quote": "italic",
        "markdown.link": "underline",
        "markdown.link_url": "underline",
        "markdown.item.bullet": "bold",
        "markdown.item.number": "bold",
    }
)
"""The palette of the terminal and no backgrounds, so that it is readable on any."""


class LeftHeading(MarkdownHeading):
    """A heading at the left, like every other line."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the line."""
        self.text.justify = "left"
        yield self.text


class PlainCode(CodeBlock):
    """Code in one colour: those of a highlighter suit one background or the other."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the lines, a little to the right."""
        yield Padding(Text(str(self.text).rstrip(), "markdown.code_block"), (0, 0, 0, 4))


class Words(Markdown):
    """Markdown as the pane draws it."""

    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **Markdown.elements,
        "heading_open": LeftHeading,
        "fence": PlainCode,
        "code_block": PlainCode,
    }


def renderable(piece: Piece, width: int, *, unfolds: bool) -> RenderableType:
    """Return a piece as it is drawn in so many cells."""
    if piece.look is Look.WORDS:
        return Padding(Words(piece.text, hyperlinks=False), (0, 1, 0, 0))
    style = STYLES[piece.look]
    if not piece.more:
        return Text(piece.text, style)
    if unfolds:
        below = "\n".join(f"    {line}" for line in piece.more.splitlines())
        return Text.assemble((f"{piece.text}\n", style), below)
    count = len(piece.more.splitlines())
    fold = f"  [+{count}]"
    return Text(cut(piece.text, width - len(fold)), style).append(fold, PLAIN)
