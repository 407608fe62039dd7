"""From an attempt that has ended to what stands in the records: judge, decide, write, ring.

Owns the order of the writes. The cause is recorded first, then the task's
state, then the job's end with its lease in one commit: a worker that dies in
between leaves a record from which the next one goes on. Every write is under
the lease; a fenced worker changes nothing.

State and job are written in one critical section, under the task's lock. What
was concluded is looked at there once more: an attempt whose task stands
otherwise by then, or whose job somebody has cancelled, is judged again.
"""

from collections.abc import Mapping
from typing import Any

from sow.attempts.judge import CANCELLED
from sow.attempts.retry import Next, Step
from sow.clock import format_duration
from sow.errors import StateError
from sow.executors.base import Verdict
from sow.faults import passing_fault
from sow.jobs import jobs, leases
from sow.schema.causes import Cause
from sow.schema.job import Job, JobState, Lease
from sow.schema.kinds import kind_of
from sow.schema.task import Task, TaskStatus
from sow.state.transitions import NO_REPORTS
from sow.state.verdicts import addressed
from worker.context import WorkerContext, tell
from worker.decision import decide_next, judge_ending, spent_by
from worker.job_end import cancel_unstarted, end, end_unwritten, tell_of_end
from worker.postponing import ELSEWHERE_SECONDS, is_checked_out
from worker.running import Exit, Running, read_exit
from worker.task_state import (
    both,
    change_under_lease,
    clears_session,
    fails,
    first_line,
    has_begun,
    has_finished_turn,
    has_transcript,
    interrupts,
    log_failure,
    marks_session,
    put_on_record,
    restore_state,
    session_seen,
)

MOST_JUDGEMENTS = 5
"""How often in a row an attempt is judged whose task changes meanwhile."""


def settle_attempt(context: WorkerContext, running: Running) -> None:
    """Record how an attempt ended and what follows. Raises Fenced when it is not ours any more."""
    running.output.read_new(last=True)
    exit_facts = read_exit(running.paths)
    context.guard.look(since=running.over_since)
    if not is_checked_out(context, running.job):
        _keep_for_later(context, running, exit_facts)
        return
    concluded = running.verdict or recorded(running)
    for _ in range(MOST_JUDGEMENTS):
        job = jobs.get_job(context.database, running.job.id)
        verdict = concluded or judge_ending(context, running, job, exit_facts)
        following = decide_next(context, running, job, verdict)
        _record_ending(context, running, exit_facts, verdict)
        running.verdict = verdict  # our own `failed` must not be read as a report, if we come back
        try:
            _write_down(context, running, job, verdict, following)
        except Outdated:
            concluded = None
        else:
            return
    raise StateError(
        f"the status of task {running.job.task_id} changes while its job is settled",
        hint="It is tried again by itself.",
    )


class Outdated(Exception):
    """The task, or the wish of a person, is not what the verdict was found on any more."""


def recorded(running: Running) -> Verdict | None:
    """Return the verdict that a worker wrote down before it died, if one did."""
    if running.attempt.cause is None:
        return None
    return Verdict(running.attempt.cause, running.attempt.reason)


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
            transcript_seen=running.attempt.transcript_seen or has_transcript(running),
            finished_turn=has_finished_turn(running.output.seen),
            tool_uses=running.output.seen.told_tool_uses,
            cpu_seconds=exit_facts.cpu_seconds if exit_facts else None,
            max_rss_kb=exit_facts.max_rss_kb if exit_facts else None,
            ended_at=exit_facts.ended_at if exit_facts else context.now(),
        )


