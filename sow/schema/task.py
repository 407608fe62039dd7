"""A task's `state.yaml`.

Owns its fields and the words they may hold. Which status may follow which is
`state.transitions`; where the file lies is `paths`.
"""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from sow.ids import SLUG_PATTERN, TASK_ID_PATTERN, TASK_KEY_PATTERN
from sow.lifecycle.stages import WHOLE_PHASE

TaskIdText = Annotated[str, Meta(pattern=TASK_ID_PATTERN, description="three or more digits")]
PhaseText = Annotated[
    str, Meta(pattern=SLUG_PATTERN, description="lower-case letters, digits and dashes")
]
AgentText = Annotated[
    str, Meta(pattern=SLUG_PATTERN, description="the name of an agent, such as implementer")
]
CheckName = Annotated[
    str, Meta(pattern=SLUG_PATTERN, description="a name below `checks` in .sow/config.yaml")
]
LabelText = Annotated[
    str,
    Meta(
        pattern="^[a-z0-9][a-z0-9._:-]{0,63}$",
        description="lower-case letters, digits, dots, colons, dashes and underscores",
    ),
]
"""What a host offers, and a task may require."""
TaskKeyText = Annotated[
    str,
    Meta(
        pattern=TASK_KEY_PATTERN,
        description="a letter, then letters, digits, dots, slashes, dashes and underscores",
    ),
]
MOST_PRIORITY = 1000
Priority = Annotated[int, Meta(ge=-MOST_PRIORITY, le=MOST_PRIORITY)]
"""Of the jobs that may run, the one of the highest priority begins first; 0 where none is named."""
Moment = Annotated[datetime, Meta(tz=True, description="UTC, seconds, Z")]


class TaskStatus(StrEnum):
    """Where a task stands. The values are the words in `state.yaml`."""

    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    PAUSED = "paused"
    NEEDS_REVIEW = "needs_review"
    FAILED = "failed"
    COMPLETED = "completed"
    ABANDONED = "abandoned"


