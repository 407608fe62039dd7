"""What belongs to the project as a whole, with `--json`."""

from typing import Annotated, Any

import msgspec

from sow.schema.output import fields
from sow.schema.output.fields import about


class ProjectView(msgspec.Struct, frozen=True, kw_only=True):
    """A project, with the contents of its `state.yaml`."""

    project: fields.ProjectKey
    name: Annotated[str, about("its name")]
    description: Annotated[str | None, about("its purpose; null if it was not given")]
    branch: Annotated[
        str | None,
        about(
            "the branch on which its tasks start and into which they are merged; null without git"
        ),
    ]
    phases: Annotated[tuple[str, ...], about("its phases, in order")]
    type: Annotated[str, about("standard, exploration, design, breakdown or quick")]
    state: Annotated[str, about("its state (docs/lifecycle.md)")]
    iteration: Annotated[int, about("its iteration, from 1: how often it was planned")]
    finished_phases: Annotated[
        tuple[str, ...], about("the finished ones of the phases that people lead")
    ]
    plan: Annotated[
        dict[str, Any] | None, about("who approved the plan, and when; null if nobody did")
    ]
    units: Annotated[tuple[dict[str, Any], ...], about("the work units that were approved")]
    review: Annotated[
        dict[str, Any] | None, about("the last verdict on the whole project; null before the first")
    ]
    check: Annotated[
        dict[str, Any] | None, about("the last check of the whole project; null before the first")
    ]
    ending: Annotated[
        dict[str, Any] | None, about("the request to end it, if there is one; else null")
    ]
    inputs: Annotated[tuple[dict[str, Any], ...], about("its input files (`sow schema project`)")]
    outputs: Annotated[tuple[dict[str, Any], ...], about("its output files (`sow schema project`)")]
    feedback: Annotated[
        tuple[dict[str, Any], ...],
        about("all feedback on it (`sow schema project`)"),
    ]
    created_at: fields.CreatedAt
    updated_at: Annotated[str, about("when it was last changed: UTC, ISO 8601")]
    metadata: Annotated[dict[str, Any], about("other values that were set (metadata.KEY)")]


class ProjectStanding(ProjectView, frozen=True, kw_only=True):
    """A project, with counts of its tasks."""

    task_count: Annotated[int, about("how many tasks can be read")]
    tasks_by_phase: Annotated[
        dict[str, dict[str, int]], about("for each phase, how many of its tasks have each status")
    ]
    invalid: Annotated[tuple[str, ...], about("what is wrong with the tasks that cannot be read")]


class ArtifactView(msgspec.Struct, frozen=True, kw_only=True):
    """An input or output file of the project."""

    path: Annotated[str, about("the file, relative to the folder with .sow")]
    type: Annotated[str, about("its type")]
    side: Annotated[str, about("input or output")]
    by: Annotated[str, about("who listed it: a role, or `person`")]
    at: Annotated[str, about("when that was: UTC, ISO 8601")]
    approved_by: Annotated[str | None, about("who approved it last; null if nobody did")]
    approved_at: Annotated[str | None, about("when that was; null if nobody did")]
    is_approved: Annotated[bool, about("whether its present content is approved")]


class RemedyView(msgspec.Struct, frozen=True, kw_only=True):
    """A command that helps to meet a condition."""

    command: Annotated[str, about("the command; replace each `<…>` in it")]
    why: Annotated[str, about("the reason, in a few words")]


class UnmetGuard(msgspec.Struct, frozen=True, kw_only=True):
    """A condition that is not met."""

    guard: Annotated[str, about("its name")]
    sentence: Annotated[str, about("what must be true")]
    remedies: Annotated[tuple[RemedyView, ...], about("the commands that make it true")]


class LifecycleEvent(msgspec.Struct, frozen=True, kw_only=True):
    """An event that the project's state has, and whether it is possible now."""

    event: Annotated[str, about("its name, the argument of `sow advance`")]
    source: Annotated[str, about("the project's present state")]
    target: Annotated[str, about("the state after the event")]
    allowed: Annotated[bool, about("whether all its conditions are met")]
    goes_back: Annotated[
        bool,
        about("whether it leads to an earlier state; `sow advance` does it only if you name it"),
    ]
    unmet: Annotated[tuple[UnmetGuard, ...], about("the conditions that are not met")]


