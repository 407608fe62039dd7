"""When a task of a batch waited for a person, as the record of changes has it. Pure.

Owns what an item's state and a pause of its batch mean for a task's time. A batch that wants a
person for an item begins nothing of it meanwhile: that is no wait for a slot.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from sow.schema.batch import BatchState, ItemState
from sow.schema.change import Change
from sow.schema.output.report import SpanKind
from sow.timeline.spans import SHORTEST, Stay, Wait

RESUMED = "a person to resume the batch"


class PersonWait(NamedTuple):
    """A stretch in which a person had to act, and what for."""

    begin: float
    end: float
    why: str


def item_waits(changes: Iterable[Change]) -> Iterator[PersonWait]:
    """Yield when an item wanted a person, from its changes in their order."""
    for change, end in _with_ends(changes):
        if change.data.status == ItemState.NEEDS_PERSON:
            reason = (change.data.reason or "").strip().partition("\n")[0]
            yield PersonWait(change.at, end, f"a person: {reason}" if reason else "a person")


def batch_waits(changes: Iterable[Change]) -> Iterator[PersonWait]:
    """Yield when a batch was paused, from its changes in their order."""
    for change, end in _with_ends(changes):
        if change.data.status == BatchState.PAUSED:
            yield PersonWait(change.at, end, RESUMED)


def _with_ends(changes: Iterable[Change]) -> Iterator[tuple[Change, float]]:
    """Yield each change and when the next one ended what it began."""
    found = list(changes)
    ends = [*(change.at for change in found[1:]), float("inf")]
    return zip(found, ends, strict=False)


def split_wait(
    begin: float, end: float, otherwise: Wait, waits: Sequence[PersonWait]
) -> Iterator[Stay]:
    """Yield a stretch without a job: for a person where one had to act, else for `otherwise`."""
    at = begin
    for wait in sorted(waits):
        first, last = max(wait.begin, at), min(wait.end, end)
        if last - first < SHORTEST:
            continue
        if first - at >= SHORTEST:
            yield Stay(at, first, *otherwise)
        else:
            first = at
        yield Stay(first, last, SpanKind.PERSON, wait.why)
        at = last
    if end - at >= SHORTEST:
        yield Stay(at, end, *otherwise)
