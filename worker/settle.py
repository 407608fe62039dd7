"""From an attempt that has ended to what stands in the records: judge, decide, write, ring.

Owns the order of the writes. The cause is recorded first, then the task's
state, then the job's end with its lease in one commit: a worker that dies in
between leaves a record from which the next one goes on. Every write is under
the lease; a fenced worker changes nothing.
"""

import random
from contextlib import suppress
from dataclasses import replace
from typing import Any

from sow.clock import format_duration, format_time
from sow.errors import ExecutorError, SowError, StateError
from sow.executors.base import Observation, Verdict
from sow.executors.errors import ExecutorBinaryNotFound, SessionLost
from sow.files import StateLocked
from sow.ids import TaskId
from sow.jobs import jobs, leases, waiters
from sow.schema.job import Cause, Job, JobState, Lease
from sow.schema.task import Task, TaskStatus
from sow.state.errors import NoProject
from sow.state.projects import read_project
from sow.state.tasks import read_task
from worker.context import WorkerContext, tell
from worker.judge import Evidence, judge
from worker.retry import Next, Step, decide
from worker.running import Exit, Running, ending_of, read_exit
from worker.taskstate import (
    both,
    change_under_lease,
    clears_session,
    fails,
    first_line,
    has_begun,
    interrupts,
    log_failure,
    marks_session,
    restore_state,
    session_seen,
    taken_again,
)

ELSEWHERE_SECONDS = 30.0


def settle_attempt(context: WorkerContext, running: Running) -> None:
    """Record how an attempt ended and what follows. Raises Fenced when it is not ours any more."""
    running.output.read_new(last=True)
    exit_facts = read_exit(running.paths)
    context.guard.look()
    if not is_checked_out(context, running.job):
        _keep_for_later(context, running, exit_facts)
        return
    job = jobs.get_job(context.database, running.job.id)
    verdict = recorded(running) or _judge(context, running, job, exit_facts)
    following = _decide(context, running, job, verdict)
    if verdict.cause is Cause.SESSION_UNKNOWN and following.step is Step.FAIL:
        verdict = _session_lost(running, verdict)
    _record_ending(context, running, exit_facts, verdict)
    _write_down(context, running, job, verdict, following)


def is_checked_out(context: WorkerContext, job: Job) -> bool:
    """Whether the project that a job belongs to is the one in the workspace now."""
    try:
        return read_project(context.workspace).id == job.project_id
    except NoProject:
        return False


def recorded(running: Running) -> Verdict | None:
    """Return the verdict that a worker wrote down before it died, if one did."""
    if running.attempt.cause is None:
        return None
    return Verdict(running.attempt.cause, running.attempt.reason)


def fail_before_start(
    context: WorkerContext,
    job: Job,
    lease: Lease,
    error: SowError,
    *,
    cause: Cause | None = None,
) -> None:
    """End a job whose agent could not be started; task and job say why."""
    status: TaskStatus | None = None
    with suppress(StateError):  # a state that cannot be written must not keep the job alive
        now = context.now()
        status = change_under_lease(context, job, lease, lambda task: fails(task, now)).status
        log_failure(context, job, error.message)
    _end(
        context,
        job,
        lease,
        JobState.FAILED,
        cause=cause or cause_of(error),
        reason=error.message,
        status=status,
    )


def cause_of(error: SowError) -> Cause:
    """Return the cause that an error before the start stands for."""
    match error:
        case StateError():
            return Cause.STATE_UNREADABLE
        case ExecutorBinaryNotFound():
            return Cause.MISSING_BINARY
        case ExecutorError():
            return Cause.SESSION_UNKNOWN  # its CLI could not make another
        case _:
            return Cause.CONFIGURATION


def persist_session(context: WorkerContext, running: Running) -> None:
    """Write the session that the output tells of into the task's state, if it is news there."""
    seen = running.output.seen
    if seen.session_id is None or running.task is None:
        return
    before = running.task
    if before.session_id == seen.session_id and (before.session_started or not has_begun(seen)):
        return
    running.task = change_under_lease(
        context, running.job, running.lease, lambda task: session_seen(task, running)
    )


def _judge(context: WorkerContext, running: Running, job: Job, exit_facts: Exit | None) -> Verdict:
    task: Task | StateError
    try:
        task = read_task(context.workspace, TaskId(job.task_id))
    except StateError as error:
        task = error
    evidence = Evidence(
        job=job,
        task=task,
        ending=ending_of(exit_facts, running.paths),
        seen=running.output.seen,
        ended_for=running.ended_for,
    )
    return judge(evidence, running.executor)


def _decide(context: WorkerContext, running: Running, job: Job, verdict: Verdict) -> Next:
    started = running.task is not None and running.task.session_started
    return decide(
        verdict.cause,
        job,
        now=context.now(),
        jitter=random.random(),  # noqa: S311 - spreads retries, guards nothing
        resets_at=verdict.resets_at or running.output.seen.resets_at,
        can_resume=running.executor.supports_resumption,
        session_started=started or has_begun(running.output.seen),
        on_quota=context.configuration.retry_on_quota,
    )


def _session_lost(running: Running, verdict: Verdict) -> Verdict:
    """Say what to do about a session that has started and that its CLI no longer knows."""
    job = running.job
    session_id = running.attempt.session_id or ""
    lost = SessionLost(job.executor.name, job.task_id, session_id, job.agent)
    return replace(verdict, reason=f"{lost.message}\n{lost.hint}")


