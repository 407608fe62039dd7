"""A job with `--json`: one form, whichever command shows it, and what a call adds to it.

Apart from `jobs`, for each call that waits makes this of its job, and nothing else.
"""

from typing import Annotated

import msgspec

from sow.schema.output import fields
from sow.schema.output.fields import about


class JobView(msgspec.Struct, frozen=True, kw_only=True):
    """A job, as every command shows it."""

    task: fields.JobsTask
    job: fields.JobKey
    project: fields.ProjectKey
    verb: fields.Verb
    agent: fields.JobsAgent
    executor: fields.JobsExecutor
    tasks: Annotated[tuple[str, ...], about("the tasks that it is about; a merge may have several")]
    checks: Annotated[tuple[str, ...], about("the checks that the job runs; empty if it runs none")]
    state: Annotated[str, about("the job's state (docs/reference.md, Job states)")]
    status: Annotated[
        str | None,
        about(
            "the task's status at the end of the job; in_progress before; null for a job"
            " that does not change the status"
        ),
    ]
    cause: fields.Cause
    reason: fields.Reason
    exit_code: Annotated[
        int | None,
        about(
            "the exit code of a call that waits for the job: 75 if it stops waiting before"
            " the job ends; in other output null until the job has ended"
        ),
    ]
    attempt_count: Annotated[int, about("how many attempts it has had")]
    session_id: fields.SessionId
    seconds: Annotated[
        float | None, about("the time from the call to the job's end, in seconds; null before that")
    ]
    run_seconds: Annotated[
        float | None,
        about("the time from its first start to its end, in seconds; null before that"),
    ]
    created_at: fields.CreatedAt
    started_at: fields.StartedAt
    ended_at: fields.EndedAt
    cost_usd: fields.CostUsd
    denied_tools: Annotated[tuple[str, ...], about("the tools that were denied to the agent")]
    warnings: Annotated[
        tuple[str, ...], about("what a person should look at, even if the job succeeded")
    ]
    priority: Annotated[int, about("jobs with a higher priority start first")]
    parent: Annotated[int | None, about("the job whose agent made the call; null if no agent did")]
    retries: Annotated[int, about("how many of the executor's `retries` were used")]
    retry_at: Annotated[
        str | None,
        about("when it is tried again: UTC, ISO 8601; null if it does not wait for a time"),
    ]
    unverifiable: Annotated[
        bool, about("whether sow cannot see from here if its agent runs (`sow job resolve`)")
    ]
    host: Annotated[
        str | None,
        about(
            "the host that runs it or had its last attempt, if hosts share the queue; null"
            " before its first attempt, and without hosts"
        ),
    ]
    standing: Annotated[
        str,
        about(
            "what it does or waits for now, in a few words, such as the agent's last tool"
            " call or a paused queue; empty after its end"
        ),
    ]
    quiet_seconds: Annotated[
        float | None,
        about("seconds since the agent printed its last line; null if the agent does not run"),
    ]


class Outcome(JobView, frozen=True, kw_only=True):
    """The result of one job, or its present state if it has not ended."""

    owed: Annotated[
        bool, about("whether an earlier call queued the job and ended before the job did")
    ] = False
    continue_with: Annotated[
        str | None,
        about(
            "the command that continues waiting for all tasks of the call; null after the"
            " end. If all of them are held, it begins with the command that releases them,"
            " and `&&`"
        ),
    ] = None
    next_step: Annotated[
        str,
        about(
            "a sentence with the command that a person can run next; empty if there is"
            " nothing to do"
        ),
    ] = ""
    agent_says: Annotated[
        str | None,
        about(
            "the agent's last log entry, if it ended paused (its question) or failed (its"
            " reason); else null"
        ),
    ] = None
    verdict: Annotated[
        str | None,
        about(
            "for a review: accepted or corrections; null without a verdict, or after a later one"
        ),
    ] = None
    summary: Annotated[
        str, about("for a review: what the reviewer thinks of the work; empty without a verdict")
    ] = ""
    feedback_file: Annotated[
        str | None, about("for a review: the file in feedback/ with the corrections; else null")
    ] = None
    steers: Annotated[
        tuple[str, ...], about("for a review: the changed files that control agents or machines")
    ] = ()
    anew_with: Annotated[
        str | None,
        about("if `owed`: the option with which the same call starts a new run; else null"),
    ] = None
