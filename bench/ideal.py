"""The shortest time a batch could take, if all but its agents and its checks took none.

Every task goes the same way: its author, a check, its reviewer, then the turn to
merge, in which it is checked once more if another was merged since it began. Whoever is
ready first is served first. Pure.
"""

import heapq
from collections import Counter
from collections.abc import Mapping, Sequence

from msgspec import Struct


class Terms(Struct, frozen=True, kw_only=True):
    """How long each step takes, in seconds, and how many of them may run at once."""

    author: float
    reviewer: float
    check: float
    slots: int
    """How many agents work at once, authors and reviewers together."""
    checks: int
    """How many checks run at once."""


AGENTS, CHECKS, TURN = "agents", "checks", "turn"
WAY = (AGENTS, CHECKS, AGENTS, TURN)
"""What each step of a task takes one of."""


def ideal_seconds(before: Mapping[str, Sequence[str]], terms: Terms) -> float:
    """Return when the last task is merged; `before` are the tasks that each one waits for."""
    return _Schedule(before, terms).run()


class _Schedule:
    """The tasks on their way, and what is free."""

    def __init__(self, before: Mapping[str, Sequence[str]], terms: Terms) -> None:
        self._before, self._terms = before, terms
        self._free = Counter({AGENTS: terms.slots, CHECKS: terms.checks, TURN: 1})
        self._now = 0.0
        self._ready: list[tuple[float, str, int]] = []
        self._running: list[tuple[float, str, int]] = []
        self._begun_at: dict[str, int] = {}
        """How many tasks were merged when one began: its clone holds their work."""
        self._known: set[str] = set()
        self._merged: set[str] = set()

    def run(self) -> float:
        self._make_ready()
        while self._ready or self._running:
            self._begin()
            self._now, task, step = heapq.heappop(self._running)
            self._end(task, step)
        return self._now

    def _make_ready(self) -> None:
        for task, needed in self._before.items():
            if task not in self._known and self._merged.issuperset(needed):
                self._known.add(task)
                heapq.heappush(self._ready, (self._now, task, 0))

    def _begin(self) -> None:
        """Begin all that is ready and has what it takes, in the order in which it became so."""
        waiting = []
        while self._ready:
            since, task, step = heapq.heappop(self._ready)
            if not self._free[WAY[step]]:
                waiting.append((since, task, step))
                continue
            self._free[WAY[step]] -= 1
            if step == 0:
                self._begun_at[task] = len(self._merged)
            heapq.heappush(self._running, (self._now + self._seconds(task, step), task, step))
        for entry in waiting:
            heapq.heappush(self._ready, entry)

    def _seconds(self, task: str, step: int) -> float:
        if WAY[step] == TURN:
            return self._terms.check if self._begun_at[task] < len(self._merged) else 0.0
        return (self._terms.author, self._terms.check, self._terms.reviewer)[step]

    def _end(self, task: str, step: int) -> None:
        self._free[WAY[step]] += 1
        if step + 1 < len(WAY):
            heapq.heappush(self._ready, (self._now, task, step + 1))
            return
        self._merged.add(task)
        self._make_ready()
