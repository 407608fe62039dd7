"""Where a moment lies on a timeline, as a share of its width.

Pure. A long stretch in which nobody worked is drawn short, or nothing else could be seen: of a
project of a week, say, whose agents ran for an hour.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

SHARE_OF_IDLE = 0.25
"""A stretch without work is shortened that is longer than this share of all work."""
LEAST_IDLE = 60.0
"""In seconds: a shorter one is drawn as it is."""
WIDTH_OF_IDLE = 0.04
"""How wide a shortened stretch is, as a share of the work's width."""
STEPS = (
    *(0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30),
    *(60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800),
)
MOST_TICKS = 10


class Piece(NamedTuple):
    """A stretch of time and of the width, which grow together."""

    begin: float
    end: float
    left: float
    right: float
    is_idle: bool
    """Whether it is drawn shorter than it was."""


class Scale:
    """A timeline's scale, from 0 to its last moment."""

    def __init__(self, pieces: Sequence[Piece]) -> None:
        self.pieces = pieces
        self._begins = [piece.begin for piece in pieces]

    @property
    def length(self) -> float:
        """The last moment."""
        return self.pieces[-1].end

    def at(self, moment: float) -> float:
        """Return where a moment lies, from 0 to 1."""
        piece = self.pieces[max(bisect_right(self._begins, moment) - 1, 0)]
        length = piece.end - piece.begin
        share = (moment - piece.begin) / length if length else 0.0
        return piece.left + (piece.right - piece.left) * min(max(share, 0.0), 1.0)

    def ticks(self) -> Iterator[float]:
        """Yield the moments to be marked: round ones, in the stretches that are drawn as they were.

        None is nearer than a tenth of the width to the one before.
        """
        shown = sum(piece.end - piece.begin for piece in self.pieces if not piece.is_idle)
        step = next((step for step in STEPS if step * MOST_TICKS >= shown), STEPS[-1])
        while step * MOST_TICKS < shown:
            step *= 2
        last = -1.0
        for piece in self.pieces:
            if piece.is_idle:
                continue
            tick = -(-piece.begin // step) * step
            while tick <= piece.end:
                place = self.at(tick)
                if place - last >= 0.06:
                    yield tick
                    last = place
                tick += step


def scale_of(busy: Iterable[tuple[float, float]], length: float) -> Scale:
    """Return the scale of a timeline of some length, in which somebody worked in `busy`."""
    length = max(length, 0.1)
    merged = list(_merged(busy, length))
    worked = sum(end - begin for begin, end in merged)
    least = max(worked * SHARE_OF_IDLE, LEAST_IDLE)
    edges = [(0.0, 0.0), *merged, (length, length)]
    idle = [
        (before, after) for (_, before), (after, _) in pairwise(edges) if after - before > least
    ]
    return Scale(list(_pieces(idle, length)))


def _merged(busy: Iterable[tuple[float, float]], length: float) -> Iterator[tuple[float, float]]:
    held: tuple[float, float] | None = None
    for begin, end in sorted(busy):
        first, last = min(max(begin, 0.0), length), min(max(end, begin), length)
        if held is not None and first <= held[1]:
            held = (held[0], max(held[1], last))
            continue
        if held is not None:
            yield held
        held = (first, max(first, last))
    if held is not None:
        yield held


def _pieces(idle: Sequence[tuple[float, float]], length: float) -> Iterator[Piece]:
    # Each stretch on its own: what is left of the whole after rounding would pass for work.
    ends, begins = (0.0, *(end for _, end in idle)), (*(begin for begin, _ in idle), length)
    shown = sum(begin - end for end, begin in zip(ends, begins, strict=True))
    whole = shown + len(idle) * shown * WIDTH_OF_IDLE if shown > 0 else float(len(idle))
    at, left = 0.0, 0.0
    for begin, end in idle:
        if begin > at:
            right = left + (begin - at) / whole
            yield Piece(at, begin, left, right, is_idle=False)
            left = right
        right = left + (shown * WIDTH_OF_IDLE if shown > 0 else 1.0) / whole
        yield Piece(begin, end, left, right, is_idle=True)
        at, left = end, right
    if at < length or not idle:
        yield Piece(at, length, left, 1.0, is_idle=False)