def _keep_for_later(context: WorkerContext, running: Running, exit_facts: Exit | None) -> None:
    """Keep an outcome in the records until its project is checked out again."""
    now = context.now()
    attempt = (running.job.id, running.attempt.number)
    ended_at = exit_facts.ended_at if exit_facts else None
    try:
        with leases.under(context.database, running.lease):
            jobs.change_attempt(context.database, *attempt, ended_at=ended_at or now)
            leases.requeue(
                context.database,
                running.lease,
                state=JobState.BACKOFF,
                retry_at=now + ELSEWHERE_SECONDS,
                now=now,
                reason="its agent has ended; its project is not checked out",
            )
    except leases.EndIsAsked:
        _record_ending(context, running, exit_facts, CANCELLED)
        cancel_unstarted(context, running.job, running.lease)
    else:
        tell(running.job, "ended; kept until its project is checked out")


def _write_down(
    context: WorkerContext, running: Running, job: Job, verdict: Verdict, following: Next
) -> None:
    """Change the task as the step asks, and the job with it. Raises Outdated.

    A task that cannot be written any more (its folder is gone, say) ends its job as failed.
    """
    spent = spent_by(job, running, verdict, following)
    try:
        _follow(context, running, job, verdict, following, spent)
    except StateError as error:
        if passing_fault(error) is not None:
            raise  # nothing is wrong with the task: it is written later
        unwritable = Verdict(Cause.STATE_UNREADABLE, error.message)
        end_unwritten(context, job, running.lease, unwritable, **spent)


def _follow(
    context: WorkerContext,
    running: Running,
    job: Job,
    verdict: Verdict,
    following: Next,
    spent: dict[str, Any],
) -> None:
    if verdict.cause is Cause.STATE_UNREADABLE:
        restore_state(context, running)
    _take_back(context, running, job)
    now = context.now()
    session = both(marks_session(running, verdict), clears_session)
    is_final = False

    def change(task: Task) -> Mapping[str, Any]:
        _refuse_outdated(context, job, following.step, task)
        match following.step:
            case Step.CANCEL:
                return both(session, lambda task: interrupts(task, now))(task)
            case Step.FAIL:
                return both(session, lambda task: fails(task, now))(task)
            case Step.DONE if kind_of(job).makes_work:
                return both(session, addressed)(task)
            case _:
                return session(task)

    def record(task: Task) -> None:
        nonlocal is_final
        state = FINAL_STATES_OF.get(following.step)
        is_final = state is not None
        if state is None:
            _again(context, job, running.lease, verdict, following, spent)
        else:
            end(context, running.lease, state, verdict, task.status, **spent)

    if following.step is Step.FAIL:
        change_under_lease(context, job, running.lease, change)
        log_failure(context, job, verdict.reason)
    change_under_lease(context, job, running.lease, change, record)
    if is_final:
        tell_of_end(context, job)


FINAL_STATES_OF = {
    Step.DONE: JobState.DONE,
    Step.FAIL: JobState.FAILED,
    Step.CANCEL: JobState.CANCELLED,
}
"""How a job ends by the steps that end one."""


def _refuse_outdated(context: WorkerContext, job: Job, step: Step, task: Task) -> None:
    """Raise Outdated where an attempt is to be judged again; asked in the critical section.

    Only a report ends a job as done, and nothing else follows one. A job that
    somebody has cancelled is neither tried again nor called failed. A task
    that is `failed` by our own hand is no report: a worker died before the commit.
    """
    if task.status is TaskStatus.PENDING:  # put back in this very moment
        raise Outdated(task.status)
    failed_by_us = step is Step.FAIL and task.status is TaskStatus.FAILED
    if step is Step.CANCEL or failed_by_us:
        return
    reported = task.status not in NO_REPORTS
    if reported is not (step is Step.DONE):
        raise Outdated(task.status)
    if step is not Step.DONE:
        try:
            leases.refuse_if_asked(context.database, job.id)
        except leases.EndIsAsked as error:
            raise Outdated from error


def _take_back(context: WorkerContext, running: Running, job: Job) -> None:
    """See to it that what is written next may follow the task's status."""
    seen = running.output.seen
    session_id = seen.session_id or running.attempt.session_id
    put_on_record(context, job, running.lease, session_id, started=has_begun(seen))


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
    when = f"again in {format_duration(following.retry_at - now)}" if waits else ""
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
