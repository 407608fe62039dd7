"""The kinds of jobs without an agent, as a call asks them: find the same job, or queue a new one.

Owns what these kinds share. There is no session, and the task is not
marked, so a job is on record and queued in one commit: a call that dies leaves
all of it or nothing.
"""

from collections.abc import Sequence

from msgspec import UNSET
from msgspec.structs import replace

from sow.calls.admission import refuse_without_project
from sow.calls.caller import Caller
from sow.calls.idempotency import TaskHasJob
from sow.calls.kinds import CallKind
from sow.calls.request import Placed, Request
from sow.calls.resolution import priority_of
from sow.config.configuration import Configuration
from sow.ids import JobId, ProjectId, TaskId
from sow.jobs import jobs, leases, waiters, workers
from sow.jobs.database import Database
from sow.jobs.unrecorded_agents import refuse_strays
from sow.jobs.waiters import Recipient
from sow.schema.job import Job
from sow.schema.job_terms import CheckTerms
from sow.schema.task import Task
from sow.schema.travel import Travel
from sow.state.projects import read_project
from sow.state.tasks import read_task


class StepKind(CallKind):
    """Jobs that a program of ours does."""

    def admit(
        self,
        _caller: Caller,
        _database: Database | None,
        _config: Configuration,
        _request: Request,
    ) -> None:
        """Refuse nothing for which any job would not be refused."""

    def sent(self, _caller: Caller, _config: Configuration, job: Job) -> tuple[Job, Travel | None]:
        """Return a job as it goes on record in a shared queue, and what other hosts get of it.

        None where it stays here. Raises StateError.
        """
        return job, None

    def place(
        self,
        caller: Caller,
        database: Database,
        config: Configuration,
        request: Request,
        waiter: Recipient | None,
    ) -> Placed:
        """Put the job of a step into the queue, or find the one that the same call put there.

        Raises TaskHasJob, TaskIsCarried, OwnJobEnds, TaskIsTaken, and what `admit` raises.
        """
        project_id = ProjectId(read_project(caller.workspace).id)
        tasks = [read_task(caller.workspace, task_id) for task_id in request.tasks]
        for task in tasks:
            caller.refuse_waiting_for(database, project_id, TaskId(task.id))
        found = _find_same(caller, database, request, project_id, tasks)
        if found is not None:
            return found
        for task in tasks:
            refuse_strays(caller.workspace, database, TaskId(task.id))
        self.admit(caller, database, config, request)
        first = tasks[0] if tasks else None
        wanted = _job_for(caller, config, request, project_id, first)
        sent = None
        if database.is_shared:
            wanted, sent = self.sent(caller, config, wanted)
        job = queue_unmarked(caller, database, wanted, waiter, sent)
        workers.wake(caller.workspace)
        return Placed(job)


def _find_same(
    caller: Caller,
    database: Database,
    request: Request,
    project_id: ProjectId,
    tasks: Sequence[Task],
) -> Placed | None:
    """Return the job that the same call placed before: live, or ended with its outcome owed.

    Raises TaskHasJob when another call's job lives.
    """
    for task in tasks or (None,):
        task_id = TaskId(task.id) if task is not None else request.task_id
        live = jobs.live_job(database, project_id, task_id)
        if live is not None:
            if _is_same(live, request):
                return Placed(live, attached=True)
            raise TaskHasJob(live, task.status if task is not None else None)
    last = jobs.last_job(database, project_id, request.task_id)
    if last is None or request.again or not _is_same(last, request):
        return None
    if not waiters.is_owed(database, caller.workspace, last.id):
        return None
    return Placed(last, owed=True, anew_with="--again")


def _is_same(job: Job, request: Request) -> bool:
    terms = job.terms
    if isinstance(terms, CheckTerms) and (terms.requires, terms.lines) != (UNSET, UNSET):
        terms = replace(terms, requires=UNSET, lines=UNSET)  # as they were then
    return job.verb is request.verb and terms == request.terms


def queue_unmarked(
    caller: Caller,
    database: Database,
    job: Job,
    waiter: Recipient | None,
    sent: Travel | None = None,
) -> Job:
    """Put a job that leaves its task's status alone on record and into the queue.

    What callers of older jobs are owed lapses. `sent` is what other hosts get of it. Raises
    TaskIsTaken, StateError.
    """
    with database.transaction():
        caller.refuse_when_cancelled(database)
        refuse_without_project(caller.workspace, job.project_id)
        about = job.tasks or (job.task_id,)
        last = [jobs.last_job(database, job.project_id, task_id) for task_id in about]
        job = jobs.insert_job(database, job)
        if sent is not None:
            # Few queues are shared.
            from sow.calls.sending import put_on_record

            put_on_record(database, job, sent)
        for earlier in filter(None, last):
            waiters.lapse(database, caller.workspace, earlier.id)
        if waiter is not None:
            waiter.expect(job.id)
        leases.enqueue(database, job.id, now=caller.now())
    return jobs.get_job(database, job.id)


def _job_for(
    caller: Caller,
    config: Configuration,
    request: Request,
    project_id: ProjectId,
    task: Task | None,
) -> Job:
    terms = request.terms
    if task is not None and task.requires is not UNSET and isinstance(terms, CheckTerms):
        terms = replace(terms, requires=tuple(task.requires))
    return Job(
        id=JobId(0),
        project_id=project_id,
        task_id=request.task_id,
        phase=task.phase if task is not None else "",
        verb=request.verb,
        agent="",
        executor=None,
        prompt="",
        cwd=".",
        path_variable=caller.path_variable,
        config_file=str(config.path) if config.exists else "",
        terms=terms,
        **request.batch_fields,
        parent=caller.job_id,
        priority=priority_of(request, task),
        prior_status=task.status if task is not None else None,
        caller=caller.process,
        created_at=caller.now(),
    )
