"""The kind `review`, as a call asks it: find the one that the same call has placed, or queue one.

Owns which reviews are the same: of one commit, by one role and executor. The
task keeps its status, so a job is on record and queued in one commit, as that
of a step.
"""

from typing import NamedTuple

from msgspec import UNSET
from msgspec.structs import replace

from sow.agents.roles import get_agent
from sow.calls.caller import Caller
from sow.calls.features import admitted, attached, notes_on
from sow.calls.idempotency import TaskHasJob
from sow.calls.kinds import CallKind
from sow.calls.kinds.step import queue_unmarked
from sow.calls.request import Placed, Request
from sow.calls.resolution import priority_of
from sow.clones.judged import judged_commit
from sow.config.configuration import Configuration
from sow.errors import SowError
from sow.executors.registry import make_executor
from sow.ids import JobId, ProjectId, TaskId, parse_task_id
from sow.jobs import jobs, waiters, workers
from sow.jobs.database import Database
from sow.jobs.unrecorded_agents import refuse_strays
from sow.jobs.waiters import Recipient
from sow.schema.job import Job
from sow.schema.job_terms import ReviewTerms, with_fallback
from sow.schema.task import Task
from sow.state.projects import read_project
from sow.state.tasks import find_task, read_task
from sow.state.verdicts import refuse_unjudged

REVIEWER = "reviewer"
"""The role that reviews where none is named."""


class ReviewKind(CallKind):
    """Jobs whose agent judges the work of a task."""

    def admit(
        self, caller: Caller, database: Database | None, config: Configuration, request: Request
    ) -> None:
        """Raise what a review would be refused with: there is nothing to judge, say."""
        find_or_admit_review(caller, database, config, request)

    def place(
        self,
        caller: Caller,
        database: Database,
        config: Configuration,
        request: Request,
        waiter: Recipient | None,
    ) -> Placed:
        """Put a review into the queue, or find the one that the same call put there.

        What was committed in the task's clone since is brought here first. Raises StateError,
        TaskHasJob, TaskIsCarried, TaskIsTaken, ExecutorError.
        """
        found = find_or_admit_review(caller, database, config, request)
        if isinstance(found, AdmittedReview) and _brings_newer(caller, request, found.task):
            found = find_or_admit_review(caller, database, config, request)
        if isinstance(found, Placed):
            return replace(found, job=attached(database, request, found.job))
        wanted = admitted(database, config, request, found.job, now=caller.now())
        if wanted.fallback.next:
            from sow.calls.choosing import with_limits  # few roles have several executors

            wanted = with_limits(database, config, request, wanted, now=caller.now())
        sent = None
        if database.is_shared:
            # Few queues are shared.
            from sow.calls.sending import send_work

            sent = send_work(caller, config, wanted, wanted.judged_commit)
        job = queue_unmarked(caller, database, wanted, waiter, sent)
        workers.wake(caller.workspace)
        if job.fallback.left:
            from sow.attempts.fallback_entry import log_choice  # few roles have several executors

            log_choice(find_task(caller.workspace, job.task_id).folder, job, caller.now())
        return Placed(job, notes=(*job.warnings, *notes_on(job)))


def _brings_newer(caller: Caller, request: Request, task: Task) -> bool:
    """Bring what was committed in a task's clone since; whether there was any.

    A batch takes that up by itself, before it has the work reviewed.
    """
    if request.part is not None or task.clone is UNSET:
        return False
    from sow.clones.newer_commits import bring_newer  # it imports all that looks into a clone

    return bring_newer(caller.workspace, task)


class AdmittedReview(NamedTuple):
    """A review that may be queued."""

    job: Job
    """As it would be put on record; it has no number yet."""
    task: Task


