"""A job with `--json`: one form, whichever command shows it, and what some commands add to it."""

from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from sow.schema.output import fields
from sow.schema.output.costs import CostSum


class JobView(msgspec.Struct, frozen=True, kw_only=True):
    """A job, as every command shows it."""

    task: fields.JobsTask
    job: fields.JobKey
    project: fields.ProjectKey
    verb: fields.Verb
    agent: fields.JobsAgent
    executor: fields.JobsExecutor
    tasks: Annotated[
        tuple[str, ...],
        Meta(description="the tasks that it is about; of a merge they may be several"),
    ]
    checks: Annotated[tuple[str, ...], Meta(description="the checks that a job runs; else empty")]
    state: Annotated[str, Meta(description="where the job stands (docs/reference.md, Job states)")]
    status: Annotated[
        str | None,
        Meta(
            description="the status in which the job left its task; in_progress until it ends;"
            " null of a job that leaves the status alone"
        ),
    ]
    cause: fields.Cause
    reason: fields.Reason
    exit_code: Annotated[
        int | None,
        Meta(
            description="the exit code that the job's end gives to a call that waits for it: 75"
            " from one that stops waiting while the job goes on; else null until the job has ended"
        ),
    ]
    attempt_count: Annotated[int, Meta(description="how many attempts were made")]
    session_id: fields.SessionId
    seconds: Annotated[
        float | None,
        Meta(description="from the call to the job's end, in seconds; null before"),
    ]
    created_at: fields.CreatedAt
    started_at: fields.StartedAt
    ended_at: fields.EndedAt
    cost_usd: fields.CostUsd
    denied_tools: Annotated[
        tuple[str, ...], Meta(description="the tools that the agent asked for and did not get")
    ]
    warnings: Annotated[
        tuple[str, ...], Meta(description="what a person should look at, however it ended")
    ]
    priority: Annotated[int, Meta(description="jobs of a higher one start first")]
    parent: Annotated[
        int | None, Meta(description="the number of the job whose agent made the call; else null")
    ]
    retries: Annotated[int, Meta(description="retries spent, of the executor's `retries`")]
    retry_at: Annotated[
        str | None,
        Meta(description="when it is tried again: UTC, ISO 8601; null if it waits for no time"),
    ]
    unverifiable: Annotated[
        bool,
        Meta(description="whether nobody here can tell if its agent runs (`sow job resolve`)"),
    ]
    standing: Annotated[
        str,
        Meta(
            description="what it does or waits for now, in a few words: its agent's last tool call,"
            " a request that fails, a slot, a paused queue; empty once it has ended"
        ),
    ]
    quiet_seconds: Annotated[
        float | None,
        Meta(description="how long ago its agent wrote its last line; null if it does not run"),
    ]


class Outcome(JobView, frozen=True, kw_only=True):
    """The outcome of one job, or where it stands, as the commands of a call print it."""

    owed: Annotated[
        bool,
        Meta(description="whether an earlier call placed the job and went away before it ended"),
    ] = False
    continue_with: Annotated[
        str | None,
        Meta(
            description="the command that goes on waiting, for all tasks of the call, after `&&`"
            " where all of them are held until another command is done; else null"
        ),
    ] = None
    next_step: Annotated[
        str,
        Meta(
            description="what a person can do about it, in a sentence with the command; empty where"
            " there is nothing to do"
        ),
    ] = ""
    agent_says: Annotated[
        str | None,
        Meta(
            description="what its agent has logged last: its question where it left paused, its"
            " reason where it left failed; null where it logged none, and of other outcomes"
        ),
    ] = None
    verdict: Annotated[
        str | None,
        Meta(
            description="of a review: accepted or corrections, once that is given, and as long as"
            " no later verdict has taken its place; else null"
        ),
    ] = None
    summary: Annotated[
        str, Meta(description="what the reviewer thinks of the work; empty without a verdict")
    ] = ""
    feedback_file: Annotated[
        str | None,
        Meta(description="the file in feedback/ that holds what is to be corrected; else null"),
    ] = None
    steers: Annotated[
        tuple[str, ...],
        Meta(description="of a review: the files of the change that steer agents or machines"),
    ] = ()
    anew_with: Annotated[
        str | None,
        Meta(description="of an owed outcome: the option that makes the same call run it anew"),
    ] = None


