"""What belongs to the project as a whole, with `--json`."""

from typing import Annotated, Any

import msgspec

from sow.schema.output import fields
from sow.schema.output.fields import about


class ProjectView(msgspec.Struct, frozen=True, kw_only=True):
    """A project, as its `state.yaml` holds it."""

    project: fields.ProjectKey
    name: Annotated[str, about("what it is called")]
    description: Annotated[str | None, about("what it is for; null if nobody said")]
    branch: Annotated[str | None, about("the branch it was begun on; null without git")]
    phases: Annotated[tuple[str, ...], about("its phases, in order")]
    type: Annotated[str, about("standard, exploration, design or breakdown")]
    state: Annotated[str, about("where it stands in its type's lifecycle")]
    iteration: Annotated[int, about("how often it was planned, from 1")]
    finished_phases: Annotated[tuple[str, ...], about("the phases led by people that are finished")]
    plan: Annotated[dict[str, Any] | None, about("who has approved the plan, and when; else null")]
    units: Annotated[tuple[dict[str, Any], ...], about("the work units that were approved")]
    review: Annotated[
        dict[str, Any] | None, about("the last verdict on the whole; null before one")
    ]
    check: Annotated[dict[str, Any] | None, about("the last check of the whole; null before one")]
    ending: Annotated[dict[str, Any] | None, about("that its end was asked for; else null")]
    inputs: Annotated[
        tuple[dict[str, Any], ...], about("the files that it takes in (`sow schema project`)")
    ]
    outputs: Annotated[
        tuple[dict[str, Any], ...], about("the files that it brings forth (`sow schema project`)")
    ]
    feedback: Annotated[
        tuple[dict[str, Any], ...],
        about("the feedback on it, settled or not (`sow schema project`)"),
    ]
    created_at: fields.CreatedAt
    updated_at: Annotated[str, about("when it was last changed: UTC, ISO 8601")]
    metadata: Annotated[dict[str, Any], about("whatever else was set for it")]


class ProjectStanding(ProjectView, frozen=True, kw_only=True):
    """A project with how many of its tasks stand where."""

    task_count: Annotated[int, about("how many tasks can be read")]
    tasks_by_phase: Annotated[
        dict[str, dict[str, int]], about("by phase, how many of its tasks have each status")
    ]
    invalid: Annotated[tuple[str, ...], about("what is wrong with the tasks that cannot be read")]


class ArtifactView(msgspec.Struct, frozen=True, kw_only=True):
    """A file that the project takes in or brings forth."""

    path: Annotated[str, about("the file, from the workspace's root")]
    type: Annotated[str, about("what it is, in a word")]
    side: Annotated[str, about("input or output")]
    by: Annotated[str, about("who has listed it: a role, or `person`")]
    at: Annotated[str, about("when that was: UTC, ISO 8601")]
    approved_by: Annotated[str | None, about("who has approved it last; null where nobody has")]
    approved_at: Annotated[str | None, about("when that was; null where nobody has")]
    is_approved: Annotated[bool, about("whether it is approved as it stands now, unchanged since")]


class RemedyView(msgspec.Struct, frozen=True, kw_only=True):
    """A command that brings the project on."""

    command: Annotated[str, about("the command; `<…>` in it is the reader's to fill in")]
    why: Annotated[str, about("what it is for, in a few words")]


class UnmetGuard(msgspec.Struct, frozen=True, kw_only=True):
    """A condition that is not met."""

    guard: Annotated[str, about("its name")]
    sentence: Annotated[str, about("what must be true")]
    remedies: Annotated[tuple[RemedyView, ...], about("the commands that make it true")]


class EventView(msgspec.Struct, frozen=True, kw_only=True):
    """What may happen to the project next."""

    event: Annotated[str, about("its name, as `sow advance` takes it")]
    source: Annotated[str, about("the state in which the project is")]
    target: Annotated[str, about("the state that it leads to")]
    allowed: Annotated[bool, about("whether all its guards are met")]
    goes_back: Annotated[bool, about("whether it leads back, so that it must be named")]
    unmet: Annotated[tuple[UnmetGuard, ...], about("the guards that are not met")]


