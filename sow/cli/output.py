"""How commands speak: JSON for programs, plain lines for people.

Owns the format of `--json` (one object, or one a line; stable keys), how a table
is aligned, which words of states have a colour, and whether stdout shows colours: on a
person's terminal only. Knows nothing of what is shown.
"""

import os
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

from sow.cli import late_click as click
from sow.terminal_text import cells, printable

if TYPE_CHECKING:
    from msgspec import Struct

    # Not at run time: Python takes a millisecond to compile the first text of a type.
    View = TypeVar("View", bound=Mapping[str, Any] | Struct)

F = TypeVar("F", bound=Callable[..., Any])

MOST = 1_000_000
"""No number that an option takes is larger; what is was a slip, and fits into no record."""
COUNT = click.IntRange(1, MOST)
GAP = "  "
"""What parts two columns of a table."""
LAST_COLUMN = 24
"""How much of the last column has to fit into a line: names and notes may be of any length."""

RED, GREEN, YELLOW, CYAN = 31, 32, 33, 36

COLOURS = {
    "failed": RED,
    "error": RED,
    "completed": GREEN,
    "needs_review": YELLOW,
    "paused": YELLOW,
    "warning": YELLOW,
    "in_progress": CYAN,
    "running": CYAN,
}
"""The plain colours of the terminal's own palette, which its user has chosen to be readable on its
background: no bright ones, no background, nothing dim.

What is not here is left plain: it has neither gone wrong, nor runs, nor needs anybody.

`done` is plain too: the job has ended, and the task's status says how well.
"""


def json_option(function: F) -> F:
    """Give a command `--json`, passed to it as `as_json`."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")(
        function
    )


def echo_json(record: "Mapping[str, Any] | Struct") -> None:
    """Print one object on one line."""
    # Only `--json` needs it; a person's output starts faster.
    import json

    if not isinstance(record, Mapping):
        # Light commands have no structs.
        from msgspec import to_builtins

        record = to_builtins(record)
    click.echo(json.dumps(record, ensure_ascii=False, default=str))


def echo_json_lines(records: "Iterable[Mapping[str, Any] | Struct]") -> None:
    """Print one object a line."""
    for record in records:
        echo_json(record)


def echo_result(record: "Mapping[str, Any] | Struct", words: object, *, as_json: bool) -> None:
    """Print the object for programs, or the words for people."""
    if as_json:
        echo_json(record)
    else:
        click.echo(words)


def echo_list(
    views: "Sequence[View]",
    header: Sequence[str],
    row: "Callable[[View], Sequence[str]]",
    *,
    none: str,
    states: Collection[str] = (),
    spare: Sequence[str] = (),
    as_json: bool,
) -> None:
    """Print one object a line for programs, or a table for people.

    `none` is what people read, on stderr, where there is nothing.
    """
    if as_json:
        echo_json_lines(views)
    elif views:
        echo_table(header, map(row, views), states, spare)
    else:
        click.echo(none, err=True)


def echo_table(
    header: Sequence[str],
    rows: Iterable[Sequence[str]],
    states: Collection[str] = (),
    spare: Sequence[str] = (),
) -> None:
    """Print rows in aligned columns below their header; those named in `states` hold states.

    A terminal that is too narrow goes without the columns in `spare`, the first of them
    first, as far as it has to. What is no terminal gets all of them.
    """
    table = [header, *([printable(cell) for cell in row] for row in rows)]
    columns = zip(*table, strict=True)
    widths = {name: max(map(cells, column)) for name, column in zip(header, columns, strict=True)}
    shown = columns_within(terminal_width(), widths, spare)
    for row in table:
        shown_cells = [
            (shown_state(cell) if name in states else cell) + " " * (widths[name] - cells(cell))
            for name, cell in zip(header, row, strict=True)
            if name in shown
        ]
        click.echo(GAP.join(shown_cells).rstrip())


def columns_within(
    room: int | None, widths: Mapping[str, int], spare: Sequence[str]
) -> Collection[str]:
    """Return the names of the columns to show in so many characters; None is room for all."""
    shown = dict(widths)
    last = list(shown)[-1]
    shown[last] = min(shown[last], LAST_COLUMN)
    for name in spare:
        if room is None or sum(shown.values()) + len(GAP) * (len(shown) - 1) <= room:
            break
        del shown[name]
    return shown


def terminal_size(stream: TextIO) -> os.terminal_size:
    """Return the columns and lines of a stream's terminal; 0 for what nobody knows."""
    try:
        return os.get_terminal_size(stream.fileno())
    except (OSError, ValueError):
        return os.terminal_size((0, 0))


def terminal_width() -> int | None:
    """Return how many characters a line of stdout has; None where it is no terminal."""
    return terminal_size(sys.stdout).columns or None


def shown_state(word: str, text: str | None = None) -> str:
    """Return the word of a state, or a text that stands for it, in its colour if any is shown."""
    if not shows_colours():
        return word if text is None else text
    return coloured(word, text)


def coloured(word: str, text: str | None = None) -> str:
    """Return a word in the colour of what it means; or, in that colour, another text."""
    text = word if text is None else text
    colour = COLOURS.get(word)
    return text if colour is None else f"\x1b[{colour}m{text}\x1b[0m"


def shows_colours() -> bool:
    """Whether stdout is a terminal with colours, and its user wants them (no-color.org)."""
    return (
        sys.stdout.isatty()
        and not os.environ.get("NO_COLOR")
        and os.environ.get("TERM", "") not in ("", "dumb")
    )
