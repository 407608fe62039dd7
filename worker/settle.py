"""From an attempt that has ended to what stands in the records: judge, decide, write, ring.

Owns the order of the writes. The cause is recorded first, then the task's
state, then the job's end with its lease in one commit: a worker that dies in
between leaves a record from which the next one goes on. Every write is under
the lease; a fenced worker changes nothing.

State and job are written in one critical section. What was concluded is looked
at there once more: an attempt whose task stands otherwise by then, or whose job
somebody has cancelled, is judged again. What an ending is judged by and what it
does to the task is its kind's: `agent_end`, `review_end` or `step_end`.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from sow.attempts.judge import CANCELLED
from sow.attempts.retry import Next
from sow.errors import StateError
from sow.executors.base import Verdict
from sow.jobs import jobs, leases
from sow.schema.job import Job, JobState
from sow.schema.kinds import JobKind, kind_of
from worker import agent_end, review_end, step_end
from worker.budgeting import warn
from worker.context import WorkerContext, tell
from worker.following import Outdated
from worker.job_end import cancel_unstarted
from worker.metering import note_last_usage
from worker.postponing import ELSEWHERE_SECONDS, is_checked_out
from worker.running import Exit, Running, end_of, read_exit

MOST_JUDGEMENTS = 5
"""How often in a row an attempt is judged whose task changes meanwhile."""


class Ending(NamedTuple):
    """What differs between the endings of an author, of a reviewer and of a program of ours."""

    judge: Callable[[WorkerContext, Running, Job, Exit | None], Verdict]
    """Returns why the attempt ended."""
    decide: Callable[[WorkerContext, Running, Job, Verdict], Next]
    """Returns what follows."""
    facts: Callable[[Running], Mapping[str, Any]]
    """Returns what else goes on the attempt's record."""
    write: Callable[[WorkerContext, Running, Job, Verdict, Next], None]
    """Changes task and job together. Raises Outdated where that was concluded from what no more
    holds."""


AGENTS = Ending(
    agent_end.judge_ending, agent_end.decide_next, agent_end.facts_of, agent_end.write_down
)
REVIEWERS = Ending(
    review_end.judge_ending, review_end.decide_next, review_end.facts_of, review_end.write_down
)
STEPS = Ending(step_end.judge_ending, step_end.decide_next, step_end.facts_of, step_end.write_down)


def settle_attempt(context: WorkerContext, running: Running) -> None:
    """Record how an attempt ended and what follows. Raises Fenced when it is not ours any more."""
    running.output.read_new(last=True)
    exit_facts = read_exit(running)
    context.guard.look(since=running.over_since)
    ending = _ending_of(kind_of(running.job))
    if not is_checked_out(context, running.job):
        _keep_for_later(context, running, ending, exit_facts)
        return
    concluded = running.verdict or recorded(running)
    for _ in range(MOST_JUDGEMENTS):
        job = jobs.get_job(context.database, running.job.id)
        verdict = concluded or ending.judge(context, running, job, exit_facts)
        following = ending.decide(context, running, job, verdict)
        _record_ending(context, running, ending, exit_facts, verdict)
        warn(context, job)
        running.verdict = verdict  # our own `failed` must not be read as a report, if we come back
        try:
            ending.write(context, running, job, verdict, following)
        except Outdated:
            concluded = None
        else:
            return
    raise StateError(
        f"the status of task {running.job.task_id} changes while its job is settled",
        hint="It is tried again by itself.",
    )


def _ending_of(kind: JobKind) -> Ending:
    if not kind.is_agents:
        return STEPS
    return AGENTS if kind.makes_work else REVIEWERS


def recorded(running: Running) -> Verdict | None:
    """Return the verdict that a worker wrote down before it died, if one did."""
    if running.attempt.cause is None:
        return None
    return Verdict(running.attempt.cause, running.attempt.reason)


def _record_ending(
    context: WorkerContext,
    running: Running,
    ending: Ending,
    exit_facts: Exit | None,
    verdict: Verdict | None,
) -> None:
    """Put on record how an attempt has ended, and what it has used; why, where that is judged."""
    ended_at = end_of(exit_facts, running.attempt, now=context.now())
    cause = verdict.cause if verdict is not None else None
    with leases.under(context.database, running.lease):
        note_last_usage(context, running, cause, ended_at=ended_at)
        jobs.change_attempt(
            context.database,
            running.job.id,
            running.attempt.number,
            cause=cause,
            reason=verdict.reason if verdict is not None else "",
            exit_code=exit_facts.code if exit_facts else None,
            exit_signal=exit_facts.signal if exit_facts else None,
            cpu_seconds=exit_facts.cpu_seconds if exit_facts else None,
            max_rss_kb=exit_facts.max_rss_kb if exit_facts else None,
            ended_at=ended_at,
            **ending.facts(running),
        )


def _keep_for_later(
    context: WorkerContext, running: Running, ending: Ending, exit_facts: Exit | None
) -> None:
    """Keep an outcome in the records until its project is checked out again.

    Why it has ended is judged then. What it has used counts from now on, and its share is free.
    """
    now = context.now()
    concluded = running.verdict or recorded(running)
    try:
        with leases.under(context.database, running.lease):
            _record_ending(context, running, ending, exit_facts, concluded)
            leases.requeue(
                context.database,
                running.lease,
                state=JobState.BACKOFF,
                retry_at=now + ELSEWHERE_SECONDS,
                now=now,
                reason="its agent has ended; its project is not checked out",
            )
    except leases.EndIsAsked:
        _record_ending(context, running, ending, exit_facts, CANCELLED)
        cancel_unstarted(context, running.job, running.lease)
    else:
        tell(running.job, "ended; kept until its project is checked out")
