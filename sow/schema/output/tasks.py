"""Tasks with `--json`."""

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from sow.schema.output import fields
from sow.schema.output.costs import CostSum


class TaskView(msgspec.Struct, frozen=True, kw_only=True):
    """A task, as every command shows it: what its `state.yaml` holds, and where it lies."""

    task: fields.TaskKey
    key: Annotated[
        str | None, Meta(description="its name in a file of tasks (`sow task import`), if any")
    ]
    name: Annotated[str, Meta(description="what it is called")]
    phase: Annotated[str, Meta(description="the phase of the project that it belongs to")]
    status: Annotated[str, Meta(description="where it stands")]
    agent: Annotated[str, Meta(description="the role it is for (`assigned_agent` in its file)")]
    iteration: Annotated[int, Meta(description="how often work on it was begun, from 1")]
    depends_on: Annotated[
        tuple[str, ...], Meta(description="the ids of the tasks that must be completed before it")
    ]
    priority: Annotated[
        int | None, Meta(description="that of its jobs; null where none was named, which is 0")
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


class TaskShown(TaskView, frozen=True, kw_only=True):
    """A task with what its agents have used."""

    used: Annotated[
        CostSum | None,
        Meta(description="tokens, time and money of all its attempts, pruned or not; null if none"),
    ]


class ListedTask(TaskView, frozen=True, kw_only=True):
    """A task among the others of its project: what it waits for."""

    standing: Annotated[
        str | None,
        Meta(
            description="`ready`: it can begin; `waiting`: for other tasks; `blocked`: for one that"
            " failed, was given up or is not there; null once it has begun"
        ),
    ]
    waits_for: Annotated[
        dict[str, str],
        Meta(description="the tasks that it waits for, by id, each with its status, or `missing`"),
    ]


class ImportedTask(msgspec.Struct, frozen=True, kw_only=True):
    """What an import has made of one task of its file."""

    task: fields.TaskKey
    key: Annotated[str | None, Meta(description="its key, if it has one")]
    name: Annotated[str, Meta(description="what it is called")]
    result: Annotated[
        str,
        Meta(
            description="`added`; `changed`; `unchanged`; `kept`: it has begun, so it was left as"
            " it is, though the file has it otherwise"
        ),
    ]
    fields: Annotated[
        tuple[str, ...], Meta(description="the fields that were changed, or would have been")
    ]


class RemovedTask(msgspec.Struct, frozen=True, kw_only=True):
    """A task that is gone."""

    task: fields.TaskKey
    name: Annotated[str, Meta(description="what it was called")]


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
    newest_feedback: Annotated[
        str,
        Meta(
            description="the text of the newest of them, shortened; empty unless the last verdict"
            " asks for corrections"
        ),
    ]


class LogWritten(msgspec.Struct, frozen=True, kw_only=True):
    """Where an entry was appended."""

    path: Annotated[str, Meta(description="the file, relative to the workspace's root")]
    task: Annotated[str | None, Meta(description="the task's id; null for the project's own log")]


class LogEntryView(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of a task's log."""

    timestamp: Annotated[str, Meta(description="when it was logged: UTC, ISO 8601")]
    agent: Annotated[str, Meta(description="who did it: a role, or `sow`")]
    action: Annotated[str, Meta(description="what was done, in a sentence")]
    result: Annotated[str, Meta(description="how it ended, in a word; often empty")]
    files: Annotated[tuple[str, ...], Meta(description="the files it touched")]
    text: Annotated[str, Meta(description="more about it, in Markdown; often empty")]
    role: Annotated[
        str, Meta(description="of what sow itself has written, the role that it is about; else ''")
    ]
    job: Annotated[int | None, Meta(description="the job in which it was done; null outside one")]
    attempt: Annotated[int | None, Meta(description="that job's attempt, from 1; null outside one")]
    event: Annotated[
        str,
        Meta(
            description="status, state, artifact or feedback where sow tells of such a change, job"
            " for a job's end; empty for what somebody logs"
        ),
    ]
    id: Annotated[
        str, Meta(description="the entry's own id; empty for one of an older sow or by hand")
    ]


class LogLine(LogEntryView, frozen=True, kw_only=True):
    """One entry of one of the project's logs."""

    task: Annotated[
        str | None, Meta(description="the task in whose log it stands; null for the project's own")
    ]


class Description(msgspec.Struct, frozen=True, kw_only=True):
    """What a task asks for."""

    task: fields.TaskKey
    description: Annotated[str, Meta(description="its description.md, as it stands")]
