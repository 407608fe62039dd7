"""The types of projects and their states, with what there is to do in each.

Plain data, and all that a project's file needs of its lifecycle. The events between
the states, and what must be true before one, are in `types`, which fewer commands import.
"""

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct


class ProjectType(StrEnum):
    """The kinds of projects. The values are the words of `--type` and of `state.yaml`."""

    STANDARD = "standard"
    EXPLORATION = "exploration"
    DESIGN = "design"
    BREAKDOWN = "breakdown"
    QUICK = "quick"


class Stages(Struct, frozen=True):
    """The states of one type of projects, in order."""

    type: ProjectType
    about: str
    prefix: str
    """How the name of a branch begins that a project of this type is begun on."""
    states: Mapping[str, str]
    """What whoever comes to a state is told; the first state is where a project begins."""
    phases: tuple[str, ...]
    """The phases that a project has where none is named."""
    plan_state: str = ""
    """The state in which its plan waits for approval, where it has a plan."""

    @property
    def first(self) -> str:
        """The state in which a project begins."""
        return next(iter(self.states))


COMPLETED = "completed"
END = "The project is completed. End it with `sow project finish`, and commit what that leaves."

_STANDARD = Stages(
    ProjectType.STANDARD,
    "From a goal to a finished branch: plan, execute, review, finalize.",
    "",
    {
        "planning": "Break the goal into tasks that can be done and judged alone, each with a"
        " description. No task starts before the plan is approved and started.",
        "executing": "Spawn ready tasks, answer paused ones, and have the work reviewed and"
        " merged.",
        "reviewing": "Have the project reviewed: do the tasks together meet the goal?",
        "finalizing": "Prepare the branch for its merge: checks green, documents kept, feedback"
        " settled.",
        COMPLETED: END,
    },
    ("implementation",),
    plan_state="planning",
)
_EXPLORATION = Stages(
    ProjectType.EXPLORATION,
    "Agents explore topics and summarize what they find.",
    "explore/",
    {
        "exploring": "Each topic is a task. Findings are files of the project's context.",
        "summarizing": "Summarize the findings, and have each summary approved.",
        COMPLETED: END,
    },
    ("topics",),
)
_DESIGN = Stages(
    ProjectType.DESIGN,
    "Agents write documents, which are then approved.",
    "design/",
    {
        "drafting": "Write the documents, as drafts in the project's context, and list them as"
        " outputs. Have each approved.",
        "finalizing": "Move the documents to a place that is kept after the project.",
        COMPLETED: END,
    },
    ("documents",),
)
_BREAKDOWN = Stages(
    ProjectType.BREAKDOWN,
    "Agents split a large piece of work into work units for others.",
    "breakdown/",
    {
        "specifying": "Each work unit is a task: its description says what is wanted, `depends_on`"
        " what comes first. Have each approved.",
        "publishing": "Publish the units as files that are kept after the project.",
        COMPLETED: END,
    },
    ("units",),
)
_QUICK = Stages(
    ProjectType.QUICK,
    "Only tasks: no plan to approve, and no project review.",
    "",
    {
        "executing": "Add tasks and spawn ready ones. Answer paused ones, and have the work"
        " reviewed and merged.",
        COMPLETED: END,
    },
    ("implementation",),
)

STAGES: Mapping[ProjectType, Stages] = {
    stages.type: stages for stages in (_STANDARD, _EXPLORATION, _DESIGN, _BREAKDOWN, _QUICK)
}
STATE_OF_OLD = "executing"
"""Where a project stands that does not say it: it was begun before there were states."""
PEOPLES_PHASES = ("discovery", "design")
"""The phases of a standard project that people lead, where it has them."""
WHOLE_PHASE = "project"
"""The phase of tasks that are about the project as a whole; no guard counts them."""
BEFORE_PLAN = (*PEOPLES_PHASES, "exploration", "planning", WHOLE_PHASE)
"""The phases whose tasks may begin before the plan is approved: the plan rests on them."""


def waits_for_plan(kind: ProjectType, state: str, phase: str) -> bool:
    """Whether a task of a phase may not begin while a project of a type is in a state."""
    return state == STAGES[kind].plan_state and phase not in BEFORE_PLAN


def type_of_branch(branch: str | None) -> ProjectType:
    """Return the type that a branch's name asks for."""
    for stages in STAGES.values():
        if stages.prefix and (branch or "").startswith(stages.prefix):
            return stages.type
    return ProjectType.STANDARD
