"""Who of a batch is merged next: one at a time, and first the task that most others wait for.

Each merge is brought up to date and checked in its turn, so those behind it wait. A task
that nobody waits for can wait; one that a whole row of diamonds hangs on cannot. Pure.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from sow.batches.facts import ItemFacts


def first_to_merge(ready: Sequence[str], items: Sequence[ItemFacts]) -> str | None:
    """Return which of the tasks that are ready is merged first; of equals, the first of them."""
    if len(ready) < 2:
        return next(iter(ready), None)
    after: defaultdict[str, list[str]] = defaultdict(list)
    for item in items:
        for other in item.in_batch:
            after[other].append(item.task)
    return max(ready, key=lambda task: _waiting_for(task, after))


def _waiting_for(task: str, after: Mapping[str, Sequence[str]]) -> int:
    """Return how many tasks wait for one, by whatever way."""
    found: set[str] = set()
    way = [task]
    while way:
        for other in after.get(way.pop(), ()):
            if other not in found:
                found.add(other)
                way.append(other)
    return len(found)
