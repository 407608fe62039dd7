"""From an attempt that has ended to what stands in the records: judge, decide, write, ring.

Owns the order of the writes. The cause is recorded first, then the task's
state, then the job's end with its lease in one commit: a worker that dies in
between leaves a record from which the next one goes on. Every write is under
the lease; a fenced worker changes nothing.
"""

import random
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import UNSET

from sow.clock import format_duration, format_time
from sow.errors import SowError, StateError
from sow.executors.base import Observation, Verdict
from sow.ids import TaskId
from sow.jobs import jobs, leases, waiters, workers
from sow.schema.job import Cause, Job, JobState, Lease
from sow.schema.task import SessionFacts, Task, TaskStatus
from sow.state import transitions
from sow.state.log import LogEntry, append_entry
from sow.state.projects import read_project
from sow.state.tasks import change_task, find_task, read_task
from worker.context import WorkerContext, tell
from worker.judge import Evidence, judge
from worker.retry import Next, Step, decide
from worker.running import Exit, Running, ending_of, read_exit

NEVER_BEGAN = frozenset(
    {
        Cause.SESSION_IN_USE,
        Cause.SESSION_UNKNOWN,
        Cause.MISSING_BINARY,
        Cause.BAD_FLAGS,
        Cause.WORKER_DIED,
        Cause.WORKER_STOPPED,
    }
)
"""Endings that do not show that the CLI began the session."""

ELSEWHERE_SECONDS = 30.0

Change = Callable[[Task], Mapping[str, Any]]


def settle_attempt(context: WorkerContext, running: Running) -> None:
    """Record how an attempt ended and what follows. Raises Fenced when it is not ours any more."""
    running.output.read_new(last=True)
    exit_facts = read_exit(running.paths)
    if read_project(context.workspace).id != running.job.project_id:
        _keep_for_later(context, running, exit_facts)
        return
    job = jobs.get_job(context.database, running.job.id)
    verdict = recorded(running) or _judge(context, running, job, exit_facts)
    following = _decide(context, running, job, verdict)
    _record_ending(context, running, exit_facts, verdict)
    _write_down(context, running, job, verdict, following)
    workers.wake(context.workspace)


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
    reason = error.message
    _change(context, job, lease, lambda task: _failed(task, context.now()))
    _log_failure(context, job, reason)
    _end(
        context,
        job,
        lease,
        JobState.FAILED,
        cause=cause or Cause.MISSING_BINARY,
        reason=reason,
        status=TaskStatus.FAILED,
    )


def persist_session(context: WorkerContext, running: Running) -> None:
    """Write the session that the output tells of into the task's state, if it is news there."""
    seen = running.output.seen
    if seen.session_id is None or running.task is None:
        return
    before = running.task
    if before.session_id == seen.session_id and (before.session_started or not has_begun(seen)):
        return
    running.task = _change(
        context, running.job, running.lease, lambda task: _session_seen(task, running)
    )


def has_begun(seen: Observation) -> bool:
    """Whether the output shows that the CLI keeps the session: its first event alone does not."""
    return bool(seen.tool_uses or seen.last_text or seen.result)


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
        worker_stopped=running.worker_stopped,
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
    """Change the task as the step asks, then the job."""
    if verdict.cause is Cause.STATE_UNREADABLE:
        _restore_state(context, running)
    spent = _spent(job, running.attempt.number, running.output.seen, following)
    session = _marks_session(running, verdict)
    match following.step:
        case Step.RETRY | Step.PARK:
            _change(context, job, running.lease, session)
            _again(context, job, running.lease, verdict, following, spent)
        case Step.DONE:
            task = _change(context, job, running.lease, _both(session, _clears_session))
            _finish(context, job, running, JobState.DONE, verdict, task.status, spent)
        case Step.CANCEL:
            now = context.now()
            change = _both(session, lambda task: _interrupted(task, now))
            task = _change(context, job, running.lease, change)
            _finish(context, job, running, JobState.CANCELLED, verdict, task.status, spent)
        case Step.FAIL:
            now = context.now()
            change = _both(session, lambda task: _failed(task, now))
            task = _change(context, job, running.lease, change)
            _log_failure(context, job, verdict.reason)
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
    tell(job, f"{verdict.cause}: {_first_line(verdict.reason)}; {state} {when}".rstrip())
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
    status: TaskStatus,
    spent: dict[str, Any],
) -> None:
    denied = running.output.seen.denied_tools
    if denied:
        spent["denied_tools"] = tuple(dict.fromkeys((*job.denied_tools, *denied)))
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
    status: TaskStatus,
    **spent: Any,
) -> None:
    """Commit a job's end, then ring those who wait for it."""
    now = context.now()
    took = format_duration(now - (job.started_at or now))
    tell(job, f"{state}: {status} after {took}" + (f": {_first_line(reason)}" if reason else ""))
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
    if seen.cost_usd is not None:
        spent["cost_usd"] = (job.cost_usd or 0.0) + seen.cost_usd
    return spent


