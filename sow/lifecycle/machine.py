"""What may happen to a project that stands so: its events, and what each of them still lacks.

Pure functions upon the tables in `types`.
"""

from collections.abc import Sequence
from typing import NamedTuple

from sow.lifecycle.guards import MERGED, TASKS_ENDED, Guard
from sow.lifecycle.lifecycle_facts import Facts, Remedy
from sow.lifecycle.stages import COMPLETED, ProjectType
from sow.lifecycle.types import LIFECYCLES, Event, Lifecycle

UNTIL_THE_END = (TASKS_ENDED, MERGED)
"""The guards of a project's completion that are asked again when it is finished."""


class Refusal(NamedTuple):
    """A guard that is not met, and the commands that meet it."""

    guard: Guard
    remedies: Sequence[Remedy]


def lifecycle_of(facts: Facts) -> Lifecycle:
    """Return the table of a project's type."""
    return LIFECYCLES[ProjectType(facts.type)]


def next_events(facts: Facts) -> list[Event]:
    """Return the events that lead on from the project's state, in the table's order."""
    return [event for event in lifecycle_of(facts).events if event.source == facts.state]


def refusals(event: Event, facts: Facts) -> list[Refusal]:
    """Return each guard of an event that is not met; none where it may happen."""
    asked = [(guard, guard.unmet(facts)) for guard in event.guards]
    return [Refusal(guard, remedies) for guard, remedies in asked if remedies]


def left_undone(facts: Facts) -> list[Refusal]:
    """Return why a completed project cannot be finished: a task was added or reopened since then.

    A verdict and a check are not asked for again: they were true when it was completed.
    """
    complete = next(event for event in lifecycle_of(facts).events if event.target == COMPLETED)
    asked = [(guard, guard.unmet(facts)) for guard in complete.guards if guard in UNTIL_THE_END]
    return [Refusal(guard, remedies) for guard, remedies in asked if remedies]


def missing_words(unmet: Sequence[Refusal]) -> str:
    """Return the guards that are not met, each with the commands that meet it."""
    lines = [
        f"  - {refusal.guard.sentence}: {remedy.why}\n      {remedy.command}"
        for refusal in unmet
        for remedy in refusal.remedies
    ]
    return "\n".join(["What must be true first, and what meets it:", *lines])


def obvious_event(facts: Facts) -> Event | None:
    """Return the event that nobody has to name: the first forward one that may happen now."""
    for event in next_events(facts):
        if not event.goes_back and not refusals(event, facts):
            return event
    return None


def awaited_event(facts: Facts) -> Event | None:
    """Return the event that the project is on its way to; None where it is completed."""
    forward = [event for event in next_events(facts) if not event.goes_back]
    return obvious_event(facts) or next(iter(forward), None)


def find_event(facts: Facts, name: str) -> Event | None:
    """Return the event of a name that leads on from the project's state, if any."""
    return next((event for event in next_events(facts) if event.name == name), None)
