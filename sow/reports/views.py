"""The read model of a job: its records, turned into the one form that every command shows.

Pure, save for `read_views`, which has a look at what lies beside the records (`seen`). Times
are ISO 8601, lengths of time seconds, money US dollars to four places.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sow.clock import format_time
from sow.jobs import jobs
from sow.jobs.database import Database
from sow.paths import Workspace
from sow.reports.advice import advice
from sow.reports.outcome import exit_code_of, warnings_of
from sow.reports.seen import NOT_LOOKED, Seen, see_jobs
from sow.reports.task_now import NOT_LOOKED_AT, TaskNow
from sow.reports.wording import wait_for_job
from sow.schema.amounts import dollars
from sow.schema.job import Attempt, Job, JobState
from sow.schema.kinds import kind_of
from sow.schema.output.outcome import JobView, Outcome
from sow.schema.task import TaskStatus

if TYPE_CHECKING:
    from sow.jobs.hosts import Ran
    from sow.schema.output.costs import CostSum
    from sow.schema.output.jobs import AttemptView, Cancelled, JobDetail, JobStory
    from sow.schema.spending import Used


NOWHERE: "Mapping[int, Ran]" = {}
"""Where the attempts of a job ran in a queue that nobody shares: here, and nobody asks."""


def read_views(
    workspace: Workspace, database: Database, found: Sequence[Job], now: float
) -> list[JobView]:
    """Return some jobs as they stand now. Raises QueueError."""
    seen = see_jobs(workspace, database, found, now)
    return [
        job_view(job, jobs.attempts(database, job.id), job_seen)
        for job, job_seen in zip(found, seen, strict=True)
    ]


def job_view(job: Job, attempts: Sequence[Attempt], seen: Seen = NOT_LOOKED) -> JobView:
    """Return a job as every command shows it."""
    return JobView(**_fields(job, attempts, seen))


def job_detail(
    workspace: Workspace,
    job: Job,
    attempts: Sequence[Attempt],
    seen: Seen,
    used: "Used",
    by_attempt: "Mapping[int, Used]",
    ran: "Mapping[int, Ran]" = NOWHERE,
) -> "JobDetail":
    """Return a job with what was asked for, each of its attempts, and what they have used.

    `ran` says where each attempt ran, by number, of a queue that hosts share.
    """
    # A call that waits for a job tells its outcome alone.
    from sow.reports.costs import cost_sum
    from sow.schema.output.jobs import JobDetail

    by_number = {number: cost_sum(its) for number, its in by_attempt.items()}
    return JobDetail(
        **_fields(job, attempts, seen),
        used=cost_sum(used),
        prompt=job.prompt,
        attempts=tuple(
            attempt_view(workspace, attempt, by_number.get(attempt.number), ran.get(attempt.number))
            for attempt in attempts
        ),
    )


def job_story(
    job: Job, attempts: Sequence[Attempt], seen: Seen, lines: Sequence[str]
) -> "JobStory":
    """Return a job with the lines that tell what happened to it."""
    from sow.schema.output.jobs import JobStory  # as above

    return JobStory(**_fields(job, attempts, seen), story=tuple(lines))


def outcome_of(
    job: Job,
    attempts: Sequence[Attempt],
    *,
    owed: bool = False,
    anew_with: str | None = None,
    continue_with: str | None = None,
    waited: bool = True,
    seen: Seen = NOT_LOOKED,
    task: TaskNow = NOT_LOOKED_AT,
    agent_says: str | None = None,
) -> Outcome:
    """Return the outcome of a job, or where it stands.

    `anew_with` is the option that would run an owed one anew, if the call has
    such an option. `continue_with` is the command that goes on waiting; without
    one it is that for this job alone. `seen` is what a look beside the records of one
    that goes on has shown, `task` how the task of one that has ended stands now,
    `agent_says` what its agent asks, or gives as its reason. A call that has not `waited`
    exits with 0 for a job that still runs, so no code is told of that.
    """
    fields = _fields(job, attempts, seen)
    if not job.state.is_final:
        fields["exit_code"] = int(exit_code_of(job)) if waited else None
    return Outcome(
        **fields,
        owed=owed,
        continue_with=None if job.state.is_final else continue_with or wait_for_job(job),
        anew_with=anew_with if owed else None,
        next_step=advice(job, attempts, task, with_words=True),
        agent_says=agent_says,
        **_verdict(task),
    )


def _verdict(task: TaskNow) -> dict[str, Any]:
    """Return what a review has come to, by key; nothing of any other job."""
    if task.review is None:
        return {}
    return {
        "verdict": task.review.verdict.value,
        "summary": task.review.summary,
        "feedback_file": task.feedback,
        "steers": tuple(task.review.steers),
    }


def cancelled_view(
    job: Job, attempts: Sequence[Attempt], children: Sequence[JobView], kept: Sequence[JobView]
) -> "Cancelled":
    """Return a cancelled job with what became of the jobs that its agent had queued."""
    from sow.schema.output.jobs import Cancelled  # as above

    return Cancelled(
        **_fields(job, attempts, NOT_LOOKED), children=tuple(children), kept=tuple(kept)
    )


def attempt_view(
    workspace: Workspace, attempt: Attempt, used: "CostSum | None", ran: "Ran | None"
) -> "AttemptView":
    """Return one attempt; what is only on another host has no folder here."""
    from sow.schema.output.jobs import AttemptView  # as above

    is_here = ran is None or not ran.is_elsewhere
    folder = workspace.attempt(attempt.job_id, attempt.number).folder
    return AttemptView(
        attempt=attempt.number,
        id=attempt.id,
        verb=attempt.verb.value,
        worker=attempt.worker_id,
        argv=attempt.argv,
        pid=attempt.supervisor.pid if attempt.supervisor else None,
        session_id=attempt.session_id,
        cause=attempt.cause.value if attempt.cause else None,
        reason=attempt.reason,
        exit_code=attempt.exit_code,
        exit_signal=attempt.exit_signal,
        tool_uses=attempt.tool_uses,
        used=used,
        cpu_seconds=attempt.cpu_seconds,
        max_rss_kb=attempt.max_rss_kb,
        started_at=_time(attempt.started_at),
        ended_at=_time(attempt.ended_at),
        host=ran.host if ran is not None else None,
        folder=str(folder) if is_here else None,
    )


def _fields(job: Job, attempts: Sequence[Attempt], seen: Seen) -> dict[str, Any]:
    """Return what every view of a job tells, by key."""
    ended = job.ended_at
    status = job.outcome_status if job.state.is_final else TaskStatus.IN_PROGRESS
    if not kind_of(job).marks_task:
        status = None
    waits = job.state in (JobState.BACKOFF, JobState.PARKED) and job.held_for is None
    return {
        "task": job.task_id or None,
        "tasks": job.tasks,
        "job": job.id,
        "project": job.project_id,
        "verb": job.verb.value,
        "agent": job.agent or None,
        "executor": job.executor_name or None,
        "checks": job.check_names,
        "state": job.state.value,
        "status": status.value if status else None,
        "cause": job.cause.value if job.cause else None,
        "reason": job.reason,
        "exit_code": int(exit_code_of(job)) if job.state.is_final else None,
        "attempt_count": len(attempts),
        "session_id": attempts[-1].session_id if attempts else None,
        "seconds": round(ended - job.created_at, 3) if ended else None,
        "run_seconds": round(ended - job.started_at, 3) if ended and job.started_at else None,
        "created_at": format_time(job.created_at),
        "started_at": _time(job.started_at),
        "ended_at": _time(ended),
        "cost_usd": dollars(job.cost_usd),
        "denied_tools": job.denied_tools,
        "warnings": warnings_of(job, attempts),
        "priority": job.priority,
        "parent": job.parent,
        "retries": job.retries,
        "retry_at": format_time(job.retry_at) if waits else None,
        "unverifiable": seen.in_doubt,
        "host": seen.host,
        "standing": seen.standing,
        "quiet_seconds": None if seen.quiet_seconds is None else round(seen.quiet_seconds, 1),
    }


def _time(seconds: float | None) -> str | None:
    return None if seconds is None else format_time(seconds)
