"""Settles an attempt that has ended: judge, decide, write the records, ring.

Owns the order of the writes. The cause is recorded first, then the task's
state, then the job's end with its lease in one commit: a worker that dies in
between leaves a record from which the next one goes on. Where the task was reported,
the cause is part of that commit: the next worker would find the same by the task's status.
Every write is under the lease; a fenced worker changes nothing.

State and job are written in one critical section. The verdict is checked there
once more: if the task's status has changed since, or somebody has cancelled the
job, the attempt is judged again. By what an ending is judged, and what it changes
in the task, its kind answers (`worker.kinds`).
"""

from functools import partial

from sow.attempts.homes import has_folder
from sow.attempts.judge import CANCELLED
from sow.attempts.retry import Step
from sow.errors import StateError
from sow.executors.base import Verdict
from sow.jobs import jobs, leases
from sow.schema.job import Job, JobState
from worker.context import WorkerContext, tell
from worker.features import worker_features
from worker.hearing import CUT_OFF
from worker.job_end import Outdated, cancel_unstarted
from worker.kinds import worker_kind
from worker.kinds.base import Recording, WorkerKind, nothing
from worker.postponing import ELSEWHERE_SECONDS
from worker.running import Exit, Running
from worker.session_home import return_login
from worker.supervisor.lease_end import LIMIT

MOST_JUDGEMENTS = 5
"""How often in a row an attempt is judged whose task changes meanwhile."""


class NobodyElseRuns(Exception):
    """The other jobs have ended since: all files are to be looked at before this one ends, too."""


def settle_attempt(context: WorkerContext, running: Running) -> None:
    """Record how an attempt ended and what follows. Raises Fenced when it is not ours any more."""
    running.output.read_new(last=True)
    exit_facts = running.read_exit()
    if exit_facts is not None and exit_facts.limit == LIMIT and context.hearing.is_shared:
        # Where leases have no end, whoever wrote so was the agent, which would be run again for it.
        running.ended_for = running.ended_for or CUT_OFF
    if running.job.executor is not None and has_folder(context.workspace, running.job):
        return_login(context, running.job)
    kind = worker_kind(running.job)
    with context.database.reading():
        others_run = leases.is_any_other_leased(context.database, running.job.id)
        job = jobs.get_job(context.database, running.job.id)
    if not context.state.opens_after_end(
        job.project_id, job.task_id, running.over_since, others_run=others_run
    ):
        _keep_for_later(context, running, kind, exit_facts)
        return
    if running.job.executor is not None and running.job.executor.secret_names:
        # Few executors have any.
        from worker.secret_findings import log_findings

        log_findings(context, running)
    concluded = running.verdict or recorded(running)
    for _ in range(MOST_JUDGEMENTS):
        verdict = concluded or kind.judge(context, running, job, exit_facts)
        next_step = kind.decide(context, running, job, verdict)
        ending: Recording = partial(_conclude, context, running, kind, job, exit_facts, verdict)
        if next_step.step is not Step.DONE:
            ending()
            ending = nothing
        if others_run:
            ending = partial(_while_others_run, context, job, ending)
        running.verdict = verdict  # our own `failed` must not be read as a report, if we come back
        try:
            kind.write(context, running, job, verdict, next_step, ending)
        except Outdated:
            concluded = None
        except NobodyElseRuns:
            concluded, others_run = verdict, False
            context.state.look()
        else:
            return
        job = jobs.get_job(context.database, job.id)
    raise StateError(
        f"the status of task {running.job.task_id} changed while sow ended its job",
        hint="sow tries again automatically.",
    )


def _while_others_run(context: WorkerContext, job: Job, ending: Recording) -> None:
    """Do as `ending`, in the transaction that ends the job. Raises NobodyElseRuns."""
    if not leases.is_any_other_leased(context.database, job.id):
        raise NobodyElseRuns
    ending()


def _conclude(
    context: WorkerContext,
    running: Running,
    kind: WorkerKind,
    job: Job,
    exit_facts: Exit | None,
    verdict: Verdict,
) -> None:
    """Put on record how an attempt has ended, and tell the features."""
    _record_ending(context, running, kind, exit_facts, verdict)
    for feature in worker_features():
        feature.on_settled(context, job)


def recorded(running: Running) -> Verdict | None:
    """Return the verdict that a worker wrote down before it died, if one did."""
    if running.attempt.cause is None:
        return None
    return Verdict(running.attempt.cause, running.attempt.reason)


def _record_ending(
    context: WorkerContext,
    running: Running,
    kind: WorkerKind,
    exit_facts: Exit | None,
    verdict: Verdict | None,
) -> None:
    """Put on record how an attempt has ended, and what it has used; why, where that is judged."""
    ended_at = running.ended_at(exit_facts, now=context.now())
    cause = verdict.cause if verdict is not None else None
    with leases.under(context.database, running.lease):
        running.note_last_usage(context.database, cause, ended_at=ended_at)
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
            **kind.facts(running),
        )
        if running.guest is not None:
            # Few queues are shared.
            from worker.guests import tell_work

            tell_work(context, running)


def _keep_for_later(
    context: WorkerContext, running: Running, kind: WorkerKind, exit_facts: Exit | None
) -> None:
    """Keep an outcome in the records until its project is checked out again.

    Why it has ended is judged then. What it has used counts from now on, and its share is free.
    """
    now = context.now()
    concluded = running.verdict or recorded(running)
    try:
        with leases.under(context.database, running.lease):
            _record_ending(context, running, kind, exit_facts, concluded)
            leases.requeue(
                context.database,
                running.lease,
                state=JobState.BACKOFF,
                retry_at=now + ELSEWHERE_SECONDS,
                now=now,
                reason="its agent has ended; its project is not checked out",
            )
    except leases.EndIsAsked:
        _record_ending(context, running, kind, exit_facts, CANCELLED)
        cancel_unstarted(context, running.job, running.lease)
    else:
        tell(running.job, "ended; kept until its project is checked out")