def _record_ending(
    context: WorkerContext, running: Running, exit_facts: Exit | None, verdict: Verdict
) -> None:
    with leases.under(context.database, running.lease):
        jobs.change_attempt(
            context.database,
            running.job.id,
            running.attempt.number,
            cause=verdict.cause,
            reason=verdict.reason,
            exit_code=exit_facts.code if exit_facts else None,
            exit_signal=exit_facts.signal if exit_facts else None,
            session_id=running.output.seen.session_id or running.attempt.session_id,
            tool_uses=running.output.seen.told_tool_uses,
            cpu_seconds=exit_facts.cpu_seconds if exit_facts else None,
            max_rss_kb=exit_facts.max_rss_kb if exit_facts else None,
            ended_at=exit_facts.ended_at if exit_facts else context.now(),
        )


def _keep_for_later(context: WorkerContext, running: Running, exit_facts: Exit | None) -> None:
    """Keep an outcome in the records until its project is checked out again."""
    now = context.now()
    tell(running.job, "ended; kept until its project is checked out")
    ended_at = exit_facts.ended_at if exit_facts else None
    with leases.under(context.database, running.lease):
        jobs.change_attempt(
            context.database, running.job.id, running.attempt.number, ended_at=ended_at or now
        )
        leases.requeue(
            context.database,
            running.lease,
            state=JobState.BACKOFF,
            retry_at=now + ELSEWHERE_SECONDS,
            now=now,
            reason="its agent has ended; its project is not checked out",
        )


def _write_down(
    context: WorkerContext, running: Running, job: Job, verdict: Verdict, following: Next
) -> None:
    """Change the task as the step asks, then the job.

    A task that cannot be written any more (its folder is gone, say) ends its job as failed.
    """
    try:
        _follow(context, running, job, verdict, following)
    except StateLocked:
        raise
    except StateError as error:
        spent = _spent(job, running.attempt.number, running.output.seen, following)
        unwritable = Verdict(Cause.STATE_UNREADABLE, error.message)
        _finish(context, job, running, JobState.FAILED, unwritable, None, spent)


def _follow(
    context: WorkerContext, running: Running, job: Job, verdict: Verdict, following: Next
) -> None:
    if verdict.cause is Cause.STATE_UNREADABLE:
        restore_state(context, running)
    spent = _spent(job, running.attempt.number, running.output.seen, following)
    session = both(marks_session(running, verdict), clears_session)
    match following.step:
        case Step.RETRY | Step.PARK:
            again = both(session, lambda task: taken_again(task, context.now()))
            change_under_lease(context, job, running.lease, again)
            _again(context, job, running.lease, verdict, following, spent)
        case Step.DONE:
            task = change_under_lease(context, job, running.lease, session)
            _finish(context, job, running, JobState.DONE, verdict, task.status, spent)
        case Step.CANCEL:
            now = context.now()
            change = both(session, lambda task: interrupts(task, now))
            task = change_under_lease(context, job, running.lease, change)
            _finish(context, job, running, JobState.CANCELLED, verdict, task.status, spent)
        case Step.FAIL:
            now = context.now()
            change = both(session, lambda task: fails(task, now))
            task = change_under_lease(context, job, running.lease, change)
            log_failure(context, job, verdict.reason)
            _finish(context, job, running, JobState.FAILED, verdict, task.status, spent)


def _again(
    context: WorkerContext,
    job: Job,
    lease: Lease,
    verdict: Verdict,
    following: Next,
    spent: dict[str, Any],
) -> None:
    now = context.now()
    parked = following.step is Step.PARK
    waits = following.retry_at > now
    state = JobState.PARKED if parked else JobState.BACKOFF if waits else JobState.QUEUED
    when = f"until {format_time(following.retry_at)}" if parked else ""
    if waits and not parked:
        when = f"again in {format_duration(following.retry_at - now)}"
    tell(job, f"{verdict.cause}: {first_line(verdict.reason)}; {state} {when}".rstrip())
    leases.requeue(
        context.database,
        lease,
        state=state,
        retry_at=following.retry_at,
        now=now,
        cause=verdict.cause,
        reason=verdict.reason,
        **spent,
    )


def _finish(
    context: WorkerContext,
    job: Job,
    running: Running,
    state: JobState,
    verdict: Verdict,
    status: TaskStatus | None,
    spent: dict[str, Any],
) -> None:
    _end(
        context,
        job,
        running.lease,
        state,
        cause=verdict.cause,
        reason="" if state is JobState.DONE else verdict.reason,
        status=status,
        **spent,
    )


def _end(
    context: WorkerContext,
    job: Job,
    lease: Lease,
    state: JobState,
    *,
    cause: Cause,
    reason: str,
    status: TaskStatus | None,
    **spent: Any,
) -> None:
    """Commit a job's end, then ring those who wait for it."""
    now = context.now()
    took = format_duration(now - (job.started_at or now))
    told = f"{state}: {status or 'no status'} after {took}"
    tell(job, f"{told}: {first_line(reason)}" if reason else told)
    leases.settle(
        context.database,
        lease,
        state=state,
        cause=cause,
        reason=reason,
        outcome_status=status,
        ended_at=now,
        **spent,
    )
    waiters.ring_job(context.database, context.workspace, job.id)


def _spent(job: Job, number: int, seen: Observation, following: Next) -> dict[str, Any]:
    """Return what the step adds to the job's accounts."""
    spent: dict[str, Any] = {
        "settled": number,
        "retries": job.retries + following.retries,
        "worker_deaths": job.worker_deaths + following.worker_deaths,
    }
    if following.correction:
        spent["corrections"] = (*job.corrections, following.correction)
    if seen.denied_tools:
        spent["denied_tools"] = tuple(dict.fromkeys((*job.denied_tools, *seen.denied_tools)))
    if seen.cost_usd is not None:
        spent["cost_usd"] = (job.cost_usd or 0.0) + seen.cost_usd
    return spent
