"""Tasks and projects with `--json`."""

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from sow.schema.output import fields


class TaskView(msgspec.Struct, frozen=True, kw_only=True):
    """A task, as every command shows it: what its `state.yaml` holds, and where it lies."""

    task: fields.TaskKey
    name: Annotated[str, Meta(description="what it is called")]
    phase: Annotated[str, Meta(description="the phase of the project that it belongs to")]
    status: Annotated[str, Meta(description="where it stands")]
    agent: Annotated[str, Meta(description="the role it is for (`assigned_agent` in its file)")]
    iteration: Annotated[int, Meta(description="how often work on it was begun, from 1")]
    depends_on: Annotated[
        tuple[str, ...], Meta(description="the ids of the tasks that must be completed before it")
    ]
    session_id: fields.SessionId
    session: Annotated[
        dict[str, Any] | None,
        Meta(description="what sow knows of the session (`sow schema task`); null without one"),
    ]
    created_at: fields.CreatedAt
    updated_at: Annotated[str, Meta(description="when it was last changed: UTC, ISO 8601")]
    started_at: fields.StartedAt
    completed_at: Annotated[
        str | None, Meta(description="when it was completed: UTC, ISO 8601; null before")
    ]
    clone: Annotated[
        dict[str, Any] | None,
        Meta(description="its own clone: path, branch and base commit; null without one"),
    ]
    review: Annotated[
        dict[str, Any] | None,
        Meta(description="the last verdict on its work (`sow schema task`); null before one"),
    ]
    references: Annotated[tuple[Any, ...], Meta(description="what its agent should read")]
    feedback: Annotated[tuple[Any, ...], Meta(description="the corrections that were asked for")]
    files_modified: Annotated[tuple[str, ...], Meta(description="the files that were changed")]
    checks: Annotated[
        tuple[str, ...] | None,
        Meta(description="the checks that it is judged by; null where it names none itself"),
    ]
    check: Annotated[
        dict[str, Any] | None,
        Meta(description="the outcome of its last check (`sow schema task`); null before one"),
    ]
    merged: Annotated[
        dict[str, Any] | None,
        Meta(description="how its work was merged (`sow schema task`); null before that"),
    ]
    metadata: Annotated[dict[str, Any], Meta(description="whatever else was set for it")]
    folder: Annotated[str, Meta(description="where it lies, relative to the workspace's root")]


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict on a task's work, and where the task stands."""

    task: fields.TaskKey
    status: Annotated[str, Meta(description="where the task stands now")]
    verdict: Annotated[
        str | None, Meta(description="accepted or corrections; null where nobody has judged")
    ]
    by: Annotated[str | None, Meta(description="the role of the agent that judged, or `person`")]
    at: Annotated[str | None, Meta(description="when that was: UTC, ISO 8601")]
    commit: Annotated[str | None, Meta(description="the commit that was judged; null without git")]
    summary: Annotated[str, Meta(description="what the judge says of the whole; often empty")]
    steers: Annotated[
        tuple[str, ...], Meta(description="files of the change that steer agents or machines")
    ]
    feedback: Annotated[
        tuple[Any, ...], Meta(description="the corrections that were asked for, with their status")
    ]


class ProjectView(msgspec.Struct, frozen=True, kw_only=True):
    """A project, as its `state.yaml` holds it."""

    project: fields.ProjectKey
    name: Annotated[str, Meta(description="what it is called")]
    description: Annotated[str | None, Meta(description="what it is for; null if nobody said")]
    branch: Annotated[str | None, Meta(description="the branch it was begun on; null without git")]
    phases: Annotated[tuple[str, ...], Meta(description="its phases, in order")]
    created_at: fields.CreatedAt
    updated_at: Annotated[str, Meta(description="when it was last changed: UTC, ISO 8601")]
    metadata: Annotated[dict[str, Any], Meta(description="whatever else was set for it")]


class ProjectStanding(ProjectView, frozen=True, kw_only=True):
    """A project with how many of its tasks stand where."""

    task_count: Annotated[int, Meta(description="how many tasks can be read")]
    tasks_by_phase: Annotated[
        dict[str, dict[str, int]],
        Meta(description="by phase, how many of its tasks have each status"),
    ]
    invalid: Annotated[
        tuple[str, ...], Meta(description="what is wrong with the tasks that cannot be read")
    ]


class LogWritten(msgspec.Struct, frozen=True, kw_only=True):
    """Where an entry was appended."""

    log: Annotated[str, Meta(description="the file, relative to the workspace's root")]
    task: Annotated[str | None, Meta(description="the task's id; null for the project's own log")]


class LogEntryView(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of a task's log."""

    timestamp: Annotated[str, Meta(description="when it was logged: UTC, ISO 8601")]
    agent: Annotated[str, Meta(description="who did it: a role, or `sow`")]
    action: Annotated[str, Meta(description="what was done, in a sentence")]
    result: Annotated[str, Meta(description="how it ended, in a word; often empty")]
    files: Annotated[tuple[str, ...], Meta(description="the files it touched")]
    text: Annotated[str, Meta(description="more about it, in Markdown; often empty")]


class Description(msgspec.Struct, frozen=True, kw_only=True):
    """What a task asks for."""

    task: fields.TaskKey
    description: Annotated[str, Meta(description="its description.md, as it stands")]
