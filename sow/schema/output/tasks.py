"""Tasks with `--json`."""

from typing import Annotated, Any

import msgspec

from sow.schema.output import fields
from sow.schema.output.costs import CostSum
from sow.schema.output.fields import about


class TaskView(msgspec.Struct, frozen=True, kw_only=True):
    """A task, as every command shows it: what its `state.yaml` holds, and where it lies."""

    task: fields.TaskKey
    key: Annotated[str | None, about("its name in a file of tasks (`sow task import`), if any")]
    name: Annotated[str, about("what it is called")]
    phase: Annotated[str, about("the phase of the project that it belongs to")]
    status: Annotated[str, about("where it stands")]
    agent: Annotated[str, about("the role it is for (`assigned_agent` in its file)")]
    iteration: Annotated[int, about("how often work on it was begun, from 1")]
    depends_on: Annotated[
        tuple[str, ...], about("the ids of the tasks that must be completed before it")
    ]
    priority: Annotated[
        int | None, about("that of its jobs; null where none was named, which is 0")
    ]
    session_id: fields.SessionId
    session: Annotated[
        dict[str, Any] | None,
        about("what sow knows of the session (`sow schema task`); null without one"),
    ]
    created_at: fields.CreatedAt
    updated_at: Annotated[str, about("when it was last changed: UTC, ISO 8601")]
    started_at: fields.StartedAt
    completed_at: Annotated[str | None, about("when it was completed: UTC, ISO 8601; null before")]
    clone: Annotated[
        dict[str, Any] | None,
        about("its own clone: path, branch and base commit; null without one"),
    ]
    review: Annotated[
        dict[str, Any] | None,
        about("the last verdict on its work (`sow schema task`); null before one"),
    ]
    references: Annotated[tuple[Any, ...], about("what its agent should read")]
    feedback: Annotated[tuple[Any, ...], about("the corrections that were asked for")]
    files_modified: Annotated[tuple[str, ...], about("the files that were changed")]
    checks: Annotated[
        tuple[str, ...] | None,
        about("the checks that it is judged by; null where it names none itself"),
    ]
    check: Annotated[
        dict[str, Any] | None,
        about("the outcome of its last check (`sow schema task`); null before one"),
    ]
    merged: Annotated[
        dict[str, Any] | None,
        about("how its work was merged (`sow schema task`); null before that"),
    ]
    metadata: Annotated[dict[str, Any], about("whatever else was set for it")]
    folder: Annotated[str, about("where it lies, relative to the workspace's root")]


class TaskShown(TaskView, frozen=True, kw_only=True):
    """A task with what its agents have used."""

    used: Annotated[
        CostSum | None,
        about("tokens, time and money of all its attempts, pruned or not; null if none"),
    ]


class ListedTask(TaskView, frozen=True, kw_only=True):
    """A task among the others of its project: what it waits for."""

    standing: Annotated[
        str | None,
        about(
            "`ready`: it can begin; `waiting`: for other tasks; `blocked`: for one that"
            " failed, was given up or is not there; null once it has begun"
        ),
    ]
    waits_for: Annotated[
        dict[str, str],
        about("the tasks that it waits for, by id, each with its status, or `missing`"),
    ]


class ImportedTask(msgspec.Struct, frozen=True, kw_only=True):
    """What an import has made of one task of its file."""

    task: fields.TaskKey
    key: Annotated[str | None, about("its key, if it has one")]
    name: Annotated[str, about("what it is called")]
    result: Annotated[
        str,
        about(
            "`added`; `changed`; `unchanged`; `kept`: it has begun, so it was left as"
            " it is, though the file has it otherwise"
        ),
    ]
    fields: Annotated[tuple[str, ...], about("the fields that were changed, or would have been")]


class RemovedTask(msgspec.Struct, frozen=True, kw_only=True):
    """A task that is gone."""

    task: fields.TaskKey
    name: Annotated[str, about("what it was called")]


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict on a task's work, and where the task stands."""

    task: fields.TaskKey
    status: Annotated[str, about("where the task stands now")]
    verdict: Annotated[str | None, about("accepted or corrections; null where nobody has judged")]
    by: Annotated[str | None, about("the role of the agent that judged, or `person`")]
    at: Annotated[str | None, about("when that was: UTC, ISO 8601")]
    commit: Annotated[str | None, about("the commit that was judged; null without git")]
    summary: Annotated[str, about("what the judge says of the whole; often empty")]
    steers: Annotated[tuple[str, ...], about("files of the change that steer agents or machines")]
    feedback: Annotated[
        tuple[Any, ...], about("the corrections that were asked for, with their status")
    ]
    newest_feedback: Annotated[
        str,
        about(
            "the text of the newest of them, shortened; empty unless the last verdict"
            " asks for corrections"
        ),
    ]


class LogWritten(msgspec.Struct, frozen=True, kw_only=True):
    """Where an entry was appended."""

    path: Annotated[str, about("the file, relative to the workspace's root")]
    task: Annotated[str | None, about("the task's id; null for the project's own log")]


class LogEntryView(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of a task's log."""

    timestamp: Annotated[str, about("when it was logged: UTC, ISO 8601")]
    agent: Annotated[str, about("who did it: a role, or `sow`")]
    action: Annotated[str, about("what was done, in a sentence")]
    result: Annotated[str, about("how it ended, in a word; often empty")]
    files: Annotated[tuple[str, ...], about("the files it touched")]
    text: Annotated[str, about("more about it, in Markdown; often empty")]
    role: Annotated[
        str, about("of what sow itself has written, the role that it is about; else ''")
    ]
    job: Annotated[int | None, about("the job in which it was done; null outside one")]
    attempt: Annotated[int | None, about("that job's attempt, from 1; null outside one")]
    event: Annotated[
        str,
        about(
            "status, state, artifact or feedback where sow tells of such a change, job"
            " for a job's end; empty for what somebody logs"
        ),
    ]
    id: Annotated[str, about("the entry's own id; empty for one of an older sow or by hand")]


class LogLine(LogEntryView, frozen=True, kw_only=True):
    """One entry of one of the project's logs."""

    task: Annotated[
        str | None, about("the task in whose log it stands; null for the project's own")
    ]


class Description(msgspec.Struct, frozen=True, kw_only=True):
    """What a task asks for."""

    task: fields.TaskKey
    description: Annotated[str, about("its description.md, as it stands")]


class TaskDiff(msgspec.Struct, frozen=True, kw_only=True):
    """What a task has changed in the repository, or all tasks together where it has no clone."""

    task: fields.TaskKey
    is_tasks_own: Annotated[
        bool, about("whether it is this task's change alone; false without a clone: then all")
    ]
    base: Annotated[str | None, about("the commit or tree that it is told against; null: HEAD")]
    commit: Annotated[str | None, about("the task's last commit; null for the working tree")]
    files: Annotated[tuple[str, ...], about("the files that are changed")]
    steering_files: Annotated[tuple[str, ...], about("those of them that steer agents or machines")]
    left_out: Annotated[tuple[str, ...], about("what its commits change of sow's own files")]
    stat: Annotated[str | None, about("a line for each file; null without --stat")]
    patch: Annotated[str | None, about("the change as a patch; null with --stat or --name-only")]
