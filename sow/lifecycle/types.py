"""What leads from one state of a project to the next, one table for each type of projects.

The states themselves are in `stages`, what must be true first in `guards`; docs/lifecycle.md is
drawn from these tables. Pure functions upon them say what may happen to a project, and what each
event still lacks.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import asdict

from sow.lifecycle import guards as g
from sow.lifecycle.guards import MERGED, TASKS_ENDED, Guard
from sow.lifecycle.lifecycle_facts import Facts, Remedy
from sow.lifecycle.stages import COMPLETED, STAGES, ProjectType, Stages


class Effect(StrEnum):
    """What an event changes besides the state."""

    NEW_ITERATION = "a new iteration starts, and approvals must be given again"


class Event(Struct, frozen=True):
    """One arrow: from a state to the next, allowed where all guards are met."""

    name: str
    source: str
    target: str
    guards: tuple[Guard, ...] = ()
    effect: Effect | None = None
    goes_back: bool = False
    """Whether it leads back: `sow advance` takes it only where it is named."""


class Lifecycle(Stages, frozen=True):
    """One type of projects: its states, and its events."""

    events: tuple[Event, ...] = ()


def _lifecycle(kind: ProjectType, *events: Event) -> Lifecycle:
    return Lifecycle(**asdict(STAGES[kind]), events=events)


STANDARD = _lifecycle(
    ProjectType.STANDARD,
    Event("execute", "planning", "executing", (g.HAS_WORK, g.PHASES_FINISHED, g.PLAN_APPROVED)),
    Event("review", "executing", "reviewing", (g.HAS_TASK, g.TASKS_ENDED, g.MERGED)),
    Event("finalize", "reviewing", "finalizing", (g.TASKS_ENDED, g.MERGED, g.REVIEW_ACCEPTS)),
    Event(
        "correct",
        "reviewing",
        "planning",
        (g.REVIEW_CORRECTS,),
        effect=Effect.NEW_ITERATION,
    ),
    Event(
        "complete",
        "finalizing",
        COMPLETED,
        (
            *(g.TASKS_ENDED, g.MERGED, g.REVIEW_ACCEPTS),
            *(g.CHECKS_GREEN, g.OUTPUTS_KEPT, g.FEEDBACK_SETTLED),
        ),
    ),
    Event("review", "finalizing", "reviewing", goes_back=True),
)
EXPLORATION = _lifecycle(
    ProjectType.EXPLORATION,
    Event("summarize", "exploring", "summarizing", (g.HAS_TASK, g.TASKS_ENDED, g.MERGED)),
    Event(
        "complete",
        "summarizing",
        COMPLETED,
        (
            *(g.TASKS_ENDED, g.MERGED, g.HAS_OUTPUT, g.OUTPUTS_APPROVED),
            *(g.OUTPUTS_KEPT, g.FEEDBACK_SETTLED),
        ),
    ),
    Event("explore", "summarizing", "exploring", goes_back=True),
)
DESIGN = _lifecycle(
    ProjectType.DESIGN,
    Event(
        "finalize",
        "drafting",
        "finalizing",
        (g.HAS_OUTPUT, g.TASKS_ENDED, g.MERGED, g.OUTPUTS_APPROVED, g.FEEDBACK_SETTLED),
    ),
    Event(
        "complete",
        "finalizing",
        COMPLETED,
        (
            *(g.TASKS_ENDED, g.MERGED, g.HAS_OUTPUT, g.OUTPUTS_APPROVED),
            *(g.OUTPUTS_KEPT, g.FEEDBACK_SETTLED),
        ),
    ),
    Event("draft", "finalizing", "drafting", goes_back=True),
)
BREAKDOWN = _lifecycle(
    ProjectType.BREAKDOWN,
    Event(
        "publish",
        "specifying",
        "publishing",
        (g.HAS_UNIT, g.NO_CIRCLE, g.UNITS_APPROVED, g.FEEDBACK_SETTLED),
    ),
    Event(
        "complete",
        "publishing",
        COMPLETED,
        (
            *(g.HAS_UNIT, g.NO_CIRCLE, g.UNITS_APPROVED, g.UNITS_PUBLISHED),
            *(g.OUTPUTS_APPROVED, g.OUTPUTS_KEPT, g.FEEDBACK_SETTLED),
        ),
    ),
    Event("specify", "publishing", "specifying", goes_back=True),
)
QUICK = _lifecycle(
    ProjectType.QUICK,
    Event(
        "complete",
        "executing",
        COMPLETED,
        (
            *(g.HAS_TASK, g.TASKS_ENDED, g.MERGED),
            *(g.CHECKS_GREEN, g.OUTPUTS_KEPT, g.FEEDBACK_SETTLED),
        ),
    ),
)

LIFECYCLES: Mapping[ProjectType, Lifecycle] = {
    lifecycle.type: lifecycle for lifecycle in (STANDARD, EXPLORATION, DESIGN, BREAKDOWN, QUICK)
}


LATER = "after what is named above"
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


def answer(guard: Guard, facts: Facts) -> Sequence[Remedy]:
    """Return what would meet a guard. Each is asked once: with many tasks, that takes long."""
    if guard.name not in facts.answers:
        facts.answers[guard.name] = guard.unmet(facts)
    return facts.answers[guard.name]


def refusals(event: Event, facts: Facts) -> list[Refusal]:
    """Return each guard of an event that is not met; none where it may happen."""
    asked = [(guard, answer(guard, facts)) for guard in event.guards]
    return [Refusal(guard, remedies) for guard, remedies in asked if remedies]


def left_undone(facts: Facts) -> list[Refusal]:
    """Return why a completed project cannot be finished: a task was added or reopened since then.

    A verdict and a check are not asked for again: they were true when it was completed.
    """
    complete = next(event for event in lifecycle_of(facts).events if event.target == COMPLETED)
    asked = [(guard, answer(guard, facts)) for guard in complete.guards if guard in UNTIL_THE_END]
    return [Refusal(guard, remedies) for guard, remedies in asked if remedies]


def each_once(unmet: Sequence[Refusal]) -> list[Refusal]:
    """Return the same with each command once, at the first guard that it helps to meet.

    Where a guard can be met only after an earlier one, its commands until then are those of that
    one. Such a guard gets the command that meets it later.
    """
    named: set[str] = set()
    found = []
    for guard, remedies in unmet:
        own = [remedy for remedy in remedies if remedy.command not in named]
        named |= {remedy.command for remedy in own}
        found.append(Refusal(guard, own or [Remedy(guard.commands[0], LATER)]))
    return found


def missing_words(unmet: Sequence[Refusal]) -> str:
    """Return the guards that are not met, each with the commands that meet it."""
    lines = [
        f"  - {refusal.guard.sentence}: {remedy.why}\n      {remedy.command}"
        for refusal in each_once(unmet)
        for remedy in refusal.remedies
    ]
    return "\n".join(["What must be true first, each with the command that helps:", *lines])


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