class Advanced(msgspec.Struct, frozen=True, kw_only=True):
    """The project in its new state."""

    event: Annotated[str, about("the event that happened")]
    before: Annotated[str, about("the state before the event")]
    state: Annotated[str, about("the state after the event")]
    iteration: Annotated[int, about("its iteration, from 1: how often it was planned")]
    dry_run: Annotated[bool, about("whether nothing was changed")]


class Approved(msgspec.Struct, frozen=True, kw_only=True):
    """What was approved."""

    approved: Annotated[
        tuple[str, ...], about("`plan`, or the files and work units that were named")
    ]
    by: Annotated[str, about("who approved: a role, or `person`")]


class PhaseView(msgspec.Struct, frozen=True, kw_only=True):
    """A phase of the project."""

    phase: Annotated[str, about("its name")]
    led_by: Annotated[str, about("who leads it: people or agents")]
    is_finished: Annotated[bool, about("whether it was marked as finished")]
    task_count: Annotated[int, about("how many tasks it has")]


class ProjectRow(msgspec.Struct, frozen=True, kw_only=True):
    """A project of this repository: the current one, or one that has ended."""

    project: Annotated[str, about("its id")]
    name: Annotated[str, about("its name")]
    type: Annotated[str, about("standard, exploration, design, breakdown or quick")]
    state: Annotated[str, about("its state, or its state when it ended")]
    ended: Annotated[str | None, about("finished or abandoned; null for the current one")]
    ended_at: Annotated[str | None, about("when it ended: UTC, ISO 8601")]
    folder: Annotated[str, about("its folder, relative to the folder with .sow")]


class ProjectEnded(msgspec.Struct, frozen=True, kw_only=True):
    """The end of a project."""

    project: Annotated[str, about("its id")]
    name: Annotated[str, about("its name")]
    how: Annotated[str, about("finished or abandoned")]
    archive: Annotated[
        str | None,
        about("the folder of the archive; null if the project was removed, or has not ended yet"),
    ]
    is_recorded_only: Annotated[
        bool,
        about(
            "whether the end is only recorded; a worker then ends the project after the"
            " caller's job"
        ),
    ]
    clones: Annotated[tuple[str, ...], about("clones of its tasks that still exist")]
    branches: Annotated[tuple[str, ...], about("branches of its tasks that still exist")]


class WholeJudged(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict on the project as a whole."""

    verdict: Annotated[str, about("accepted or corrections")]
    by: Annotated[str, about("who gave it: a role, or `person`")]
    at: Annotated[str, about("when that was: UTC, ISO 8601")]
    summary: Annotated[str, about("the summary of the verdict; often empty")]
    feedback_id: Annotated[
        str | None, about("the feedback with the corrections; null if there are none")
    ]


class PublishedIssue(msgspec.Struct, frozen=True, kw_only=True):
    """A work unit as an issue of GitHub."""

    unit: Annotated[str, about("the unit's id")]
    number: Annotated[int, about("the issue's number")]
    url: Annotated[str, about("the issue's address")]
    is_new: Annotated[bool, about("whether this call opened it")]


class Published(msgspec.Struct, frozen=True, kw_only=True):
    """The published files of work units, and their issues."""

    files: Annotated[tuple[str, ...], about("the files, relative to the folder with .sow")]
    issues: Annotated[tuple[PublishedIssue, ...], about("with --to github: the issue of each unit")]


class FeedbackView(msgspec.Struct, frozen=True, kw_only=True):
    """Feedback on the project as a whole."""

    feedback_id: Annotated[str, about("its number, the argument of `sow feedback settle`")]
    status: Annotated[str, about("open or settled")]
    by: Annotated[str, about("who gave it: a role, or `person`")]
    at: Annotated[str, about("when that was: UTC, ISO 8601")]
    settled_by: Annotated[str | None, about("who settled it; null while it is open")]
    settled_at: Annotated[str | None, about("when that was; null while it is open")]
    text: Annotated[str, about("its text, in Markdown")]
