"""The types of projects, one table each: states with what to do there, and the events between them.

Plain data. `machine` says what may happen, `guards` what must be true first;
docs/lifecycle.md is drawn from these tables.
"""

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct

from sow.lifecycle import guards as g
from sow.lifecycle.guards import Guard


class ProjectType(StrEnum):
    """The kinds of projects. The values are the words of `--type` and of `state.yaml`."""

    STANDARD = "standard"
    EXPLORATION = "exploration"
    DESIGN = "design"
    BREAKDOWN = "breakdown"


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


class Lifecycle(Struct, frozen=True):
    """One type of projects: its states in order, each with what there is to do, and its events."""

    type: ProjectType
    about: str
    prefix: str
    """How the name of a branch begins that a project of this type is begun on."""
    states: Mapping[str, str]
    """What whoever comes to a state is told; the first state is where a project begins."""
    events: tuple[Event, ...]
    phases: tuple[str, ...]
    """The phases that a project has where none is named."""

    @property
    def first(self) -> str:
        """The state in which a project begins."""
        return next(iter(self.states))


COMPLETED = "completed"
END = "The project is completed. End it with `sow project finish`, and commit what that leaves."

STANDARD = Lifecycle(
    ProjectType.STANDARD,
    "From a goal to a finished branch: plan, execute, review, finalize.",
    "",
    {
        "planning": "Break the goal into tasks that can be done and judged alone, each with a"
        " description. Have the plan approved before anything is spawned.",
        "executing": "Spawn what is ready, answer what is paused, have the work judged and merged.",
        "reviewing": "Have the whole judged: whether the tasks together meet the goal.",
        "finalizing": "Leave the branch as it should be merged: checks green, documents kept,"
        " feedback settled.",
        COMPLETED: END,
    },
    (
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
    ),
    ("implementation",),
)
EXPLORATION = Lifecycle(
    ProjectType.EXPLORATION,
    "Topics are looked into, and what was found is summed up.",
    "explore/",
    {
        "exploring": "Each topic is a task. Findings are files of the project's context.",
        "summarizing": "Sum up what was found, and have each summary approved.",
        COMPLETED: END,
    },
    (
        Event("summarize", "exploring", "summarizing", (g.HAS_TASK, g.TASKS_ENDED)),
        Event(
            "complete",
            "summarizing",
            COMPLETED,
            (
                *(g.TASKS_ENDED, g.HAS_OUTPUT, g.OUTPUTS_APPROVED),
                *(g.OUTPUTS_KEPT, g.FEEDBACK_SETTLED),
            ),
        ),
        Event("explore", "summarizing", "exploring", goes_back=True),
    ),
    ("topics",),
)
DESIGN = Lifecycle(
    ProjectType.DESIGN,
    "Documents are written, and approved.",
    "design/",
    {
        "drafting": "Write the documents, as drafts in the project's context, and list them as"
        " outputs. Have each approved.",
        "finalizing": "Move the documents to where they outlive the project.",
        COMPLETED: END,
    },
    (
        Event(
            "finalize",
            "drafting",
            "finalizing",
            (g.HAS_OUTPUT, g.TASKS_ENDED, g.OUTPUTS_APPROVED, g.FEEDBACK_SETTLED),
        ),
        Event(
            "complete",
            "finalizing",
            COMPLETED,
            (g.OUTPUTS_APPROVED, g.OUTPUTS_KEPT, g.FEEDBACK_SETTLED),
        ),
        Event("draft", "finalizing", "drafting", goes_back=True),
    ),
    ("documents",),
)
BREAKDOWN = Lifecycle(
    ProjectType.BREAKDOWN,
    "A large piece of work becomes work units that others can take up.",
    "breakdown/",
    {
        "specifying": "Each work unit is a task: its description says what is wanted, `depends_on`"
        " what comes first. Have each approved.",
        "publishing": "Publish the units as files that outlive the project.",
        COMPLETED: END,
    },
    (
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
            (g.HAS_UNIT, g.NO_CIRCLE, g.UNITS_APPROVED, g.UNITS_PUBLISHED, g.FEEDBACK_SETTLED),
        ),
        Event("specify", "publishing", "specifying", goes_back=True),
    ),
    ("units",),
)

LIFECYCLES: Mapping[ProjectType, Lifecycle] = {
    lifecycle.type: lifecycle for lifecycle in (STANDARD, EXPLORATION, DESIGN, BREAKDOWN)
}
STATE_OF_OLD = "executing"
"""Where a project stands that does not say it: it was begun before there were states."""
PEOPLES_PHASES = ("discovery", "design")
"""The phases of a standard project that people lead, where it has them."""
WHOLE_PHASE = "project"
"""The phase of tasks that are about the project as a whole; no guard counts them."""


def type_of_branch(branch: str | None) -> ProjectType:
    """Return the type that a branch's name asks for."""
    for lifecycle in LIFECYCLES.values():
        if lifecycle.prefix and (branch or "").startswith(lifecycle.prefix):
            return lifecycle.type
    return ProjectType.STANDARD
