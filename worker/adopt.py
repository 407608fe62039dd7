"""Taking a lease over: an attempt that another worker began goes under our watch.

Owns what is made of a lease whose attempt this worker did not start itself. It
does not ask whether the agent still runs: the monitor treats an attempt that
has ended like one that ends now.
"""

import random
import time
from contextlib import suppress

from sow.attempts.homes import home_variables
from sow.attempts.launch import executor_variables, inherited_by
from sow.attempts.retry import Step, after_death
from sow.environment import agent_environment
from sow.errors import QueueError, SowError, StateError
from sow.executors.registry import make_executor
from sow.ids import TaskId
from sow.jobs import attempt_evidence, jobs, leases, spending, workers
from sow.processes import process_facts
from sow.schema.causes import Cause
from sow.schema.job import Attempt, Job, JobState, Lease
from sow.schema.task import Task
from sow.state.tasks import read_task
from worker.blame import NOT_COUNTED, excuse_by_others
from worker.context import WorkerContext, tell
from worker.job_end import cancel_unstarted, fail_before_start
from worker.running import Running, output_reader
from worker.watchdog import quiet_at_adoption

IN_DOUBT = (
    "it cannot be told from here whether its agent still runs: it began in another pid namespace"
    " (a container, say), and no lock tells."
)
UNHEARD = "its host was not heard for too long"
"""How an attempt ended that ran where nobody can look from here."""


def adopt(context: WorkerContext, lease: Lease, *, excuse: str = "") -> Running | None:
    """Return the job's unsettled attempt for the monitor; where none was begun, requeue the job.

    So it is with one that ran on another host: nobody can watch it here.

    `excuse` says why the death of its worker cannot be the job's fault, where that is known.
    """
    job = jobs.get_job(context.database, lease.job_id)
    if context.database.is_shared:
        # Few queues are shared.
        from worker.guests import context_for

        context = context_for(context, job)
    attempt = jobs.last_attempt(context.database, job.id)
    if attempt is None or attempt.number <= job.settled:
        _put_back(context, lease, excuse)
        return None
    if context.database.is_shared and context.database.is_elsewhere(attempt.worker_id):
        _go_on_from_elsewhere(context, lease, job, attempt)
        return None
    paths = context.workspace.attempt(job.id, attempt.number)
    executor = make_executor(job.executor) if job.executor is not None else None
    tell(job, f"adopted: attempt {attempt.number}")
    with suppress(OSError, QueueError):  # what is wrong there, the first look tells
        if attempt_evidence.is_in_doubt(attempt, paths):
            tell(job, f"{IN_DOUBT} `sow job explain {job.id}` says what to do")
    with suppress(OSError):  # the next beat tells what is wrong there
        context.hearing.renew_lease(str(paths.folder))
    running = Running(
        lease=lease,
        job=job,
        attempt=attempt,
        task=_task(context, TaskId(job.task_id)) if job.task_id else None,
        paths=paths,
        executor=executor,
        output=output_reader(context, job, paths.output, executor, attempt.session_id),
        environ=_environment(context, job),
        excuse=excuse,
        guest=context if context.workspace.host is not None else None,
        begun_at=time.monotonic() - _age_seconds(attempt, now=context.now()),
    )
    running.alive_at -= quiet_at_adoption(running, now=context.now())
    return running


def _age_seconds(attempt: Attempt, *, now: float) -> float:
    """Return for how long an attempt has run; never longer than its supervisor, if that is known.

    The clock may have been set forward since; nobody is timed out by that.
    """
    age = max(0.0, now - attempt.created_at)
    known = (
        process_facts.age_seconds(attempt.supervisor) if attempt.supervisor is not None else None
    )
    return age if known is None else min(age, known)


def _task(context: WorkerContext, task_id: TaskId) -> Task | None:
    try:
        return read_task(context.workspace, task_id)
    except StateError:
        return None


def _environment(context: WorkerContext, job: Job) -> dict[str, str]:
    """Return what tells where the agent's CLI keeps its sessions; `env` may have gone meanwhile."""
    if job.executor is None:
        return agent_environment(context.environ)
    environ = inherited_by(job, context.environ)
    with suppress(SowError):
        environ |= executor_variables(job, context.environ)
    return environ | home_variables(context.workspace, job)


def _go_on_from_elsewhere(context: WorkerContext, lease: Lease, job: Job, attempt: Attempt) -> None:
    """Queue a job again whose attempt ran on another host, which was not heard for too long.

    Its agent has ended before that (`worker.heartbeat`). What it has written lies there, and
    nothing of it is looked for here. That host may have said how the attempt ended, and no more.
    """
    now = context.now()
    next_step = after_death(
        job,
        most=context.configuration.retry_worker_deaths,
        excused=True,
        now=now,
        jitter=random.random(),  # noqa: S311 - as below
    )
    reason = f"{UNHEARD}; {NOT_COUNTED}the machine or its network may be the cause"
    try:
        with leases.under(context.database, lease):
            spending.close_attempt(context.database, job.id, Cause.WORKER_DIED, reason, now=now)
            leases.requeue(
                context.database,
                lease,
                state=JobState.BACKOFF if next_step.retry_at > now else JobState.QUEUED,
                retry_at=next_step.retry_at,
                now=now,
                settled=attempt.number,
                excused_deaths=job.excused_deaths + next_step.excused_deaths,
            )
    except leases.EndIsAsked:
        cancel_unstarted(context, job, lease)
        return
    tell(job, f"queued again: {UNHEARD}")
    workers.wake(context.workspace)


def _put_back(context: WorkerContext, lease: Lease, excuse: str) -> None:
    """Queue a job again whose worker died before it began the next attempt."""
    job = jobs.get_job(context.database, lease.job_id)
    excuse = excuse or excuse_by_others(context, job.id)
    now = context.now()
    next_step = after_death(
        job,
        most=context.configuration.retry_worker_deaths,
        excused=bool(excuse),
        now=now,
        jitter=random.random(),  # noqa: S311 - spreads retries, guards nothing
    )
    if next_step.step is Step.FAIL:
        deaths = job.worker_deaths + next_step.worker_deaths
        error = SowError(
            f"set aside: its worker died {deaths} times in a row before it could start"
        )
        fail_before_start(context, job, lease, error, cause=Cause.WORKER_DIED)
        return
    retry_at = next_step.retry_at
    if job.waits_since <= now:  # else the clock was set back, and what it says of then is void
        retry_at = max(job.retry_at, retry_at)
    try:
        leases.requeue(
            context.database,
            lease,
            state=JobState.BACKOFF if next_step.retry_at > now else JobState.QUEUED,
            retry_at=retry_at,
            now=now,
            worker_deaths=job.worker_deaths + next_step.worker_deaths,
            excused_deaths=job.excused_deaths + next_step.excused_deaths,
        )
    except leases.EndIsAsked:
        cancel_unstarted(context, job, lease)
        return
    tell(job, "queued again: its worker died" + (f"; {NOT_COUNTED}{excuse}" if excuse else ""))
    workers.wake(context.workspace)
