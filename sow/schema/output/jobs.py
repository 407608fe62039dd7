"""What some commands tell of jobs with `--json`, besides the form that they have in common."""

from typing import Annotated

import msgspec
from msgspec import UNSET, UnsetType

from sow.schema.output import fields
from sow.schema.output.costs import CostSum
from sow.schema.output.fields import about
from sow.schema.output.outcome import JobView, Outcome


class AttemptView(msgspec.Struct, frozen=True, kw_only=True):
    """One run of the agent's CLI within a job."""

    attempt: Annotated[int, about("its number within the job, from 1")]
    id: Annotated[str, about("its id, the value of SOW_ATTEMPT_ID")]
    verb: Annotated[
        str, about("what the CLI was started for; a retry of a spawn is often a resume")
    ]
    worker: fields.WorkerKey
    argv: Annotated[tuple[str, ...], about("the command that was run")]
    pid: Annotated[int | None, about("the process id of its supervisor; null before it starts")]
    session_id: fields.SessionId
    cause: fields.Cause
    reason: fields.Reason
    exit_code: Annotated[
        int | None, about("the exit code of the agent's own process; null if unknown")
    ]
    exit_signal: Annotated[int | None, about("the signal that ended that process; null if none")]
    tool_uses: Annotated[int | None, about("how many tool calls it made; null if unknown")]
    used: Annotated[
        CostSum | None,
        about("its tokens, time and cost; null if there is no record"),
    ]
    cpu_seconds: Annotated[float | None, about("processor time; null if unknown")]
    max_rss_kb: Annotated[
        int | None, about("the largest memory of one of its processes, in KiB; null if unknown")
    ]
    started_at: fields.StartedAt
    ended_at: fields.EndedAt
    host: Annotated[
        str | None, about("the host that ran it, if hosts share the queue; null without hosts")
    ]
    folder: Annotated[
        str | None,
        about("the folder with its prompt and output; null if that is on another host"),
    ]


class JobDetail(JobView, frozen=True, kw_only=True):
    """A job with what was asked for and each of its attempts."""

    used: Annotated[CostSum, about("the tokens, time and money of its attempts")]
    prompt: Annotated[
        str, about("the text of the call (`--prompt`, or the text of a resume); often empty")
    ]
    attempts: Annotated[tuple[AttemptView, ...], about("its attempts in their order")]


class JobStory(JobView, frozen=True, kw_only=True):
    """A job with what happened to it and what happens next, in words."""

    story: Annotated[tuple[str, ...], about("the lines that are printed without --json")]


class Cancelled(Outcome, frozen=True, kw_only=True):
    """The result of a cancelled job, and the jobs that its agent had queued."""

    children: Annotated[tuple[JobView, ...], about("the jobs that were cancelled with it")]
    kept: Annotated[tuple[JobView, ...], about("the jobs that continue")]


class Preview(msgspec.Struct, frozen=True, kw_only=True):
    """What a call would start (`--dry-run`)."""

    task: fields.TaskKey
    verb: fields.Verb
    agent: fields.Agent
    executor: fields.Executor
    job: Annotated[
        int | None,
        about(
            "the job that an equal call has queued before, so that nothing would start; else null"
        ),
    ]
    argv: Annotated[tuple[str, ...] | None, about("the command; null with a `job`")]
    cwd: Annotated[str | None, about("the folder; null with a `job`")]
    env_names: Annotated[
        tuple[str, ...] | None, about("the names of its variables; null with a `job`")
    ]
    prompt: Annotated[str | None, about("the prompt; null with a `job`")]


class EventView(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One event of an agent's output. Keys that its kind does not use are left out."""

    job: Annotated[int, about("the job's number")]
    attempt: Annotated[int, about("the attempt's number within the job")]
    kind: Annotated[str, about("what kind of event it is, such as text or tool_use")]
    at: (
        Annotated[str, about("when it happened, if the output says it: UTC, ISO 8601")] | UnsetType
    ) = UNSET
    text: Annotated[str, about("its text")] | UnsetType = UNSET
    session_id: Annotated[str, about("the session's id")] | UnsetType = UNSET
    tool: Annotated[str, about("the tool's name")] | UnsetType = UNSET
    is_error: Annotated[bool, about("true if it reports a failure")] | UnsetType = UNSET
    http_status: Annotated[int, about("the HTTP status of a request")] | UnsetType = UNSET
    resets_at: Annotated[str, about("when a limit resets: UTC, ISO 8601")] | UnsetType = UNSET
    cost_usd: Annotated[float, about("US dollars")] | UnsetType = UNSET
    count: (
        Annotated[int, about("how many processes of the agent run in the background")] | UnsetType
    ) = UNSET


class Pruned(msgspec.Struct, frozen=True, kw_only=True):
    """What `sow job prune` has removed, or would remove."""

    jobs: Annotated[tuple[int, ...], about("the numbers of the jobs")]
    files: Annotated[tuple[str, ...], about("the old logs of workers")]
    bytes: Annotated[int, about("the size of everything that was removed")]
    change_rows: Annotated[int, about("how many rows of the record of changes were removed")]
    dry_run: Annotated[bool, about("whether nothing was removed")]