def _change(context: WorkerContext, job: Job, lease: Lease, change: Change) -> Task:
    """Change the task's state while the lease is ours."""

    def guarded(task: Task) -> Mapping[str, Any]:
        current = leases.lease_of(context.database, job.id)
        if current is None or current.token != lease.token:
            raise leases.Fenced(job.id)
        return change(task)

    return change_task(context.workspace, TaskId(job.task_id), guarded, now=context.now())


def _both(first: Change, second: Change) -> Change:
    """Return the change that makes both; where they touch the same field, the second wins."""
    return lambda task: {**first(task), **second(task)}


def _marks_session(running: Running, verdict: Verdict) -> Change:
    """Return the change that says what the attempt has shown of its session."""

    def change(task: Task) -> Mapping[str, Any]:
        if running.output.seen.session_id is not None:
            return _session_seen(task, running)
        if running.attempt.session_id is None or verdict.cause in NEVER_BEGAN:
            return {}
        reads_events = has_begun(running.output.seen) or verdict.cause is Cause.REPORTED
        return _session(task, running, running.attempt.session_id, started=reads_events)

    return change


def _session_seen(task: Task, running: Running) -> Mapping[str, Any]:
    seen = running.output.seen
    assert seen.session_id is not None  # noqa: S101 - asked for only then
    return _session(task, running, seen.session_id, started=has_begun(seen))


def _session(task: Task, running: Running, session_id: str, *, started: bool) -> Mapping[str, Any]:
    """Return the fields that put a session on record; what has started stays started."""
    if task.status in transitions.TERMINAL:
        return {}
    same = task.session_id == session_id
    dialect = task.session.dialect if task.session is not UNSET else UNSET
    facts = SessionFacts(
        executor=running.job.executor.name,
        cwd=running.job.cwd,
        started=started or (same and task.session_started),
        dialect=dialect,
    )
    return {"session_id": session_id, "session": facts}


def _clears_session(task: Task) -> Mapping[str, Any]:
    """Return what ends the session of a task that its own agent has ended."""
    return transitions.clear_session(task) if task.status in transitions.TERMINAL else {}


def _failed(task: Task, now: float) -> Mapping[str, Any]:
    if task.status is not TaskStatus.IN_PROGRESS:
        return {}
    return transitions.enter(task, TaskStatus.FAILED, now=now)


def _interrupted(task: Task, now: float) -> Mapping[str, Any]:
    if task.status is not TaskStatus.IN_PROGRESS:
        return {}
    return transitions.enter(task, TaskStatus.PAUSED, now=now)


def _log_failure(context: WorkerContext, job: Job, reason: str) -> None:
    place = find_task(context.workspace, TaskId(job.task_id))
    entry = LogEntry(
        timestamp=format_time(context.now()),
        agent="sow",
        action=f"Job {job.id} failed: {_first_line(reason)}",
        result="failure",
        text=reason if "\n" in reason else "",
    )
    append_entry(place.folder, entry)


def _restore_state(context: WorkerContext, running: Running) -> None:
    """Keep what the agent made of state.yaml, and put the last valid version back."""
    from sow.files import write_atomically

    state = find_task(context.workspace, TaskId(running.job.task_id)).folder / "state.yaml"
    if state.exists():
        state.replace(state.with_name(f"state.yaml.invalid-{running.attempt.id}"))
    write_atomically(state, running.paths.last_valid_state.read_bytes())


def _first_line(text: str) -> str:
    return text.strip().splitlines()[0] if text.strip() else ""
