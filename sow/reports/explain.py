"""A job's story in words: what happened, attempt by attempt, and what will happen next.

Pure: records and surroundings come in, sentences come out. The rules behind the
next step are `sow.attempts.retry`'s; this module tells what the records say of them.
What a person can do is `advice`'s.
"""

from collections.abc import Sequence

from sow.clock import format_duration, format_time
from sow.executors.endings import WITHOUT_STATUS
from sow.reports.advice import advice
from sow.reports.prospects import Surroundings
from sow.schema.job import Attempt, Cause, Job, JobState, Verb

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
    Cause.NO_STATUS: WITHOUT_STATUS,
    Cause.WORKER_DIED: "the agent died together with its worker or supervisor",
    Cause.WORKER_STOPPED: "the worker was stopped and ended the agent",
    Cause.CLOSED: "the person who had it open closed it without setting a status",
    Cause.INTERNAL: "sow itself failed",
}
ENDED_BY_SOW = frozenset({Cause.CANCELLED, Cause.TIMED_OUT, Cause.STALLED, Cause.WORKER_STOPPED})
"""Endings whose exit code tells nothing: sow has sent the signals."""
ONCE = {
    Cause.NO_STATUS: "ending without a status",
    Cause.STALLED: "stall",
    Cause.STATE_UNREADABLE: "broken state.yaml",
}
"""What is forgiven one time in each job, as a second one is called."""

DEEDS = {
    Verb.SPAWN: "started the agent",
    Verb.RESUME: "resumed the session",
    Verb.OPEN: "opened the session on a terminal",
}


def explain(
    job: Job, attempts: Sequence[Attempt], around: Surroundings, *, now: float
) -> list[str]:
    """Return the story of a job, a sentence or two a line."""
    told = [
        _beginning(job, now),
        *(line for attempt in attempts for line in _attempt(attempt, now)),
        *_ending_without_attempt(job, attempts),
        *_accounts(job),
        *(_doubt(job) if around.in_doubt else _now(job, attempts, around, now)),
        *_advice(job, attempts, around),
    ]
    return [line for line in told if line]


def _advice(job: Job, attempts: Sequence[Attempt], around: Surroundings) -> list[str]:
    """Say what a person can do; the id of a task names another one in another project."""
    if around.in_doubt:
        return []
    if around.other_project:
        return [
            f"It is a job of another project than the one that is checked out: task {job.task_id}"
            " of this project is another task, and no command of tasks reaches the job's."
        ]
    return [advice(job, attempts)]


def _doubt(job: Job) -> list[str]:
    """Say what only a person can know, and how to tell it."""
    return [
        "Next: unknown. It was started in another pid namespace (a container, say), so whether"
        " it runs cannot be told from here, and it is left alone.",
        f"Once you know that nothing of it runs: `sow job resolve {job.id} --gone`.",
    ]


def _beginning(job: Job, now: float) -> str:
    asked = f"{job.verb} {job.agent} for task {job.task_id} by {job.executor.name}"
    when = f"{format_time(job.created_at)}, {format_duration(now - job.created_at)} ago"
    by = f", by the agent of job {job.parent}" if job.parent is not None else ""
    return f"Job {job.id}: {asked}, asked for at {when}{by}."


def _attempt(attempt: Attempt, now: float) -> list[str]:
    did = DEEDS[attempt.verb]
    begun = attempt.started_at or attempt.created_at
    told = f"Attempt {attempt.number} {did} at {format_time(begun)}"
    if attempt.cause is None:
        if attempt.ended_at:
            return [f"{told} and has ended; it is not judged yet."]
        return [f"{told}, {format_duration(now - begun)} ago, and has not ended."]
    took = f" after {format_duration(attempt.ended_at - begun)}" if attempt.ended_at else ""
    what = CAUSES[attempt.cause]
    ended = "was ended" if attempt.cause in ENDED_BY_SOW else "ended"
    lines = [f"{told} and {ended}{took}{_exit(attempt)}: {what}."]
    if attempt.cause is not Cause.REPORTED and attempt.reason not in what:
        lines += _quoted(attempt.reason)
    return lines


def _exit(attempt: Attempt) -> str:
    if attempt.cause in ENDED_BY_SOW:
        return ""
    if attempt.exit_signal is not None:
        return f" by signal {attempt.exit_signal}"
    return "" if attempt.exit_code is None else f" with exit code {attempt.exit_code}"


def _ending_without_attempt(job: Job, attempts: Sequence[Attempt]) -> list[str]:
    """Tell why a job failed whose last attempt, if any, does not say it."""
    last = attempts[-1].cause if attempts else None
    if job.state is not JobState.FAILED or job.cause is None or job.cause is last:
        return []
    which = "Its next attempt" if attempts else "No attempt"
    verb = "was not made" if attempts else "was made"
    return [f"{which} {verb}: {CAUSES[job.cause]}.", *_quoted(job.reason)]


def _quoted(text: str) -> list[str]:
    return [f"    {line}" for line in text.strip().splitlines() if line.strip()]


