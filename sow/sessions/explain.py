"""A job's story in words: what happened, attempt by attempt, and what will happen next.

Pure: records come in, sentences come out. The rules behind the next step are
`worker.retry`'s; this module tells what the records say of them.
"""

from collections.abc import Sequence

from sow.clock import format_duration, format_time
from sow.schema.job import Attempt, Cause, Job, JobState, Verb
from sow.schema.task import TaskStatus

CAUSES = {
    Cause.CANCELLED: "it was cancelled",
    Cause.REPORTED: "the agent reported",
    Cause.STATE_UNREADABLE: "the task's state could not be read",
    Cause.TIMED_OUT: "it ran longer than its executor's timeout",
    Cause.STALLED: "it gave no sign of life for its executor's stall_timeout",
    Cause.SESSION_IN_USE: "the CLI said that the session exists already",
    Cause.SESSION_UNKNOWN: "the CLI did not know the session",
    Cause.AUTH: "the CLI is not logged in, or its key was refused",
    Cause.BAD_MODEL: "the model is unknown to the service, or not allowed",
    Cause.BAD_FLAGS: "the CLI refused its command line",
    Cause.MISSING_BINARY: "the program could not be started",
    Cause.CONFIGURATION: "the configuration could not be used",
    Cause.DENIED: "tools that the agent needed were denied to it",
    Cause.RATE_LIMITED: "a usage limit was reached",
    Cause.API_ERROR: "the model's service failed",
    Cause.CRASHED: "the program ended in the middle of its work",
    Cause.NO_STATUS: "the program ended well, but the agent set no status",
    Cause.WORKER_DIED: "the agent died together with its worker or supervisor",
    Cause.WORKER_STOPPED: "the worker was stopped and ended the agent",
    Cause.CLOSED: "the person who had it open closed it without setting a status",
    Cause.INTERNAL: "sow itself failed",
}

DEEDS = {
    Verb.SPAWN: "started the agent",
    Verb.RESUME: "resumed the session",
    Verb.OPEN: "opened the session on a terminal",
}


def explain(
    job: Job, attempts: Sequence[Attempt], *, now: float, in_doubt: bool = False
) -> list[str]:
    """Return the story of a job, a sentence or two a line.

    `in_doubt`: nobody here can tell whether it still runs.
    """
    return [
        _beginning(job),
        *(line for attempt in attempts for line in _attempt(attempt, now)),
        *_accounts(job),
        _doubt(job) if in_doubt else _next(job, now),
    ]


def _doubt(job: Job) -> str:
    """Say what only a person can know, and how to tell it."""
    return (
        "Next: unknown. It was started in another pid namespace (a container, say), so whether"
        " it runs cannot be told from here, and it is left alone.\n"
        f"Once you know that nothing of it runs: `sow job resolve {job.id} --gone`."
    )


def _beginning(job: Job) -> str:
    asked = f"{job.verb} {job.agent} for task {job.task_id} by {job.executor.name}"
    by = f", called by the agent of job {job.parent}" if job.parent is not None else ""
    return f"Job {job.id}: {asked}, asked for at {format_time(job.created_at)}{by}."


def _attempt(attempt: Attempt, now: float) -> list[str]:
    did = DEEDS[attempt.verb]
    begun = attempt.started_at or attempt.created_at
    if attempt.cause is None:
        return [f"Attempt {attempt.number} {did} {format_duration(now - begun)} ago; it runs."]
    took = f" after {format_duration(attempt.ended_at - begun)}" if attempt.ended_at else ""
    how = _exit(attempt)
    lines = [f"Attempt {attempt.number} {did} and ended{took}{how}: {CAUSES[attempt.cause]}."]
    if attempt.reason and attempt.cause is not Cause.REPORTED:
        lines += [f"    {line}" for line in attempt.reason.strip().splitlines()]
    return lines


def _exit(attempt: Attempt) -> str:
    if attempt.exit_signal is not None:
        return f" by signal {attempt.exit_signal}"
    return "" if attempt.exit_code is None else f" with exit code {attempt.exit_code}"


def _accounts(job: Job) -> list[str]:
    """Tell what has been spent of what is bounded."""
    lines = []
    if job.retries:
        lines.append(f"Retries spent: {job.retries} of {job.executor.retries}.")
    if job.worker_deaths:
        lines.append(f"Workers that died under it: {job.worker_deaths} of 5.")
    if job.denied_tools:
        lines.append(f"Tools denied: {', '.join(job.denied_tools)}.")
    return lines


def _next(job: Job, now: float) -> str:
    match job.state:
        case JobState.PREPARING:
            return "Next: its call is still placing it; should the call die, a worker undoes it."
        case JobState.QUEUED:
            return "Next: it runs as soon as a worker has a free slot for its executor."
        case JobState.RUNNING if job.verb is Verb.OPEN:
            return "Next: the task is free again when the session is closed there."
        case JobState.RUNNING:
            return "Next: its end is judged by the task's status."
        case JobState.BACKOFF:
            wait = format_duration(max(0.0, job.retry_at - now))
            return f"Next: it is tried again in {wait}, at {format_time(job.retry_at)}."
        case JobState.PARKED:
            return f"Next: it is parked until {format_time(job.retry_at)} and then resumed."
        case JobState.CANCELLED:
            return f"It was cancelled; the task was left {job.outcome_status or 'as it was'}."
        case JobState.FAILED:
            return f"It failed for good. {_remedy(job)}"
        case _:
            return f"It is done: the agent left {job.outcome_status}. {_after(job)}".rstrip()


def _remedy(job: Job) -> str:
    """Return what a person can do about a failure."""
    match job.cause:
        case Cause.AUTH:
            return f"Log in to the CLI of {job.executor.name}, then resume the task."
        case Cause.BAD_MODEL | Cause.BAD_FLAGS | Cause.CONFIGURATION:
            return f"Correct agents.executors.{job.executor.name} in the configuration."
        case Cause.DENIED:
            return (
                f"Allow the tools: agents.executors.{job.executor.name}.settings.allowed_tools, "
                "then resume the task."
            )
        case Cause.SESSION_UNKNOWN:
            return f"Start over: `sow agent spawn {job.agent} {job.task_id} --fresh`."
        case _:
            return (
                f"`sow job logs {job.id}` shows what the agent said; a resume goes on from there."
            )


def _after(job: Job) -> str:
    if job.outcome_status is TaskStatus.PAUSED:
        return f'It waits for an answer: `sow agent resume {job.task_id} "…"`.'
    if job.outcome_status is TaskStatus.NEEDS_REVIEW:
        return "It waits for a review."
    return ""
