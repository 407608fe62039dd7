"""A job's story in words: what happened, attempt by attempt, and what will happen next.

Pure: records and surroundings come in, sentences come out. The rules behind the
next step are `sow.attempts.retry`'s; this module tells what the records say of them.
What a person can do is `advice`'s.
"""

from collections.abc import Sequence

from sow.clock import Times, format_duration
from sow.executors.endings import SILENT
from sow.jobs.hosts import Host, node_of
from sow.reports.advice import advice
from sow.reports.prospects import Obstacle, Surroundings, obstacle_of
from sow.reports.wording import asked_of
from sow.schema.cause_table import CAUSES, RetryRule
from sow.schema.causes import WITHOUT_CALL, Cause
from sow.schema.executor import QUIET_SECONDS
from sow.schema.job import Attempt, HeldFor, Job, JobState
from sow.schema.kinds import kind_of

NO_AGENT_YET = (Cause.SETUP_FAILED, Cause.SETUP_PREVENTED)
"""What ends an attempt before its agent is started."""


def explain(job: Job, attempts: Sequence[Attempt], around: Surroundings, times: Times) -> list[str]:
    """Return the story of a job, a sentence or two a line; `times` tells its times."""
    lines = [
        _beginning(job, times),
        *(line for each in attempts for line in _attempt(each, around, times)),
        *_ending_without_attempt(job, attempts),
        *_accounts(job),
        *(_doubt(job) if around.in_doubt else _now(job, attempts, around, times)),
        "" if around.in_doubt else advice(job, attempts, around.task),
    ]
    return [line for line in lines if line]


def _doubt(job: Job) -> list[str]:
    """Say what only a person can know, and how to tell it."""
    return [
        "Next: unknown. It was started in another pid namespace (a container, say), and no lock"
        " tells whether it runs: other machines see this disk as well, or a process that cannot be"
        " seen from here has the agent's output open. It is left alone.",
        f"Once you know that nothing of it runs: `sow job resolve {job.id} --gone`.",
    ]


def _beginning(job: Job, times: Times) -> str:
    asked = asked_of(job)
    by = f", by the agent of job {job.parent}" if job.parent is not None else ""
    return f"Job {job.id}: {asked}, asked for at {times.when(job.created_at)}{by}."


def _attempt(attempt: Attempt, around: Surroundings, times: Times) -> list[str]:
    did = "began" if attempt.cause in NO_AGENT_YET else kind_of(attempt).did
    begun = attempt.started_at or attempt.created_at
    ran = around.ran.get(attempt.number)
    where = f" on {node_of(ran.host)}" if ran is not None else ""
    which = f"Attempt {attempt.number} {did}{where} at"
    if attempt.cause is None:
        if attempt.ended_at:
            return [f"{which} {times.at(begun)} and has ended; it is not judged yet."]
        return [f"{which} {times.when(begun)} and has not ended."]
    took = f" after {format_duration(attempt.ended_at - begun)}" if attempt.ended_at else ""
    what = WITHOUT_CALL if attempt.reason == WITHOUT_CALL else CAUSES[attempt.cause].words
    ended = "was ended" if _is_by_sow(attempt) else "ended"
    lines = [f"{which} {times.at(begun)} and {ended}{took}{_exit(attempt)}: {what}."]
    if attempt.cause is not Cause.REPORTED and not _is_said(attempt, what):
        lines += _quoted(attempt.reason)
    return lines


def _is_said(attempt: Attempt, what: str) -> bool:
    """Whether a reason tells no more than what stands before it."""
    return attempt.reason in what or attempt.reason == f"exit code {attempt.exit_code}, {SILENT}"


def _is_by_sow(attempt: Attempt) -> bool:
    return attempt.cause is not None and CAUSES[attempt.cause].is_by_sow


def _exit(attempt: Attempt) -> str:
    if _is_by_sow(attempt):
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
    return [f"{which} {verb}: {CAUSES[job.cause].words}.", *_quoted(job.reason)]


def _quoted(text: str) -> list[str]:
    return [f"    {line}" for line in text.strip().splitlines() if line.strip()]


