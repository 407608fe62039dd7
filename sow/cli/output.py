"""How commands speak: JSON for programs, plain lines for people.

Owns the format of `--json` (one object, or one a line; stable keys), how a table
is aligned, and whether stdout shows colours: on a person's terminal only. Knows
nothing of what is shown.
"""

import os
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from msgspec import Struct

F = TypeVar("F", bound=Callable[..., Any])

MOST = 1_000_000
"""No number that an option takes is larger; what is was a slip, and fits into no record."""
COUNT = click.IntRange(1, MOST)


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


def echo_table(
    header: Sequence[str], rows: Iterable[Sequence[str]], states: Collection[str] = ()
) -> None:
    """Print rows in aligned columns below their header; those named in `states` hold states."""
    table = [header, *rows]
    widths = [max(len(cell) for cell in column) for column in zip(*table, strict=True)]
    for row in table:
        cells = [
            (shown_state(cell) if name in states else cell) + " " * (width - len(cell))
            for name, cell, width in zip(header, row, widths, strict=True)
        ]
        click.echo("  ".join(cells).rstrip())


def shown_state(word: str, text: str | None = None) -> str:
    """Return the word of a state, or a text that stands for it, in its colour if any is shown."""
    if not shows_colours():
        return word if text is None else text
    from sow.cli.colour import coloured  # only for a terminal

    return coloured(word, text)


def shows_colours() -> bool:
    """Whether stdout is a terminal with colours, and its user wants them (no-color.org)."""
    return (
        sys.stdout.isatty()
        and not os.environ.get("NO_COLOR")
        and os.environ.get("TERM", "") not in ("", "dumb")
    )