class SessionFacts(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What sow knows of the session whose id stands in `session_id`."""

    executor: str
    """The name of the executor that made the session; only that one can resume it."""
    type: str | UnsetType = UNSET
    """That executor's type; absent where its name, built in since sow 0.1, tells it, and where an
    older sow wrote this. Text, for a file may come from a sow that knows more types."""
    cwd: str = "."
    """The folder the session runs in, relative to the workspace's root."""
    started: bool = False
    """Whether the CLI is known to have begun it."""
    dialect: str | UnsetType = UNSET
    """Which of its CLI's dialects made it, where there are several."""


CommitText = Annotated[
    str, Meta(pattern=r"^[0-9a-f]{40}([0-9a-f]{24})?$", description="a commit's id")
]


class ReviewVerdict(StrEnum):
    """How a piece of work was judged."""

    ACCEPTED = "accepted"
    CORRECTIONS = "corrections"
    """Something is to be changed; the feedback says what."""


class TaskReview(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The last verdict on a task's work. It holds for one commit."""

    verdict: ReviewVerdict
    by: str
    """The role of the agent that judged; `person` for somebody at a terminal."""
    at: Moment
    commit: CommitText | UnsetType = UNSET
    """The commit that was judged; absent where there is no git."""
    summary: str = ""
    steers: list[str] = []
    """Files of the change that steer agents or machines; whoever merges it should look at them."""
    job: int | UnsetType = UNSET
    """The job whose agent judged, or whose check was green."""


class FeedbackStatus(StrEnum):
    """Where a feedback file stands."""

    OPEN = "open"
    ADDRESSED = "addressed"
    """The author has run since it was written."""
    SETTLED = "settled"
    """A later verdict has been given; what is still wrong was written anew."""


class Feedback(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An entry of `feedback` as sow writes it. Older ones may be any text."""

    file: Annotated[str, Meta(pattern=r"^[0-9]{3,}\.md$", description="a file in feedback/")]
    status: FeedbackStatus


class TaskClone(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The clone of the repository that a task has for itself, on the machine that made it."""

    path: Annotated[str, Meta(min_length=1)]
    """Its folder, absolute. A clone that is removed is made again there."""
    branch: Annotated[str, Meta(min_length=1)]
    """The task's branch, in the clone and in the repository."""
    base: CommitText
    """The commit at which the branch began."""


CommandHash = Annotated[
    str, Meta(pattern="^([0-9a-f]{64})?$", description="a SHA-256 of a command line")
]


class CommandResult(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How one command line of a check ended."""

    name: str
    passed: bool
    exit_code: int | None = None
    """None where it was ended by a signal, or by its time limit."""
    seconds: float = 0.0
    reason: str = ""
    """Why it did not pass, in a few words."""
    lines: list[str] = []
    """The last lines that it printed, where it did not pass."""
    command: CommandHash = ""
    """Of the text that was run; empty where an older sow has run it."""


class CheckRecord(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The last check of a task: what it has judged, and how that stood."""

    passed: bool
    commit: str | None = None
    """The commit that was checked out; None where there is no git, or no commit."""
    dirty: bool = False
    """Whether what was judged was not that commit alone: files had been changed, or it moved."""
    at: Moment
    results: list[CommandResult] = []


class TaskMerge(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename={"result": "as"}
):
    """How a task's work came into the project's branch."""

    commit: CommitText
    """The last commit of the task that was merged."""
    into: Annotated[str, Meta(min_length=1)]
    """The branch."""
    result: CommitText
    """The commit of that branch that brought it; where it was there already, the task's own."""
    at: Moment


REVIEW_OF = "review_of"
"""The key of a task's metadata that names the work of which it is the review."""


class Task(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One task."""

    id: TaskIdText
    key: TaskKeyText | UnsetType = UNSET
    """A person's own name for it, by which `sow task import` knows it again."""
    name: Annotated[str, Meta(min_length=1)]
    phase: PhaseText
    status: TaskStatus = TaskStatus.PENDING
    assigned_agent: AgentText
    iteration: Annotated[int, Meta(ge=1)] = 1
    depends_on: list[TaskIdText] = []
    priority: Priority | UnsetType = UNSET
    """That of its jobs, unless a call names another."""
    session_id: Annotated[str, Meta(min_length=1)] | UnsetType = UNSET
    session: SessionFacts | UnsetType = UNSET
    clone: TaskClone | UnsetType = UNSET
    created_at: Moment
    updated_at: Moment
    started_at: Moment | UnsetType = UNSET
    completed_at: Moment | UnsetType = UNSET
    review: TaskReview | UnsetType = UNSET
    references: list[Any] = []
    feedback: list[Any] = []
    files_modified: list[str] = []
    checks: list[CheckName] | UnsetType = UNSET
    """The checks that it is judged by; without the field those that the repository names."""
    requires: list[LabelText] | UnsetType = UNSET
    """The labels that a host must have to run its jobs, in a queue that several hosts share."""
    check: CheckRecord | UnsetType = UNSET
    """The outcome of the last check of it."""
    merged: TaskMerge | UnsetType = UNSET
    """How its work came into the project's branch; a task that is reopened may have more since."""
    metadata: dict[str, Any] = {}

    @property
    def judges_whole(self) -> bool:
        """Whether the work of its agent is a verdict on the project as a whole."""
        return self.phase == WHOLE_PHASE and REVIEW_OF in self.metadata

    @property
    def never_ran(self) -> bool:
        """Whether nobody has ever been asked to work on it; it may have been given up."""
        return not (
            self.session_started
            or self.started_at is not UNSET
            or self.status not in (TaskStatus.PENDING, TaskStatus.ABANDONED)
        )

    @property
    def has_begun(self) -> bool:
        """Whether anybody has worked on it, was asked to, or has ended it."""
        return not self.never_ran or self.status is not TaskStatus.PENDING

    @property
    def session_started(self) -> bool:
        """Whether a session exists that its CLI has begun.

        An id without facts was written by another tool and counts as started.
        """
        if self.session_id is UNSET:
            return False
        return self.session is UNSET or self.session.started


class TaskState(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole of a task's `state.yaml`."""

    task: Task
    version: Annotated[int, Meta(ge=1, description="the form of this file")] | UnsetType = UNSET
    """Written with the first field that came after form 1 (`state.version`)."""