def _accounts(job: Job) -> list[str]:
    """Tell what has been spent of what is bounded."""
    lines = []
    if job.retries:
        lines.append(f"Retries spent: {job.retries} of {job.most_retries}.")
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
        forgiven = [cause for cause in Cause if cause.value in job.corrections]
        seconds = [CAUSES[cause].second for cause in forgiven]
        lines += [f"A second {second} fails the job." for second in seconds if second]
    lines += [f"Note: {warning}." for warning in job.warnings]
    if job.denied_tools and job.cause is not Cause.DENIED:  # else its reason names them
        lines.append(f"Tools denied: {', '.join(job.denied_tools)}.")
    return lines


def _now(job: Job, attempts: Sequence[Attempt], around: Surroundings, times: Times) -> list[str]:
    """Tell where the job stands, and what happens to it next."""
    match job.state:
        case JobState.PREPARING:
            return [_placing(around)]
        case JobState.QUEUED:
            return [f"Next: {_start(job, around, times)}"]
        case JobState.RUNNING if kind_of(job).is_interactive:
            return ["Next: the task is free again when the session is closed there."]
        case JobState.RUNNING:
            return _running(job, attempts, around, times)
        case JobState.HELD:
            return [f"Now: it is held: {job.reason}.", "Next: it continues by itself after that."]
        case JobState.BACKOFF | JobState.PARKED:
            return _waiting(job, around, times)
        case JobState.CANCELLED:
            if not job.task_id:
                return ["It was cancelled."]
            return [f"It was cancelled; the task was left {job.outcome_status or 'as it was'}."]
        case JobState.FAILED:
            blame = CAUSES[job.cause or Cause.INTERNAL].blame
            return [f"It failed for good: {_final(job)}. Responsible: {blame}."]
        case _ if not kind_of(job).is_agents:
            return ["It is done, and nothing was wrong."]
        case _ if not kind_of(job).reports_status:
            return ["It is done: its verdict is recorded in the task."]
        case _:
            return [f"It is done: the agent left {job.outcome_status}."]


def _final(job: Job) -> str:
    facts = CAUSES[job.cause or Cause.INTERNAL]
    if facts.retry is RetryRule.BACKOFF:
        return f"its retries are used up (retries: {job.most_retries})"
    if facts.retry is RetryRule.PATIENT:
        return "what prevents it has not passed, however often it was tried again"
    return "it is not tried again"


def _placing(around: Surroundings) -> str:
    if around.caller_lives:
        return "Now: its call is still placing it. Next: it is queued."
    return (
        "Now: its call has died while placing it. Next: a worker undoes it, or queues it where"
        " the task is marked already; so does the same call again."
    )


def _start(job: Job, around: Surroundings, times: Times) -> str:
    """Tell when a job that is due starts, and what stands in its way."""
    name = job.executor_name
    most = job.executor.max_parallel if job.executor is not None else None
    match obstacle_of(job, around):
        case Obstacle.PAUSED:
            since = times.of_record(around.paused_since or "")
            return (
                f"nothing: the queue has been paused since {since}. `sow queue resume` continues"
                " it."
            )
        case Obstacle.NO_WORKER:
            return (
                "it waits for a worker, and none runs. `sow worker` starts one; so does a call that"
                " waits, unless worker.autostart is false."
            )
        case Obstacle.SHORT:
            return f"sow starts no jobs now: {around.short_of}. It goes on by itself."
        case Obstacle.NO_HOST:
            return (
                f"it waits for a host: {around.lacks}. `sow hosts list` shows what each serves and"
                " offers; start a worker that does."
            )
        case Obstacle.CHECKS_FULL:
            return (
                f"it starts when another job without an agent ends: {around.running_alike} run, and"
                " no more may (worker.checks). `sow job list --active` shows them."
            )
        case Obstacle.EXECUTOR_FULL:
            where = f"agents.executors.{name}.max_parallel: {most}"
            if most is None:
                where = f"sow hosts init --max-parallel {name}={around.most_alike}"
            return (
                f"it starts when another agent of {name} ends: {around.running_alike} run, and no"
                f" more may ({where})."
                " `sow job list --active` shows them."
            )
        case Obstacle.ALL_FULL:
            return (
                f"it starts when another agent ends: {around.running} run, and no more may"
                " (worker.concurrency). `sow job list --active` shows them."
            )
        case _:
            return "it starts as soon as a worker takes it; nothing stands in its way."


