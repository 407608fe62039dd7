"""What dead workers and dead callers left behind, found and put right.

Owns the search; it runs at a worker's start and whenever its claim has slept
for a while. What proves a worker dead is `workers.life_of`'s to say; a caller is
dead when its process is. Of another host's worker the deadlines of its leases
decide, and its callers are that host's to see to. Knows nothing of how an attempt
is judged.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from sow.calls.ending import carry_out_recorded, sweep_ended
from sow.calls.job_end import finish, give_back, is_abandoned, is_deserted, release
from sow.errors import QueueError, SowError, StateError
from sow.faults import reason_of
from sow.ids import JobId, WorkerId
from sow.jobs import attempt_evidence, jobs, leases, waiters, workers
from sow.jobs.end_entries import log_ends
from sow.jobs.faults import QueueChanged
from sow.jobs.hosts import is_queued_elsewhere
from sow.jobs.run_names import worker_locks
from sow.processes.life import Life
from sow.schema.job import Job, Lease, WorkerRecord
from worker.adopt import adopt
from worker.blame import excuse_by_boot, excuse_by_count
from worker.context import WorkerContext, logger, tell
from worker.job_end import cancel_unstarted
from worker.monitor import Monitor
from worker.postponing import put_off
from worker.registration import clear_drafts


def recover(context: WorkerContext, monitor: Monitor) -> None:
    """Take over what dead workers held, finish what dead callers began.

    It runs on the thread that starts jobs, so that no start of our own is
    under way meanwhile. What is wrong with one file or record keeps nobody
    from the others.
    """
    records = {
        record.id: record
        for record in workers.registered(context.database, context.reported_once.skip)
    }
    dead, expired = _proved_dead(context, records)
    for worker_id in expired:
        _replace_expired(context, worker_id, monitor)
    for worker_id in dead:
        record = records.get(worker_id)
        process = record.process if record is not None else None
        excuse = excuse_by_boot(process, context.workspace.run) or excuse_by_count(len(dead))
        try:
            _replace(context, worker_id, monitor, excuse)
        except OSError as error:
            context.reported_once.tell(
                f"worker {worker_id} is dead; its files cannot be removed: {error}"
            )
    for lease in leases.leases_of(context.database, context.worker_id):
        if not monitor.watches(lease.job_id):
            with _boundary(lease.job_id):
                _take_up_again(context, lease, monitor)
    for job in jobs.held_by_callers(context.database, context.reported_once.skip):
        with _boundary(job.id):
            if not _is_of_another_host(context, job):
                _see_to_caller(context, job)
    for job in jobs.without_row(context.database, context.reported_once.skip):
        _ensure_row(context, job)
    give_back_tasks(context)
    log_ends(context.workspace, context.database, context.told_ends)
    end_recorded(context)
    clear_drafts(context.workspace)


def end_recorded(context: WorkerContext) -> None:
    """End the project where its own orchestrator has asked for that, and that job has ended."""
    try:
        sweep_ended(context.workspace, context.database, now=context.now())
        where = carry_out_recorded(context.workspace, context.database, now=context.now())
    except StateError as error:
        logger.warning("the project cannot be ended yet: %s", error.message)
    else:
        if where is not None:
            logger.info("the project has ended; it is in %s", where)


def give_back_tasks(context: WorkerContext) -> None:
    """Give back the tasks of jobs that have ended, where whoever ended the job died before."""
    for job in jobs.owing(context.database, context.reported_once.skip):
        if _is_of_another_host(context, job):
            continue
        try:
            done = give_back(context.workspace, context.database, job, now=context.now())
        except StateError as error:
            tell(job, f"it has ended; its task cannot be updated yet: {error.message}")
        except QueueError:
            raise
        except Exception:
            logger.exception("job %s has ended; its task cannot be updated yet", job.id)
        else:
            if done:
                waiters.ring_job(context.database, context.workspace, job.id)
                tell(job, f"its task is updated: {job.state}")


def _is_of_another_host(context: WorkerContext, job: Job) -> bool:
    """Whether a job was queued from another host, where its call and the state of its task are."""
    return context.database.is_shared and is_queued_elsewhere(context.database, job.id)


def _proved_dead(
    context: WorkerContext, records: Mapping[WorkerId, WorkerRecord]
) -> tuple[list[WorkerId], list[WorkerId]]:
    """Return the workers that are on record, hold leases or have left a file, and are proved dead.

    `workers.life_of` says what proves it. Of those of which nobody can tell, and of other hosts'
    workers, the second list has the ones whose leases have all passed their deadlines; any other is
    left alone.
    """
    known = set(records) | leases.lease_owners(context.database)
    known |= set(worker_locks(context.workspace.workers))
    known -= {context.worker_id, *context.reported_once.workers}
    dead, expired = [], []
    for worker_id in sorted(known):
        life = workers.life_of(
            context.database, context.workspace, worker_id, records.get(worker_id)
        )
        if context.database.is_shared and context.database.is_elsewhere(worker_id):
            if _may_be_replaced(context, worker_id, life):
                expired.append(worker_id)
        elif life is Life.DEAD:
            dead.append(worker_id)
        elif life is Life.UNVERIFIABLE and leases.have_expired(context.database, worker_id):
            expired.append(worker_id)
        elif life is Life.UNVERIFIABLE:
            context.reported_once.tell(
                f"worker {worker_id}: sow cannot see whether it still runs, so its jobs are not"
                " touched. If it no longer runs, `sow job resolve JOB --gone` continues a job"
                " that it had"
            )
    return dead, expired


def _may_be_replaced(context: WorkerContext, worker_id: WorkerId, life: Life) -> bool:
    """Whether another host's worker was not heard for too long, and with it what it holds."""
    if worker_id in leases.lease_owners(context.database):
        return leases.have_expired(context.database, worker_id)
    return life is Life.DEAD


