"""A job with `--json`: one form, whichever command shows it, and what some commands add to it."""

from typing import Annotated

import msgspec
from msgspec import UNSET, UnsetType

from sow.schema.output import fields
from sow.schema.output.costs import CostSum
from sow.schema.output.fields import about


class JobView(msgspec.Struct, frozen=True, kw_only=True):
    """A job, as every command shows it."""

    task: fields.JobsTask
    job: fields.JobKey
    project: fields.ProjectKey
    verb: fields.Verb
    agent: fields.JobsAgent
    executor: fields.JobsExecutor
    tasks: Annotated[
        tuple[str, ...], about("the tasks that it is about; of a merge they may be several")
    ]
    checks: Annotated[tuple[str, ...], about("the checks that a job runs; else empty")]
    state: Annotated[str, about("where the job stands (docs/reference.md, Job states)")]
    status: Annotated[
        str | None,
        about(
            "the status in which the job left its task; in_progress until it ends;"
            " null of a job that leaves the status alone"
        ),
    ]
    cause: fields.Cause
    reason: fields.Reason
    exit_code: Annotated[
        int | None,
        about(
            "the exit code that the job's end gives to a call that waits for it: 75"
            " from one that stops waiting while the job goes on; else null until the job has ended"
        ),
    ]
    attempt_count: Annotated[int, about("how many attempts were made")]
    session_id: fields.SessionId
    seconds: Annotated[
        float | None, about("from the call to the job's end, in seconds; null before")
    ]
    created_at: fields.CreatedAt
    started_at: fields.StartedAt
    ended_at: fields.EndedAt
    cost_usd: fields.CostUsd
    denied_tools: Annotated[
        tuple[str, ...], about("the tools that the agent asked for and did not get")
    ]
    warnings: Annotated[tuple[str, ...], about("what a person should look at, however it ended")]
    priority: Annotated[int, about("jobs of a higher one start first")]
    parent: Annotated[
        int | None, about("the number of the job whose agent made the call; else null")
    ]
    retries: Annotated[int, about("retries spent, of the executor's `retries`")]
    retry_at: Annotated[
        str | None, about("when it is tried again: UTC, ISO 8601; null if it waits for no time")
    ]
    unverifiable: Annotated[
        bool, about("whether nobody here can tell if its agent runs (`sow job resolve`)")
    ]
    standing: Annotated[
        str,
        about(
            "what it does or waits for now, in a few words: its agent's last tool call,"
            " a request that fails, a slot, a paused queue; empty once it has ended"
        ),
    ]
    quiet_seconds: Annotated[
        float | None, about("how long ago its agent wrote its last line; null if it does not run")
    ]


class Outcome(JobView, frozen=True, kw_only=True):
    """The outcome of one job, or where it stands, as the commands of a call print it."""

    owed: Annotated[
        bool, about("whether an earlier call placed the job and went away before it ended")
    ] = False
    continue_with: Annotated[
        str | None,
        about(
            "the command that goes on waiting, for all tasks of the call, after `&&`"
            " where all of them are held until another command is done; else null"
        ),
    ] = None
    next_step: Annotated[
        str,
        about(
            "what a person can do about it, in a sentence with the command; empty where"
            " there is nothing to do"
        ),
    ] = ""
    agent_says: Annotated[
        str | None,
        about(
            "what its agent has logged last: its question where it left paused, its"
            " reason where it left failed; null where it logged none, and of other outcomes"
        ),
    ] = None
    verdict: Annotated[
        str | None,
        about(
            "of a review: accepted or corrections, once that is given, and as long as"
            " no later verdict has taken its place; else null"
        ),
    ] = None
    summary: Annotated[
        str, about("what the reviewer thinks of the work; empty without a verdict")
    ] = ""
    feedback_file: Annotated[
        str | None, about("the file in feedback/ that holds what is to be corrected; else null")
    ] = None
    steers: Annotated[
        tuple[str, ...], about("of a review: the files of the change that steer agents or machines")
    ] = ()
    anew_with: Annotated[
        str | None, about("of an owed outcome: the option that makes the same call run it anew")
    ] = None


