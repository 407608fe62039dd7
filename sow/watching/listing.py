"""The list: groups and rows, of which only what is on the screen is ever drawn.

Owns where the cursor stands, which is on a row rather than at a place: rows move when their
states change, and whoever looks at one goes with it.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.binding import Binding, BindingType
from textual.events import Click
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from sow.situation.situation import Doing
from sow.watching.drawing import CHOSEN, HEADING, NOTE, PLAIN
from sow.watching.lines import (
    Cell,
    Column,
    columns_within,
    cut,
    fitted,
    heading_cells,
    row_cells,
    sized,
)
from sow.watching.snapshot import Group, Row

Line = Group | Row
HEAD = 1
"""The line with the names of the columns, which does not scroll."""
COLOURED = "STATE"
"""The column that is shown in its colour."""


class Listing(ScrollView, can_focus=True):
    """The rows of a snapshot below their headings."""

    DEFAULT_CSS = "Listing { height: 1fr; scrollbar-size-vertical: 1; overflow-x: hidden; }"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,j", "move(1)", show=False),
        Binding("up,k", "move(-1)", show=False),
        Binding("pagedown", "page(1)", show=False),
        Binding("pageup", "page(-1)", show=False),
        Binding("home,g", "end(-1)", show=False),
        Binding("end,G", "end(1)", show=False),
    ]

    class Chosen(Message):
        """The cursor stands on another row, or on none."""

        def __init__(self, row: Row | None) -> None:
            super().__init__()
            self.row = row

    def __init__(self, styles: Mapping[str, Style]) -> None:
        super().__init__()
        self._styles = styles
        self._lines: Sequence[Line] = ()
        self._places: dict[str, int] = {}
        self._doing: Mapping[int, Doing] = {}
        self._now = 0.0
        self._key = self._nothing = ""
        self._sizes: Mapping[str, int] = {}
        self._drawn: Sequence[Sequence[Cell]] = ()

    @property
    def chosen(self) -> Row | None:
        """The row on which the cursor stands."""
        line = self._lines[self._places[self._key]] if self._key in self._places else None
        return line if isinstance(line, Row) else None

    @property
    def visible_rows(self) -> Sequence[Row]:
        """The rows that are on the screen."""
        return [line for line in self._on_screen() if isinstance(line, Row)]

    def show(self, groups: Sequence[Group], nothing: str) -> None:
        """Show other rows; the cursor stays on its own, or where that was.

        `nothing` are the words where there are none.
        """
        self._nothing = nothing
        before = self._places.get(self._key, 0)
        lines: list[Line] = []
        for group in groups:
            lines += [group, *group.rows]
        self._lines = lines
        self._sizes = sized([line for line in lines if isinstance(line, Row)], self._now)
        self._places = {
            line.key: place for place, line in enumerate(self._lines) if isinstance(line, Row)
        }
        self.virtual_size = Size(0, len(self._lines) + HEAD)
        if self._key not in self._places:
            self._choose(self._nearest(before))
        else:
            self._keep_in_view()
        self.post_message(self.Chosen(self.chosen))
        self.refresh()

    def tell(self, doing: Mapping[int, Doing], now: float) -> None:
        """Show what the jobs do now; nothing is drawn where no letter changes."""
        self._doing, self._now = doing, now
        before, self._drawn = self._drawn, [tuple(self._cells(line)) for line in self._on_screen()]
        for place, (was, cells) in enumerate(zip_longest(before, self._drawn)):
            if was != cells:
                self.refresh(Region(0, HEAD + place, self.size.width, 1))

    def action_move(self, step: int) -> None:
        """Move the cursor by so many rows."""
        keys = list(self._places)
        if keys:
            place = keys.index(self._key) if self._key in self._places else 0
            self._choose(keys[max(0, min(len(keys) - 1, place + step))])

    def action_page(self, step: int) -> None:
        """Move the cursor by a screen."""
        self.action_move(step * max(1, self.size.height - HEAD - 1))

    def action_end(self, step: int) -> None:
        """Move the cursor to the last row, or to the first."""
        self.action_move(step * len(self._lines))

    def on_click(self, event: Click) -> None:
        """Choose the row that was clicked on."""
        place = event.y - HEAD + self.scroll_offset.y
        line = self._lines[place] if event.y >= HEAD and place < len(self._lines) else None
        if isinstance(line, Row):
            self._choose(line.key)

    def on_resize(self) -> None:
        """Keep the cursor on the screen."""
        self.virtual_size = Size(0, len(self._lines) + HEAD)
        self._keep_in_view()

    def render_line(self, y: int) -> Strip:
        """Return one line of the screen."""
        width = self._room
        if y < HEAD:
            return self._strip(heading_cells(self._columns), width, HEADING)
        place = y - HEAD + self.scroll_offset.y
        if place >= len(self._lines):
            words = self._nothing if not self._lines and not place else ""
            return Strip([Segment(cut(words, width), NOTE)]).adjust_cell_length(width, PLAIN)
        line = self._lines[place]
        if isinstance(line, Group):
            return self._heading(line, width)
        is_chosen = line.key == self._key
        return self._strip(self._cells(line), width, CHOSEN if is_chosen else PLAIN)

    @property
    def _room(self) -> int:
        """How many cells a line has, without the bar that tells where one stands."""
        return self.scrollable_content_region.width

    @property
    def _columns(self) -> Sequence[Column]:
        return columns_within(self._room, self._sizes)

    def _on_screen(self) -> Sequence[Line]:
        top = self.scroll_offset.y
        return self._lines[top : top + max(0, self.size.height - HEAD)]

    def _cells(self, line: Line) -> Iterator[Cell]:
        if isinstance(line, Row):
            yield from row_cells(line, self._doing, self._columns, self._now)

    def _heading(self, group: Group, width: int) -> Strip:
        title = cut(group.title, width)
        about = fitted(f"  {group.about}", max(0, width - cell_len(title)))
        strip = Strip([Segment(title, HEADING), Segment(about, PLAIN)])
        return strip.adjust_cell_length(width, PLAIN)

    def _strip(self, cells: Iterator[Cell], width: int, style: Style) -> Strip:
        segments = [Segment("  ", style)]
        for cell in cells:
            colour = self._styles.get(cell.text.strip(), PLAIN)
            of_cell = style + colour if cell.column == COLOURED and not style.reverse else style
            segments += [Segment(cell.text, of_cell), Segment(" ", style)]
        return Strip(segments).adjust_cell_length(width, style)

    def _nearest(self, place: int) -> str:
        """Return the row that stands at a place or next to it; empty where there is none."""
        after = [key for key, its in self._places.items() if its >= place]
        return after[0] if after else next(reversed(self._places), "")

    def _choose(self, key: str) -> None:
        if key == self._key:
            return
        self._key = key
        self._keep_in_view()
        self.refresh()
        self.post_message(self.Chosen(self.chosen))

    def _keep_in_view(self) -> None:
        place = self._places.get(self._key)
        if place is None:
            return
        height = self.size.height - HEAD
        top = self.scroll_offset.y
        above = place - 1 if place and isinstance(self._lines[place - 1], Group) else place
        if above < top:
            self.scroll_to(y=above, animate=False)
        elif place >= top + height > HEAD:
            self.scroll_to(y=place - height + 1, animate=False)

    def scroll_to_region(self, region: Region, **_: object) -> None:  # type: ignore[override]
        """Stay: what is in view is the cursor's to decide."""
