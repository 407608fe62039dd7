"""The colours of the view: those of the terminal's own palette, as in every other command.

Its user has chosen them to be readable on its background, be that light or dark. No backgrounds;
what is chosen is shown in reverse.
"""

from collections.abc import Mapping

from rich.color import Color
from rich.style import Style

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