def find_or_admit_review(
    caller: Caller, database: Database | None, config: Configuration, request: Request
) -> Placed | AdmittedReview:
    """Return the review that the same call placed before; else the one that it may place.

    `database` is None where there is no queue yet. Raises as `place_review` does.
    """
    task = read_task(caller.workspace, parse_task_id(request.task_id))
    wanted = _job_for(caller, config, request, task)
    if database is not None:
        caller.refuse_waiting_for(database, wanted.project_id, TaskId(task.id))
        found = _find_same(caller, database, request, wanted, task)
        if found is not None:
            return found
    refuse_unjudged(task)
    refuse_strays(caller.workspace, database, TaskId(task.id))
    return AdmittedReview(_with_free_executor(caller, database, config, wanted, task), task)


def _with_free_executor(
    caller: Caller, database: Database | None, config: Configuration, wanted: Job, task: Task
) -> Job:
    """Return a review by the first executor of its role that nothing stands in the way of.

    Raises ExecutorBinaryNotFound, NoneInstalled.
    """
    may_travel = task.clone is not UNSET and caller.job_id is None
    others = config.bound(wanted.agent)[1:]
    if not others:
        executor = make_executor(wanted.agents_executor)
        caller.refuse_missing(database, executor, may_travel=may_travel)
        return wanted
    # Few roles have several executors.
    from sow.calls.choosing import choose

    executors = [wanted.agents_executor, *map(config.executor, others)]
    hands_over = config.hands_over
    choice = choose(
        *(caller, database, wanted.agent, executors), hands_over=hands_over, may_travel=may_travel
    )
    terms = with_fallback(wanted.terms, choice.fallback)
    return replace(wanted, executor=choice.executor, terms=terms, warnings=choice.notes)


def _find_same(
    caller: Caller, database: Database, request: Request, wanted: Job, task: Task
) -> Placed | None:
    """Return the job that the same call placed before: live, or ended with its outcome owed.

    Raises TaskHasJob when another call's job lives.
    """
    live = jobs.live_job(database, wanted.project_id, wanted.task_id)
    if live is not None:
        if _is_same(live, wanted):
            return Placed(live, attached=True)
        raise TaskHasJob(live, task.status)
    last = jobs.last_job(database, wanted.project_id, wanted.task_id)
    if last is None or request.again or not _is_same(last, wanted):
        return None
    if not waiters.is_owed(database, caller.workspace, last.id):
        return None
    return Placed(last, owed=True, anew_with="--again")


def _is_same(job: Job, wanted: Job) -> bool:
    return (
        job.verb is wanted.verb
        and job.agent == wanted.agent
        and wanted.executor_name in job.executor_names
        and job.prompt == wanted.prompt
        and job.judged_commit == wanted.judged_commit
    )


def _job_for(caller: Caller, config: Configuration, request: Request, task: Task) -> Job:
    """Return the job that a request would become. Raises UnknownAgent, ExecutorError."""
    agent = get_agent(request.agent or REVIEWER).name
    terms = ReviewTerms(commit=_commit(caller, task))
    if task.requires is not UNSET:
        terms = replace(terms, requires=tuple(task.requires))
    return Job(
        id=JobId(0),
        project_id=ProjectId(read_project(caller.workspace).id),
        task_id=TaskId(task.id),
        phase=task.phase,
        verb=request.verb,
        agent=agent,
        executor=config.binding(agent).executor,
        prompt=request.prompt,
        cwd=".",
        path_variable=caller.path_variable,
        config_file=str(config.path) if config.exists else "",
        terms=terms,
        **request.batch_fields,
        parent=caller.job_id,
        priority=priority_of(request, task),
        prior_status=task.status,
        caller=caller.process,
        created_at=caller.now(),
    )


def _commit(caller: Caller, task: Task) -> str | None:
    """Return the commit to be judged; None where a task without a clone lies in no repository.

    Raises StateError, GitRefused.
    """
    try:
        return judged_commit(caller.workspace, task)
    except SowError:
        if task.clone is not UNSET:
            raise
        return None


KIND = ReviewKind()
