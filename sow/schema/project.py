"""The project's `state.yaml`."""

from enum import StrEnum
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from sow.ids import SLUG_PATTERN
from sow.lifecycle.stages import STAGES, STATE_OF_OLD, ProjectType
from sow.schema.task import CheckName, CommandHash, Moment, PhaseText, ReviewVerdict, TaskIdText

ProjectIdText = Annotated[
    str, Meta(pattern="^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$", description="a UUID")
]


ArtifactType = Annotated[
    str, Meta(pattern=SLUG_PATTERN, description="what it is, such as design or summary")
]
NumberText = Annotated[str, Meta(pattern=r"^[0-9]{3,}$", description="three or more digits")]


ContentHash = Annotated[str, Meta(pattern="^[0-9a-f]{64}$", description="a SHA-256")]
WorkHash = Annotated[
    str, Meta(pattern="^([0-9a-f]{64})?$", description="a SHA-256; empty without git")
]


class EndingWord(StrEnum):
    """How a project ends."""

    FINISHED = "finished"
    ABANDONED = "abandoned"


class Approval(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """That somebody has approved a file as it stood then."""

    by: str
    """The role of the agent; `person` where it was none."""
    at: Moment
    content: ContentHash
    """Of the file's bytes. Once they are others, the approval holds no more."""


class Artifact(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A file of the repository that the project takes in or brings forth."""

    path: Annotated[str, Meta(min_length=1)]
    """From the workspace's root, with forward slashes."""
    type: ArtifactType
    by: str
    """Who has listed it: a role, or `person`."""
    at: Moment
    approved: Approval | UnsetType = UNSET


class NoteStatus(StrEnum):
    """Where feedback on the project stands."""

    OPEN = "open"
    SETTLED = "settled"


class ProjectFeedback(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Feedback on the project as a whole; its words are a file in `feedback/`."""

    id: NumberText
    status: NoteStatus
    by: str
    at: Moment
    settled_by: str | UnsetType = UNSET
    settled_at: Moment | UnsetType = UNSET

    @property
    def file(self) -> str:
        """The name of the file with its words."""
        return f"{self.id}.md"


class PlanApproval(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """That somebody has approved the plan as it stood then."""

    by: str
    """The role of the agent; `person` where it was none."""
    at: Moment
    content: ContentHash
    """Of the tasks' names, descriptions, roles and dependencies."""


class UnitApproval(PlanApproval, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """That somebody has approved a work unit as it stood then."""

    id: TaskIdText


class ProjectReview(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The last verdict on the whole. It holds as long as the work outside of `.sow` is the same."""

    verdict: ReviewVerdict
    by: str
    """The role of the agent that judged; `person` where it was none."""
    at: Moment
    work: WorkHash = ""
    summary: str = ""
    feedback: NumberText | UnsetType = UNSET
    """The feedback that says what to correct."""


class ProjectCheck(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The last run of the default checks on the whole."""

    passed: bool
    at: Moment
    work: WorkHash = ""
    names: list[CheckName] = []
    commands: dict[CheckName, CommandHash] = {}
    """By its name, of each command line that was run; an older sow kept none."""


class Ending(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """That the project is to be ended, or, in the archive, that it was."""

    how: EndingWord
    by: str
    at: Moment
    remove: bool = False
    """Whether nothing of it is archived."""


class Project(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The project of one branch."""

    id: ProjectIdText
    name: Annotated[str, Meta(min_length=1)]
    description: str | UnsetType = UNSET
    branch: str | UnsetType = UNSET
    phases: Annotated[list[PhaseText], Meta(min_length=1)]
    created_at: Moment
    updated_at: Moment
    inputs: list[Artifact] | UnsetType = UNSET
    outputs: list[Artifact] | UnsetType = UNSET
    feedback: list[ProjectFeedback] | UnsetType = UNSET
    type: ProjectType | UnsetType = UNSET
    """What kind of project it is; standard where it does not say."""
    state: Annotated[str, Meta(pattern=SLUG_PATTERN)] | UnsetType = UNSET
    """Where it stands in its type's lifecycle; executing where it does not say."""
    iteration: Annotated[int, Meta(ge=1)] | UnsetType = UNSET
    """How often it was planned, from 1."""
    finished_phases: list[PhaseText] | UnsetType = UNSET
    """The phases led by people that are finished."""
    plan: PlanApproval | UnsetType = UNSET
    units: list[UnitApproval] | UnsetType = UNSET
    review: ProjectReview | UnsetType = UNSET
    check: ProjectCheck | UnsetType = UNSET
    ending: Ending | UnsetType = UNSET
    metadata: dict[str, Any] = {}

    @property
    def kind(self) -> ProjectType:
        """What kind of project it is."""
        return ProjectType.STANDARD if self.type is UNSET else self.type

    @property
    def standing(self) -> str:
        """The state in which it is."""
        return STATE_OF_OLD if self.state is UNSET else self.state

    @property
    def round(self) -> int:
        """The iteration in which it is."""
        return 1 if self.iteration is UNSET else self.iteration

    def __post_init__(self) -> None:
        states = STAGES[self.kind].states
        if self.standing not in states:
            raise ValueError(
                f"a project of the type {self.kind} has no state {self.standing!r}"
                f" (it has: {', '.join(states)})"
            )


class ProjectState(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole of `project/state.yaml`."""

    project: Project
    version: Annotated[int, Meta(ge=1, description="the form of this file")] | UnsetType = UNSET
    """Written with the first field that came after form 1 (`state.version`)."""
