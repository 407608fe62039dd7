"""A row as a line of the list: which columns fit, and what stands in each.

Pure. Widths are those of a terminal's cells; a line is never wider than its screen.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace
from rich.cells import cell_len, chop_cells, set_cell_size

from sow.clock import DAY, HOUR, MINUTE
from sow.situation.situation import Doing
from sow.watching.snapshot import Row

MORE = "…"
GAP = 1
MARK = 2
"""What stands before a row: the cursor's mark."""
LEAST_NOW = 30
"""What must be left for the words of what somebody does now before another column is shown."""
TOOK = "TOOK"
"""The column that has room for any length of time: it would grow while it is looked at."""
THOUSAND, MILLION = 1_000, 1_000_000


class Column(Struct, frozen=True):
    """A column: its heading, how wide it is at most, and what stands in it."""

    name: str
    width: int
    text: Callable[[Row, float], str]
    is_number: bool = False


def length_words(seconds: float) -> str:
    """Return a length of time in at most six letters: `12s`, `3m05s`, `2h07m`, `3d04h`."""
    whole = max(0, int(seconds))
    if whole < MINUTE:
        return f"{whole}s"
    if whole < HOUR:
        return f"{whole // MINUTE}m{whole % MINUTE:02d}s"
    if whole < DAY:
        return f"{whole // HOUR}h{whole % HOUR // MINUTE:02d}m"
    return f"{whole // DAY}d{whole % DAY // HOUR:02d}h"


def count_words(count: int | None) -> str:
    """Return a number of tokens in at most five letters: `950`, `45k`, `1.2M`."""
    if count is None:
        return ""
    if count < THOUSAND:
        return str(count)
    if count < MILLION:
        return f"{count / THOUSAND:.0f}k"
    return f"{count / MILLION:.1f}M"


def money_words(usd: float | None, *, is_estimate: bool) -> str:
    """Return money: `$0.32`; an estimate is marked `~$0.32`."""
    return "" if usd is None else f"{'~' if is_estimate else ''}${usd:.2f}"


def elapsed(row: Row, now: float) -> float | None:
    """Return how long the newest job of a row takes, or took; None where it has not started."""
    return now - row.begun_at if row.begun_at is not None else row.seconds


def _took(row: Row, now: float) -> str:
    seconds = elapsed(row, now)
    return "" if seconds is None else length_words(seconds)


def _money(row: Row, _now: float) -> str:
    return money_words(row.usd, is_estimate=row.is_estimate)


ALWAYS: Sequence[Column] = (
    Column("TASK", 10, lambda row, _: row.task or row.key.removeprefix("job ")),
    Column("WHO", 18, lambda row, _: row.who),
    Column("STATE", 12, lambda row, _: row.state),
    Column(TOOK, 6, _took, is_number=True),
)
MORE_COLUMNS: Sequence[Column] = (
    Column("COST", 7, _money, is_number=True),
    Column("TOKENS", 6, lambda row, _: count_words(row.tokens), is_number=True),
    Column("TRY", 3, lambda row, _: str(row.attempts or ""), is_number=True),
    Column("NAME", 32, lambda row, _: row.name),
    Column("ON", 16, lambda row, _: row.executor),
    Column("JOB", 7, lambda row, _: str(row.job or ""), is_number=True),
)
"""In the order in which they are shown where there is room."""
ORDER = ("TASK", "NAME", "WHO", "ON", "STATE", "TRY", TOOK, "NOW", "TOKENS", "COST", "JOB")


class Cell(Struct, frozen=True):
    """A part of a line, of its column's width."""

    column: str
    text: str


def sized(rows: Sequence[Row], now: float) -> Mapping[str, int]:
    """Return how wide each column has to be for some rows, of those whose width is theirs."""
    return {
        column.name: max([len(column.name), *(cell_len(column.text(row, now)) for row in rows)])
        for column in (*ALWAYS, *MORE_COLUMNS)
        if column.name != TOOK
    }


def columns_within(width: int, sizes: Mapping[str, int]) -> Sequence[Column]:
    """Return the columns for a width, in their order; what is left over is for `NOW`."""
    chosen = [_narrowed(column, sizes) for column in ALWAYS]
    for column in (_narrowed(column, sizes) for column in MORE_COLUMNS):
        if width - _width_of([*chosen, column]) >= LEAST_NOW:
            chosen.append(column)
    rest = Column("NOW", max(1, width - _width_of(chosen)), lambda _row, _now: "")
    return sorted([*chosen, rest], key=lambda column: ORDER.index(column.name))


def _narrowed(column: Column, sizes: Mapping[str, int]) -> Column:
    return replace(column, width=min(column.width, sizes.get(column.name, column.width)))


def _width_of(columns: Sequence[Column]) -> int:
    return MARK + sum(column.width + GAP for column in columns)


def heading_cells(columns: Sequence[Column]) -> Iterator[Cell]:
    """Yield the names of the columns."""
    for column in columns:
        yield Cell(column.name, fitted(column.name, column.width, right=column.is_number))


def row_cells(
    row: Row, doing: Mapping[int, Doing], columns: Sequence[Column], now: float
) -> Iterator[Cell]:
    """Yield what stands in each column of a row."""
    for column in columns:
        text = now_words(row, doing) if column.name == "NOW" else column.text(row, now)
        yield Cell(column.name, fitted(text, column.width, right=column.is_number))


def now_words(row: Row, doing: Mapping[int, Doing]) -> str:
    """Return what a row's agent does now, or why nothing is done."""
    found = doing.get(row.job) if row.job is not None and row.is_live else None
    if found is None:
        return row.note
    if found.quiet_seconds is None or found.quiet_seconds < MINUTE:
        return found.words
    quiet = f"quiet {length_words(found.quiet_seconds)}"
    return f"{found.words}; {quiet}" if found.words else quiet


def fitted(text: str, width: int, *, right: bool = False) -> str:
    """Return a text in exactly so many cells; what is cut off is shown by a mark."""
    size = cell_len(text)
    if size <= width:
        room = " " * (width - size)
        return room + text if right else text + room
    return set_cell_size(cut(text, width), width)


def cut(text: str, width: int) -> str:
    """Return the beginning of a text, cut between words unless that costs half of it."""
    if cell_len(text) <= width:
        return text
    if width <= 1:
        return MORE[:width]
    begins = chop_cells(text, width - 1)[0]
    words = begins.rpartition(" ")[0].rstrip(" ,;:")
    return f"{words} {MORE}" if cell_len(words) > width // 2 else f"{begins}{MORE}"