class Advanced(msgspec.Struct, frozen=True, kw_only=True):
    """The project in its new state."""

    event: Annotated[str, about("what has happened")]
    before: Annotated[str, about("the state in which it was")]
    state: Annotated[str, about("the state in which it is, or would be")]
    iteration: Annotated[int, about("how often it was planned, from 1")]
    dry_run: Annotated[bool, about("whether nothing was changed")]


class Approved(msgspec.Struct, frozen=True, kw_only=True):
    """What was approved."""

    approved: Annotated[
        tuple[str, ...], about("plan, or the files and work units, as they are listed")
    ]
    by: Annotated[str, about("who has approved: a role, or `person`")]


class PhaseView(msgspec.Struct, frozen=True, kw_only=True):
    """A phase of the project."""

    phase: Annotated[str, about("its name")]
    led_by: Annotated[str, about("people, or agents")]
    is_finished: Annotated[bool, about("whether it was marked as finished")]
    task_count: Annotated[int, about("how many tasks it has")]


class ProjectRow(msgspec.Struct, frozen=True, kw_only=True):
    """A project of this repository: the one at work, or one that has ended."""

    project: Annotated[str, about("its id")]
    name: Annotated[str, about("what it is called")]
    type: Annotated[str, about("standard, exploration, design or breakdown")]
    state: Annotated[str, about("where it stands, or stood when it ended")]
    ended: Annotated[str | None, about("finished or abandoned; null for the one at work")]
    ended_at: Annotated[str | None, about("when it ended: UTC, ISO 8601")]
    folder: Annotated[str, about("where it lies, from the workspace's root")]


class ProjectEnded(msgspec.Struct, frozen=True, kw_only=True):
    """How the project ends."""

    project: Annotated[str, about("its id")]
    name: Annotated[str, about("what it is called")]
    how: Annotated[str, about("finished or abandoned")]
    archive: Annotated[
        str | None, about("where it lies now; null where it was removed, or goes on")
    ]
    is_recorded_only: Annotated[
        bool, about("whether a worker carries it out once the caller's job has ended")
    ]
    clones: Annotated[
        tuple[str, ...], about("the folders of the clones of its tasks that are left")
    ]
    branches: Annotated[tuple[str, ...], about("the branches of its tasks that are left")]


class WholeJudged(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict on the project as a whole."""

    verdict: Annotated[str, about("accepted or corrections")]
    by: Annotated[str, about("who has judged: a role, or `person`")]
    at: Annotated[str, about("when that was: UTC, ISO 8601")]
    summary: Annotated[str, about("what the judge says of the whole; often empty")]
    feedback_id: Annotated[
        str | None, about("the feedback that says what to correct; null without one")
    ]


class PublishedIssue(msgspec.Struct, frozen=True, kw_only=True):
    """A work unit as an issue of GitHub."""

    unit: Annotated[str, about("the unit's id")]
    number: Annotated[int, about("the issue's number")]
    url: Annotated[str, about("the issue's address")]
    is_new: Annotated[bool, about("whether this call has opened it")]


class Published(msgspec.Struct, frozen=True, kw_only=True):
    """The files in which the work units are published, and their issues."""

    files: Annotated[tuple[str, ...], about("the files, from the workspace's root")]
    issues: Annotated[tuple[PublishedIssue, ...], about("with --to github: each unit's issue")]


class FeedbackView(msgspec.Struct, frozen=True, kw_only=True):
    """Feedback on the project as a whole."""

    feedback_id: Annotated[str, about("its number, as commands name it")]
    status: Annotated[str, about("open or settled")]
    by: Annotated[str, about("who has given it: a role, or `person`")]
    at: Annotated[str, about("when that was: UTC, ISO 8601")]
    settled_by: Annotated[str | None, about("who has settled it; null while it is open")]
    settled_at: Annotated[str | None, about("when that was; null while it is open")]
    text: Annotated[str, about("its words, in Markdown")]