def _running(
    job: Job, attempts: Sequence[Attempt], around: Surroundings, times: Times
) -> list[str]:
    if job.cancel_requested_at is not None:
        asked = times.when(job.cancel_requested_at)
        return [f"Now: it is being ended, as was asked at {asked}."]
    who = "its agent" if kind_of(job).is_agents else "it"
    if not attempts or attempts[-1].cause is not None:
        standing = f"Now: a worker has taken it and starts {who}."
    elif around.activity is None and around.host is not None:
        standing = f"Now: {who} runs on another host, where its output is."
    elif around.activity is None:
        standing = f"Now: {who} runs and has printed nothing yet."
    else:
        quiet = format_duration(around.activity.quiet_seconds)
        last = f" Last seen: {around.activity.words}." if around.activity.words else ""
        standing = f"Now: {who} runs; its last line is {quiet} old.{last}"
    lines = [standing]
    if around.activity is not None and around.activity.stalled:
        lines.append(_of_stall(job, around.activity.stalled))
    if around.host is not None:
        lines += _of_host(around.host, times)
    elif not around.worker_lives:
        lines.append("Its worker has died. The agent goes on, and the next worker takes it over.")
    if not kind_of(job).is_agents:
        return [*lines, "Next: its end is judged by what its commands return."]
    report = "the task's status" if kind_of(job).reports_status else "its verdict"
    return [*lines, f"Next: its end is judged by {report}.{_limits(job, attempts, times)}"]


def _of_host(host: Host, times: Times) -> list[str]:
    """Tell on which host a job runs, and what follows where that is silent."""
    heard = times.at(times.now - host.silent_seconds)
    lines = [f"Host: {host.name} (role {host.role}), last heard at {heard}."]
    if not host.is_heard:
        lines.append("It has been silent for longer than a lease: another host takes the job over.")
    return lines


def _of_stall(job: Job, stalled: str) -> str:
    """Tell what an agent without a sign of life may need."""
    name = job.task_id or "TASK"
    return (
        f"There is {stalled}: no output, no CPU time, no growth of its transcript."
        f" `sow agent cancel {name}` ends it; then `sow next` says how the task goes on."
    )


def _limits(job: Job, attempts: Sequence[Attempt], times: Times) -> str:
    """Tell when a running agent is ended by force."""
    limits = ""
    if job.executor is None:
        return limits
    if job.executor.timeout_seconds is not None and attempts:
        begun = attempts[-1].started_at or attempts[-1].created_at
        latest = times.at(begun + job.executor.timeout_seconds)
        limits += f" It is ended at {latest} (timeout)."
    stall = job.executor.stall_timeout_seconds
    if stall is None and job.batch is not None:
        stall = QUIET_SECONDS
    if stall:
        quiet = format_duration(stall)
        limits += f" It is ended after {quiet} without a sign of life (stall_timeout)."
    return limits


def _waiting(job: Job, around: Surroundings, times: Times) -> list[str]:
    if job.held_for is HeldFor.SHARE:
        return [f"Now: it waits: {job.reason}.", "Next: it goes on when one of those has ended."]
    if job.retry_at <= times.now:
        return [f"Its time to go on has come. Next: {_start(job, around, times)}"]
    when = f"in {format_duration(job.retry_at - times.now)}, at {times.at(job.retry_at)}"
    if job.state is JobState.PARKED:
        return ["Now: it is parked, until the usage limit resets.", f"Next: it goes on {when}."]
    if job.cause is None and job.reason:
        reason = job.reason.rstrip(".")
        return [f"Now: it waits: {reason}.", f"Next: it is looked at again {when}."]
    return [f"Next: it is tried again {when}."]
