"""What leads from one state of a project to the next, one table for each type of projects.

Plain data; the states themselves are in `stages`. `machine` says what may happen, `guards`
what must be true first; docs/lifecycle.md is drawn from these tables.
"""

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import asdict

from sow.lifecycle import guards as g
from sow.lifecycle.guards import Guard
from sow.lifecycle.stages import COMPLETED, STAGES, ProjectType, Stages


class Effect(StrEnum):
    """What an event changes besides the state."""

    NEW_ITERATION = "a new iteration begins, and approvals are given anew"


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
    Event(
        "execute",
        "planning",
        "executing",
        (g.HAS_WORK, g.PHASES_FINISHED, g.PLAN_APPROVED),
    ),
    Event(
        "review",
        "executing",
        "reviewing",
        (g.HAS_TASK, g.TASKS_ENDED, g.MERGED),
    ),
    Event(
        "finalize",
        "reviewing",
        "finalizing",
        (g.TASKS_ENDED, g.MERGED, g.REVIEW_ACCEPTS),
    ),
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
