"""On which row of a timeline each run lies: the slots of its worker.

Pure. Workers that lived one after the other share rows; of two that ran at the same time each has
its own.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple


class Bar(NamedTuple):
    """A run: which one, whose, from when until when."""

    key: tuple[int, int]
    worker: str
    begin: float
    end: float


def lanes_of(bars: Iterable[Bar]) -> tuple[Mapping[tuple[int, int], int], Sequence[Sequence[str]]]:
    """Return each run's lane, counted from 0, and each lane's workers.

    No two runs on a lane overlap, and each worker uses as few lanes as it ran at once.
    """
    by_worker: dict[str, list[Bar]] = defaultdict(list)
    for bar in sorted(bars, key=lambda each: (each.begin, each.end, each.key)):
        by_worker[bar.worker].append(bar)
    slots = {worker: _slots(own) for worker, own in by_worker.items()}
    free_from: list[float] = []
    workers: list[list[str]] = []
    placed: dict[tuple[int, int], int] = {}
    for worker, own in by_worker.items():  # in the order of their first runs
        begin, end = own[0].begin, max(bar.end for bar in own)
        count = max(slots[worker].values()) + 1
        chosen = [lane for lane, free in enumerate(free_from) if free <= begin][:count]
        while len(chosen) < count:
            chosen.append(len(free_from))
            free_from.append(begin)
            workers.append([])
        for lane in chosen:
            free_from[lane] = end
            workers[lane].append(worker)
        placed.update((key, chosen[slot]) for key, slot in slots[worker].items())
    return placed, workers


def _slots(bars: Sequence[Bar]) -> Mapping[tuple[int, int], int]:
    """Return the slot of each of one worker's runs, the lowest that is free when it begins."""
    free_from: list[float] = []
    placed: dict[tuple[int, int], int] = {}
    for bar in bars:
        slot = next((slot for slot, free in enumerate(free_from) if free <= bar.begin), None)
        if slot is None:
            slot = len(free_from)
            free_from.append(bar.end)
        free_from[slot] = max(bar.end, bar.begin)
        placed[bar.key] = slot
    return placed
