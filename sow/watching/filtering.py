"""The filter: the box for its words, and which rows hold them."""

from collections.abc import Sequence

from textual.widgets import Input

from sow.watching.snapshot import Group, Row


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