def _replace_expired(context: WorkerContext, silent: WorkerId, monitor: Monitor) -> None:
    """Take over what a worker holds of which nobody can tell, once its deadlines have passed.

    Its agents have ended before (`worker.heartbeat`, `worker.supervisor.lease_end`), so their
    attempts are given up, as a person gives one up by `sow job resolve`. One of this host whose
    lock is held lives all the same, and is watched.
    """
    taken = leases.take_over(
        context.database, silent, context.worker_id, now=context.now(), if_expired=True
    )
    if not leases.leases_of(context.database, silent):
        _strike_off(context, silent)
    words = "worker %s was not heard for too long; took over %d jobs"
    logger.info(words, silent, len(taken))
    for lease in taken:
        with _boundary(lease.job_id):
            job = jobs.get_job(context.database, lease.job_id)
            attempt = jobs.last_attempt(context.database, job.id)
            is_here = attempt is not None and not context.database.is_elsewhere(attempt.worker_id)
            if is_here and attempt is not None and attempt.number > job.settled:
                paths = _surroundings(context, job).workspace.attempt(job.id, attempt.number)
                attempt_evidence.declare_void(paths, attempt.id)
            _adopt(context, lease, monitor, "its worker was not heard for too long")


def _surroundings(context: WorkerContext, job: Job) -> WorkerContext:
    """Return those in which a job runs here: a guest's have folders of their own."""
    if not context.database.is_shared:
        return context
    # Few queues are shared.
    from worker.guests import context_for

    return context_for(context, job)


def _replace(context: WorkerContext, dead: WorkerId, monitor: Monitor, excuse: str) -> None:
    taken = leases.take_over(context.database, dead, context.worker_id, now=context.now())
    _strike_off(context, dead)
    logger.info("worker %s is dead; took over %d of its jobs", dead, len(taken))
    for lease in taken:
        with _boundary(lease.job_id):
            _adopt(context, lease, monitor, excuse)


def _strike_off(context: WorkerContext, gone: WorkerId) -> None:
    """Remove a worker's record and, where they are here, its files."""
    workers.unregister(context.database, gone)
    if context.database.is_elsewhere(gone):
        return
    context.workspace.worker_lock(gone).unlink(missing_ok=True)
    (context.workspace.workers / f"{gone}{workers.BELL_SUFFIX}").unlink(missing_ok=True)


@contextmanager
def _boundary(job_id: JobId) -> Iterator[None]:
    """Keep what is wrong with one job from all others; it is looked at again the next time.

    A lease that was settled in this moment is no more our concern.
    """
    try:
        yield
    except leases.Fenced:
        return
    except QueueChanged:
        raise  # nothing can be recovered any more
    except (SowError, OSError, MemoryError) as error:
        logger.warning("job %s cannot be recovered yet: %s", job_id, reason_of(error))
    except Exception:  # a bug of ours with one job would keep every worker from its start
        logger.exception("job %s cannot be recovered yet", job_id)


def _adopt(context: WorkerContext, lease: Lease, monitor: Monitor, excuse: str = "") -> None:
    """Watch what runs under a lease."""
    running = adopt(context, lease, excuse=excuse)
    if running is not None:
        monitor.watch(running)


def _take_up_again(context: WorkerContext, lease: Lease, monitor: Monitor) -> None:
    """Put right a lease of our own that we lost sight of: no worker has died of it.

    A fault of the machine kept us from recording an attempt, or from watching it.
    """
    job = jobs.get_job(context.database, lease.job_id)
    attempt = jobs.last_attempt(context.database, job.id)
    if attempt is not None and attempt.number > job.settled:
        _adopt(context, lease, monitor)
        return
    try:
        put_off(context, job, lease, "an error of this machine interrupted its start")
    except leases.EndIsAsked:
        cancel_unstarted(context, job, lease)


def _see_to_caller(context: WorkerContext, job: Job) -> None:
    """Settle a job whose caller died before it was queued; free a task open on a lost terminal."""
    workspace, database, now = context.workspace, context.database, context.now()
    try:
        if is_abandoned(workspace, database, job, now=now):
            if context.state.is_of(job.project_id):
                state = finish(workspace, database, job, now=now)
                tell(job, f"{state}: its caller died before it was queued")
        elif is_deserted(workspace, database, job):
            release(workspace, database, job, code=None, now=now)
            tell(job, "closed: its terminal is gone")
    except StateError as error:
        tell(job, f"its caller is gone; it cannot be settled yet: {error.message}")


def _ensure_row(context: WorkerContext, job: Job) -> None:
    """Give a waiting job its queue row again, unless another worker has just done so."""
    with context.database.transaction():
        if not jobs.lacks_row(context.database, job.id):
            return
        now = context.now()
        retry_at = job.retry_at if job.waits_since <= now else now  # else the clock was set back
        jobs.change_job(context.database, job.id, queue_row=None)
        leases.enqueue(context.database, job.id, now=now, retry_at=retry_at)
    tell(job, "queued again: its queue row was lost")
