"""The marks that git leaves in a file in conflict, and the two sides between them.

Pure. Knows no file of ours. See gitattributes(5) and git-merge(1) for the marks.
"""

import re
from collections.abc import Callable, Sequence

from msgspec import Struct

OURS, BASE, MIDDLE, THEIRS = (
    re.compile(rb"%s{7}(?: .*)?\r?\n?" % sign) for sign in (rb"<", rb"\|", rb"=", rb">")
)
FENCE = re.compile(rb" {0,3}(```+|~~~+)")
"""What begins and ends a quoted block of Markdown: marks in there are somebody's example."""


class Hunk(Struct, frozen=True):
    """One conflict: its lines from the first mark to the last, counted from 0, and the sides."""

    first: int
    after: int
    ours: Sequence[bytes]
    base: Sequence[bytes] | None
    theirs: Sequence[bytes]


class Conflict(Struct, frozen=True):
    """All conflicts of a file."""

    lines: Sequence[bytes]
    """Of the whole file, with their ends."""
    hunks: Sequence[Hunk]

    @property
    def line(self) -> int:
        """The line of the first mark, counted from 1."""
        return self.hunks[0].first + 1

    @property
    def ours(self) -> bytes:
        """The file as our side has it."""
        return self.solved(lambda hunk: hunk.ours)

    @property
    def theirs(self) -> bytes:
        """The file as their side has it."""
        return self.solved(lambda hunk: hunk.theirs)

    def solved(self, choose: Callable[[Hunk], Sequence[bytes]]) -> bytes:
        """Return the file with each conflict replaced by the lines that are chosen for it."""
        parts: list[bytes] = []
        at = 0
        for hunk in self.hunks:
            parts += [*self.lines[at : hunk.first], *choose(hunk)]
            at = hunk.after
        return b"".join([*parts, *self.lines[at:]])


def conflict_in(text: bytes, *, is_prose: bool = False) -> Conflict | None:
    """Return the conflicts that a file is in; None for none.

    In `is_prose`, Markdown that is, what stands in a fenced block is an example.
    """
    if b"<<<<<<<" not in text or b">>>>>>>" not in text:
        return None
    lines = _lines(text)
    hunks: list[Hunk] = []
    number, fence = 0, b""
    while number < len(lines):
        mark = FENCE.match(lines[number]) if is_prose else None
        if mark and (not fence or mark[1].startswith(fence)):
            fence = b"" if fence else mark[1]
        hunk = _hunk(lines, number) if not fence and OURS.fullmatch(lines[number]) else None
        if hunk is not None:
            hunks.append(hunk)
        number = hunk.after if hunk is not None else number + 1
    return Conflict(lines, hunks) if hunks else None


def _lines(text: bytes) -> list[bytes]:
    """Return the lines of a text with their ends; nothing but a newline ends one."""
    parts = text.split(b"\n")
    whole = [part + b"\n" for part in parts[:-1]]
    return [*whole, parts[-1]] if parts[-1] else whole


def _hunk(lines: Sequence[bytes], first: int) -> Hunk | None:
    """Return the conflict that begins on a line; None where its marks are not all there."""
    middle = base = None
    for number in range(first + 1, len(lines)):
        line = lines[number]
        if OURS.fullmatch(line):
            return None
        if BASE.fullmatch(line) and middle is None and base is None:
            base = number
        elif MIDDLE.fullmatch(line) and middle is None:
            middle = number
        elif THEIRS.fullmatch(line):
            if middle is None:
                return None
            ours_end = middle if base is None else base
            return Hunk(
                first,
                number + 1,
                lines[first + 1 : ours_end],
                None if base is None else lines[base + 1 : middle],
                lines[middle + 1 : number],
            )
    return None


def kept_by_union(hunk: Hunk) -> Sequence[bytes] | None:
    """Return the lines of both sides; None where lines of the base would get lost by that."""
    lost = set(hunk.base or ()) - {*hunk.ours, *hunk.theirs}
    if lost:
        return None
    return hunk.ours if hunk.ours == hunk.theirs else [*hunk.ours, *hunk.theirs]