def _accounts(job: Job) -> list[str]:
    """Tell what has been spent of what is bounded."""
    lines = []
    if job.retries:
        lines.append(f"Retries spent: {job.retries} of {job.executor.retries}.")
    if job.worker_deaths:
        lines.append(
            f"Workers that died under it in a row: {job.worker_deaths}. Too many fail it"
            " (retry.worker_deaths)."
        )
    if job.excused_deaths:
        lines.append(
            f"Deaths in a row that do not count: {job.excused_deaths}. The machine was started"
            " anew, or others died at the same time; more of them make it wait."
        )
    if not job.state.is_final:
        spent = [words for cause, words in ONCE.items() if cause.value in job.corrections]
        lines += [f"A second {words} fails the job." for words in spent]
    lines += [f"Note: {warning}." for warning in job.warnings]
    if job.denied_tools:
        lines.append(f"Tools denied: {', '.join(job.denied_tools)}.")
    return lines


def _now(job: Job, attempts: Sequence[Attempt], around: Surroundings, now: float) -> list[str]:
    """Tell where the job stands, and what happens to it next."""
    match job.state:
        case JobState.PREPARING:
            return [_placing(around)]
        case JobState.QUEUED:
            return [f"Next: {_start(job, around)}"]
        case JobState.RUNNING if job.verb is Verb.OPEN:
            return ["Next: the task is free again when the session is closed there."]
        case JobState.RUNNING:
            return _running(job, attempts, around)
        case JobState.BACKOFF | JobState.PARKED:
            return _waiting(job, around, now)
        case JobState.CANCELLED:
            return [f"It was cancelled; the task was left {job.outcome_status or 'as it was'}."]
        case JobState.FAILED:
            return [f"It failed for good: {_final(job)}."]
        case _:
            return [f"It is done: the agent left {job.outcome_status}."]


def _final(job: Job) -> str:
    if job.cause in (Cause.CRASHED, Cause.API_ERROR):
        return f"its retries are spent (retries: {job.executor.retries})"
    return "it is not tried again"


def _placing(around: Surroundings) -> str:
    if around.caller_lives:
        return "Now: its call is still placing it. Next: it is queued."
    return (
        "Now: its call has died while placing it. Next: a worker undoes it, or queues it where"
        " the task is marked already; so does the same call again."
    )


def _start(job: Job, around: Surroundings) -> str:
    """Tell when a job that is due starts, and what stands in its way."""
    name, most = job.executor.name, job.executor.max_parallel
    if around.paused_since is not None:
        return (
            f"nothing: the queue has been paused since {around.paused_since}."
            " `sow queue resume` lets it go on."
        )
    if not around.workers:
        return (
            "it waits for a worker, and none runs. `sow worker` starts one; so does a call that"
            " waits, unless worker.autostart is false."
        )
    if most is not None and around.running_alike >= most:
        return (
            f"it starts when another agent of {name} ends: {around.running_alike} run, and no more"
            f" may (agents.executors.{name}.max_parallel: {most})."
            " `sow job list --active` shows them."
        )
    if around.running >= around.capacity:
        return (
            f"it starts when another agent ends: {around.running} run, and no more may"
            " (worker.concurrency). `sow job list --active` shows them."
        )
    return "it starts as soon as a worker takes it; nothing stands in its way."


def _running(job: Job, attempts: Sequence[Attempt], around: Surroundings) -> list[str]:
    if job.cancel_requested_at is not None:
        asked = format_time(job.cancel_requested_at)
        return [f"Now: it is being ended, as was asked at {asked}."]
    if not attempts or attempts[-1].cause is not None:
        told = "Now: a worker has taken it and starts its agent."
    elif around.quiet_seconds is None:
        told = "Now: its agent runs and has printed nothing yet."
    else:
        told = f"Now: its agent runs; its last line is {format_duration(around.quiet_seconds)} old."
    lines = [told]
    if not around.worker_lives:
        lines.append("Its worker has died. The agent goes on, and the next worker takes it over.")
    return [*lines, f"Next: its end is judged by the task's status.{_limits(job, attempts)}"]


def _limits(job: Job, attempts: Sequence[Attempt]) -> str:
    """Tell when a running agent is ended by force."""
    told = ""
    if job.executor.timeout_seconds is not None and attempts:
        begun = attempts[-1].started_at or attempts[-1].created_at
        latest = format_time(begun + job.executor.timeout_seconds)
        told += f" It is ended at {latest} (timeout)."
    if job.executor.stall_timeout_seconds is not None:
        quiet = format_duration(job.executor.stall_timeout_seconds)
        told += f" It is ended after {quiet} without a sign of life (stall_timeout)."
    return told


def _waiting(job: Job, around: Surroundings, now: float) -> list[str]:
    if job.retry_at <= now:
        return [f"Its time to go on has come. Next: {_start(job, around)}"]
    when = f"in {format_duration(job.retry_at - now)}, at {format_time(job.retry_at)}"
    if job.state is JobState.PARKED:
        return ["Now: it is parked, until the usage limit resets.", f"Next: it goes on {when}."]
    if job.cause is None and job.reason:
        return [f"Now: it waits: {job.reason}.", f"Next: it is looked at again {when}."]
    return [f"Next: it is tried again {when}."]