class AttemptView(msgspec.Struct, frozen=True, kw_only=True):
    """One run of the agent's CLI within a job."""

    attempt: Annotated[int, Meta(description="its number within the job, from 1")]
    id: Annotated[str, Meta(description="its id, the value of SOW_ATTEMPT_ID")]
    verb: Annotated[
        str, Meta(description="what the CLI was told to do; a retry of a spawn is often a resume")
    ]
    worker: fields.WorkerKey
    argv: Annotated[tuple[str, ...], Meta(description="the command that was run")]
    pid: Annotated[
        int | None, Meta(description="the process id of its supervisor; null before it starts")
    ]
    session_id: fields.SessionId
    cause: fields.Cause
    reason: fields.Reason
    exit_code: Annotated[
        int | None, Meta(description="the exit code of the agent's own process; null if unknown")
    ]
    exit_signal: Annotated[
        int | None, Meta(description="the signal that ended that process; null if none did")
    ]
    tool_uses: Annotated[
        int | None, Meta(description="how many tools it called; null if its output does not tell")
    ]
    used: Annotated[
        CostSum | None,
        Meta(description="tokens, time and money; null of an attempt that no record of it tells"),
    ]
    cpu_seconds: Annotated[float | None, Meta(description="processor time; null if unknown")]
    max_rss_kb: Annotated[
        int | None,
        Meta(description="the most memory a process of it used, in KiB; null if unknown"),
    ]
    started_at: fields.StartedAt
    ended_at: fields.EndedAt
    folder: Annotated[str, Meta(description="where its prompt and its output lie")]


class JobDetail(JobView, frozen=True, kw_only=True):
    """A job with what was asked for and each of its attempts."""

    used: Annotated[CostSum, Meta(description="the tokens, time and money of its attempts")]
    prompt: Annotated[str, Meta(description="the caller's words; often empty")]
    attempts: Annotated[tuple[AttemptView, ...], Meta(description="its attempts, first to last")]


class JobStory(JobView, frozen=True, kw_only=True):
    """A job with what happened to it and what happens next, in words."""

    story: Annotated[tuple[str, ...], Meta(description="the lines that people are shown")]


class Cancelled(Outcome, frozen=True, kw_only=True):
    """The outcome of a cancelled job, and what became of the jobs that its agent had queued."""

    children: Annotated[tuple[JobView, ...], Meta(description="the jobs that were ended with it")]
    kept: Annotated[tuple[JobView, ...], Meta(description="the jobs that go on")]


class Preview(msgspec.Struct, frozen=True, kw_only=True):
    """What a call would start (`--dry-run`)."""

    task: fields.TaskKey
    verb: fields.Verb
    agent: fields.Agent
    executor: fields.Executor
    job: Annotated[
        int | None,
        Meta(description="the job that the same call has placed before, so that none would start"),
    ]
    argv: Annotated[tuple[str, ...] | None, Meta(description="the command; null with a `job`")]
    cwd: Annotated[str | None, Meta(description="the folder; null with a `job`")]
    env_names: Annotated[
        tuple[str, ...] | None, Meta(description="the names of its variables; null with a `job`")
    ]
    prompt: Annotated[str | None, Meta(description="what it would read; null with a `job`")]


class EventView(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One event of an agent's output. A key that its kind does not tell is left out."""

    job: Annotated[int, Meta(description="the job's number")]
    attempt: Annotated[int, Meta(description="the attempt's number within the job")]
    kind: Annotated[str, Meta(description="what kind of event it is, such as text or tool_use")]
    at: (
        Annotated[str, Meta(description="when, where the output tells it: UTC, ISO 8601")]
        | UnsetType
    ) = UNSET
    text: Annotated[str, Meta(description="its words")] | UnsetType = UNSET
    session_id: Annotated[str, Meta(description="the session's id")] | UnsetType = UNSET
    tool: Annotated[str, Meta(description="the tool's name")] | UnsetType = UNSET
    is_error: Annotated[bool, Meta(description="true if it tells of a failure")] | UnsetType = UNSET
    http_status: Annotated[int, Meta(description="a request's status")] | UnsetType = UNSET
    resets_at: (
        Annotated[str, Meta(description="when a limit resets: UTC, ISO 8601")] | UnsetType
    ) = UNSET
    cost_usd: Annotated[float, Meta(description="US dollars")] | UnsetType = UNSET
    count: (
        Annotated[int, Meta(description="how many of its processes run in the background")]
        | UnsetType
    ) = UNSET


class Pruned(msgspec.Struct, frozen=True, kw_only=True):
    """What `sow job prune` has removed, or would remove."""

    jobs: Annotated[tuple[int, ...], Meta(description="the numbers of the jobs")]
    files: Annotated[tuple[str, ...], Meta(description="the old logs of workers")]
    bytes: Annotated[int, Meta(description="the size of all of it")]
    change_rows: Annotated[int, Meta(description="how many rows of the record of changes")]
    dry_run: Annotated[bool, Meta(description="whether nothing was removed")]
