"""What the next attempt of a review starts: a reviewer in a throw-away clone, in its own session.

Owns what only reviewers have before the start. The task is not marked and its
session not touched. The order of a start is `launch`.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec import UNSET

from sow.agent_clis.known import warmed_up
from sow.attempts.fallback import since_left
from sow.attempts.homes import has_folder
from sow.attempts.launch import environment_of, executor_variables, task_folder
from sow.attempts.plan import begins
from sow.attempts.references import readable_references
from sow.attempts.review import as_session, launch_review, plan_review, with_own_session
from sow.attempts.review_brief import brief_of
from sow.attempts.sandbox import sandbox_of_agent
from sow.attempts.session_command import create_session
from sow.attempts.sessions import lacks_session
from sow.clones.main_checkout import main_checkout
from sow.clones.throw_away_clone import review_place
from sow.config.clones import CloneSettings
from sow.environment import agent_environment, own_process
from sow.executors.base import Executor
from sow.executors.registry import make_executor
from sow.ids import AttemptId, TaskId
from sow.jobs import jobs, leases
from sow.paths import AttemptPaths
from sow.processes import process_facts
from sow.prompts.compose import ReviewBrief
from sow.schema.job import Attempt, Job, Lease
from sow.schema.job_terms import ReviewTerms
from sow.schema.task import Task
from sow.state.tasks import read_task
from worker.context import WorkerContext
from worker.kinds.base import Prepared
from worker.kinds.new_clone import settings_of_new_clone
from worker.kinds.review.sweep import sweep_reviews_of
from worker.session_home import prepare_home, warm_home
from worker.steps.program_input import ReviewOrders
from worker.sweeping import in_background


class ReviewFolder(NamedTuple):
    """Where a reviewer works, and what it is told of the change."""

    folder: Path
    """What it works in; a throw-away clone need not be there yet."""
    top: Path | None
    """The throw-away clone that it is a part of; None without one."""
    brief: ReviewBrief
    orders: ReviewOrders
    """What is to be done before it can start."""

    @property
    def is_apart(self) -> bool:
        """Whether the reviewer works in a throw-away clone."""
        return self.top is not None


def prepare_review(
    context: WorkerContext,
    job: Job,
    lease: Lease,
    history: Sequence[Attempt],
    paths: AttemptPaths,
) -> Prepared:
    """Return what a review's next attempt starts.

    Raises SowError where that cannot be started now, or ever.
    """
    is_first, history = not history, since_left(job, history)
    task = read_task(context.workspace, TaskId(job.task_id))
    executor = make_executor(job.agents_executor)
    executor.validate_availability(job.path_variable)
    review = _review_folder(context, job, task, executor, paths, is_first=is_first)
    own = _with_session(context, job, lease, with_own_session(task, job, history), history)
    plan = plan_review(job, own, history, executor, review.brief, workspace=context.workspace)
    folder = task_folder(context.workspace, task)
    launch = launch_review(
        context.workspace,
        job,
        task,
        plan,
        executor,
        paths.prompt,
        cwd=review.folder,
        is_apart=review.is_apart,
        environ=context.environ,
    )

    if launch.home is not None or has_folder(context.workspace, job):
        prepare_home(context, job, launch, anew=begins(plan))
    if cli := warmed_up(executor.config.type, executor.config.preset):
        warm_home(context, job, launch, cli, anew=begins(plan))

    def environment(attempt_id: AttemptId) -> Mapping[str, str]:
        return environment_of(
            context.workspace, job, attempt_id, launch, context.environ, review="1"
        )

    return Prepared(
        verb=plan.verb,
        argv=launch.argv,
        # The program that makes the clone goes there itself: it may not be there yet.
        cwd=context.workspace.root if review.is_apart else launch.cwd,
        stdin=launch.stdin,
        environment=environment,
        task=task,
        does=f"review by {job.executor_name}",
        state_file=folder / "state.yaml",
        session_id=plan.session.id if plan.session else None,
        wrapper=own_process("worker.steps", "review", str(paths.clone_orders)),
        sandbox=sandbox_of_agent(
            context.workspace,
            executor.config,
            launch,
            {**agent_environment(context.environ), **executor_variables(job, context.environ)},
            clone=review.top,
            readable=readable_references(context.workspace, task),
            borrows=True,
        ),
        files={
            **{name: text.encode() for name, text in launch.files.items()},
            paths.clone_orders.name: msgspec.json.encode(review.orders),
        },
        executor=executor,
        own_folders=launch.own_folders(review.top),
    )


def _with_session(
    context: WorkerContext, job: Job, lease: Lease, task: Task, history: Sequence[Attempt]
) -> Task:
    """Return the task with the session in which the reviewer is to run; one is made if need be.

    Raises ExecutorError where its CLI makes none.
    """
    executor = make_executor(job.agents_executor)
    if not lacks_session(task, executor, history):
        return task
    session = create_session(executor, job, context.workspace.root, context.environ)
    if session is None:
        return msgspec.structs.replace(task, session_id=UNSET, session=UNSET)
    if session.dialect is not None and isinstance(job.terms, ReviewTerms):
        terms = msgspec.structs.replace(job.terms, dialect=session.dialect)
        with leases.under(context.database, lease):
            jobs.change_job(context.database, job.id, terms=terms)
    return as_session(task, job, session.id, started=False, dialect=session.dialect)


def _review_folder(
    context: WorkerContext,
    job: Job,
    task: Task,
    executor: Executor,
    paths: AttemptPaths,
    *,
    is_first: bool,
) -> ReviewFolder:
    """Return where the reviewer works: a throw-away clone, or the root for a task without one.

    Raises NotTrusted where a command line of the repository would make the clone
    ready that this user has not accepted; SandboxUnavailable, GitRefused, NoRepository.
    """
    brief = brief_of(context.workspace, job, task, executor)
    if brief.commit is None:
        orders = _orders(context, job, paths, CloneSettings(), is_first=is_first)
        return ReviewFolder(context.workspace.root / job.cwd, None, brief, orders)
    settings = settings_of_new_clone(context)
    place = review_place(main_checkout(context.workspace, settings).place(task), job.id)
    in_background(lambda: sweep_reviews_of(context, place.path.parent))
    orders = _orders(context, job, paths, settings, is_first=is_first)
    orders = msgspec.structs.replace(orders, commit=brief.commit, without=tuple(brief.left_out))
    return ReviewFolder(place.root, place.path, brief, orders)


def _orders(
    context: WorkerContext,
    job: Job,
    paths: AttemptPaths,
    settings: CloneSettings,
    *,
    is_first: bool,
) -> ReviewOrders:
    """Return the orders of a reviewer who works in the root."""
    packages = process_facts.packages()
    return ReviewOrders(
        folder=str(paths.folder),
        workspace=str(context.workspace.root),
        task=job.task_id,
        job=job.id,
        cwd=job.cwd,
        commit=None,
        settings=settings,
        is_first=is_first,
        packages=str(packages) if packages is not None else None,
    )