class AttemptView(msgspec.Struct, frozen=True, kw_only=True):
    """One run of the agent's CLI within a job."""

    attempt: Annotated[int, about("its number within the job, from 1")]
    id: Annotated[str, about("its id, the value of SOW_ATTEMPT_ID")]
    verb: Annotated[str, about("what the CLI was told to do; a retry of a spawn is often a resume")]
    worker: fields.WorkerKey
    argv: Annotated[tuple[str, ...], about("the command that was run")]
    pid: Annotated[int | None, about("the process id of its supervisor; null before it starts")]
    session_id: fields.SessionId
    cause: fields.Cause
    reason: fields.Reason
    exit_code: Annotated[
        int | None, about("the exit code of the agent's own process; null if unknown")
    ]
    exit_signal: Annotated[
        int | None, about("the signal that ended that process; null if none did")
    ]
    tool_uses: Annotated[
        int | None, about("how many tools it called; null if its output does not tell")
    ]
    used: Annotated[
        CostSum | None,
        about("tokens, time and money; null of an attempt that no record of it tells"),
    ]
    cpu_seconds: Annotated[float | None, about("processor time; null if unknown")]
    max_rss_kb: Annotated[
        int | None, about("the most memory a process of it used, in KiB; null if unknown")
    ]
    started_at: fields.StartedAt
    ended_at: fields.EndedAt
    folder: Annotated[str, about("where its prompt and its output lie")]


class JobDetail(JobView, frozen=True, kw_only=True):
    """A job with what was asked for and each of its attempts."""

    used: Annotated[CostSum, about("the tokens, time and money of its attempts")]
    prompt: Annotated[str, about("the caller's words; often empty")]
    attempts: Annotated[tuple[AttemptView, ...], about("its attempts, first to last")]


class JobStory(JobView, frozen=True, kw_only=True):
    """A job with what happened to it and what happens next, in words."""

    story: Annotated[tuple[str, ...], about("the lines that people are shown")]


class Cancelled(Outcome, frozen=True, kw_only=True):
    """The outcome of a cancelled job, and what became of the jobs that its agent had queued."""

    children: Annotated[tuple[JobView, ...], about("the jobs that were ended with it")]
    kept: Annotated[tuple[JobView, ...], about("the jobs that go on")]


class Preview(msgspec.Struct, frozen=True, kw_only=True):
    """What a call would start (`--dry-run`)."""

    task: fields.TaskKey
    verb: fields.Verb
    agent: fields.Agent
    executor: fields.Executor
    job: Annotated[
        int | None, about("the job that the same call has placed before, so that none would start")
    ]
    argv: Annotated[tuple[str, ...] | None, about("the command; null with a `job`")]
    cwd: Annotated[str | None, about("the folder; null with a `job`")]
    env_names: Annotated[
        tuple[str, ...] | None, about("the names of its variables; null with a `job`")
    ]
    prompt: Annotated[str | None, about("what it would read; null with a `job`")]


class EventView(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One event of an agent's output. A key that its kind does not tell is left out."""

    job: Annotated[int, about("the job's number")]
    attempt: Annotated[int, about("the attempt's number within the job")]
    kind: Annotated[str, about("what kind of event it is, such as text or tool_use")]
    at: Annotated[str, about("when, where the output tells it: UTC, ISO 8601")] | UnsetType = UNSET
    text: Annotated[str, about("its words")] | UnsetType = UNSET
    session_id: Annotated[str, about("the session's id")] | UnsetType = UNSET
    tool: Annotated[str, about("the tool's name")] | UnsetType = UNSET
    is_error: Annotated[bool, about("true if it tells of a failure")] | UnsetType = UNSET
    http_status: Annotated[int, about("a request's status")] | UnsetType = UNSET
    resets_at: Annotated[str, about("when a limit resets: UTC, ISO 8601")] | UnsetType = UNSET
    cost_usd: Annotated[float, about("US dollars")] | UnsetType = UNSET
    count: Annotated[int, about("how many of its processes run in the background")] | UnsetType = (
        UNSET
    )


class Pruned(msgspec.Struct, frozen=True, kw_only=True):
    """What `sow job prune` has removed, or would remove."""

    jobs: Annotated[tuple[int, ...], about("the numbers of the jobs")]
    files: Annotated[tuple[str, ...], about("the old logs of workers")]
    bytes: Annotated[int, about("the size of all of it")]
    change_rows: Annotated[int, about("how many rows of the record of changes")]
    dry_run: Annotated[bool, about("whether nothing was removed")]
