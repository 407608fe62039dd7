"""Tasks with `--json`."""

from typing import Annotated, Any

import msgspec

from sow.schema.output import fields
from sow.schema.output.costs import CostSum
from sow.schema.output.fields import about


class TaskView(msgspec.Struct, frozen=True, kw_only=True):
    """A task, as every command shows it: the contents of its `state.yaml`, and its folder."""

    task: fields.TaskKey
    key: Annotated[
        str | None, about("its key in a file of tasks (`sow task import`); null if it has none")
    ]
    name: Annotated[str, about("its name")]
    phase: Annotated[str, about("its phase of the project")]
    status: Annotated[str, about("its status")]
    agent: Annotated[str, about("its role (`assigned_agent` in its file)")]
    iteration: Annotated[int, about("1, plus 1 for each resume after needs_review or failed")]
    depends_on: Annotated[
        tuple[str, ...], about("the ids of the tasks that must be completed before it starts")
    ]
    priority: Annotated[int | None, about("the priority of its jobs; null means 0")]
    session_id: fields.SessionId
    session: Annotated[
        dict[str, Any] | None,
        about("what sow knows about the session (`sow schema task`); null without one"),
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
        about("the last verdict on its work (`sow schema task`); null before the first"),
    ]
    references: Annotated[tuple[Any, ...], about("references for its agent to read")]
    feedback: Annotated[tuple[Any, ...], about("the feedback files with their status")]
    files_modified: Annotated[
        tuple[str, ...], about("the changed files, as the agent or sow has recorded them")
    ]
    checks: Annotated[
        tuple[str, ...] | None,
        about("its own checks; null if it has none and the default ones count"),
    ]
    requires: Annotated[
        tuple[str, ...] | None,
        about("the labels that a host must have to run its jobs; null if it names none"),
    ]
    check: Annotated[
        dict[str, Any] | None,
        about("the result of its last check (`sow schema task`); null before the first"),
    ]
    merged: Annotated[
        dict[str, Any] | None,
        about("the merge of its work (`sow schema task`); null before that"),
    ]
    metadata: Annotated[dict[str, Any], about("other values that were set (metadata.KEY)")]
    folder: Annotated[str, about("its folder, relative to the folder with .sow")]


class TaskShown(TaskView, frozen=True, kw_only=True):
    """A task with what its agents have used."""

    used: Annotated[
        CostSum | None,
        about("tokens, time and cost of all its attempts, also of pruned ones; null if none"),
    ]


class ListedTask(TaskView, frozen=True, kw_only=True):
    """A task, with what it waits for."""

    standing: Annotated[
        str | None,
        about(
            "`ready`: it can start; `waiting`: it waits for other tasks; `blocked`: one of"
            " these failed, was abandoned or does not exist; null after its start"
        ),
    ]
    waits_for: Annotated[
        dict[str, str],
        about("the ids of the tasks that it waits for, each with its status, or `missing`"),
    ]


class ImportedTask(msgspec.Struct, frozen=True, kw_only=True):
    """The result of an import for one task of its file."""

    task: fields.TaskKey
    key: Annotated[str | None, about("its key; null if it has none")]
    name: Annotated[str, about("its name")]
    result: Annotated[
        str,
        about(
            "`added`, `changed`, `unchanged`, or `kept`: it differs from the file, but it"
            " has started, so it was not changed"
        ),
    ]
    fields: Annotated[
        tuple[str, ...], about("the fields that were changed, or that differ if it was kept")
    ]


class RemovedTask(msgspec.Struct, frozen=True, kw_only=True):
    """A task that was removed."""

    task: fields.TaskKey
    name: Annotated[str, about("its name")]


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict on a task's work, and the task's status."""

    task: fields.TaskKey
    status: Annotated[str, about("the task's present status")]
    verdict: Annotated[str | None, about("accepted or corrections; null before a verdict")]
    by: Annotated[str | None, about("the role of the agent that judged, or `person`")]
    at: Annotated[str | None, about("when that was: UTC, ISO 8601")]
    commit: Annotated[str | None, about("the commit that was judged; null without git")]
    summary: Annotated[str, about("the summary of the verdict; often empty")]
    steers: Annotated[tuple[str, ...], about("changed files that control agents or machines")]
    feedback: Annotated[tuple[Any, ...], about("the feedback files with their status")]
    newest_feedback: Annotated[
        str,
        about("the newest corrections, shortened; empty if the last verdict accepts"),
    ]


class LogWritten(msgspec.Struct, frozen=True, kw_only=True):
    """Where an entry was appended."""

    path: Annotated[str, about("the file, relative to the folder with .sow")]
    task: Annotated[str | None, about("the task's id; null for the project's own log")]


class LogEntryView(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of a task's log."""

    timestamp: Annotated[str, about("when it was written: UTC, ISO 8601")]
    agent: Annotated[str, about("who wrote it: a role, or `sow`")]
    action: Annotated[str, about("what was done, in a sentence")]
    result: Annotated[str, about("its result, in a word; often empty")]
    files: Annotated[tuple[str, ...], about("the files it touched")]
    text: Annotated[str, about("more about it, in Markdown; often empty")]
    role: Annotated[str, about("for an entry of sow: the role that it is about; else empty")]
    job: Annotated[int | None, about("the number of the job in which it was done; null if in none")]
    attempt: Annotated[int | None, about("the attempt of that job, from 1; null if in none")]
    event: Annotated[
        str,
        about(
            "for an entry of sow: status, state, artifact or feedback for a change of"
            " these, job for a job's end; else empty"
        ),
    ]
    id: Annotated[str, about("its id; empty if an older sow or a person wrote it by hand")]


class LogLine(LogEntryView, frozen=True, kw_only=True):
    """One entry of the logs of the project and its tasks."""

    task: Annotated[
        str | None, about("the task whose log it is in; null for the project's own log")
    ]


class Description(msgspec.Struct, frozen=True, kw_only=True):
    """The description of a task."""

    task: fields.TaskKey
    description: Annotated[str, about("the content of its description.md")]


class TaskDiff(msgspec.Struct, frozen=True, kw_only=True):
    """What a task has changed in the repository; without a clone, what all tasks have changed."""

    task: fields.TaskKey
    is_tasks_own: Annotated[
        bool, about("whether it has only this task's changes; false without a clone")
    ]
    base: Annotated[
        str | None, about("the commit or tree that it is compared with; null means HEAD")
    ]
    commit: Annotated[str | None, about("the task's last commit; null for the working tree")]
    files: Annotated[tuple[str, ...], about("the files that are changed")]
    steering_files: Annotated[
        tuple[str, ...], about("those of them that control agents or machines")
    ]
    links_out: Annotated[
        tuple[str, ...], about("those of them that are links which lead out of the repository")
    ]
    left_out: Annotated[
        tuple[str, ...], about("files of sow that its commits change; these changes are left out")
    ]
    stat: Annotated[str | None, about("one line per file; null without --stat")]
    patch: Annotated[str | None, about("the change as a patch; null with --stat or --name-only")]
