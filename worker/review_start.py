"""What the next attempt of a review starts: a reviewer in a throw-away clone, in its own session.

Owns what only reviewers have before the start. The task is not marked and its
session not touched. The order of a start is `launch`.
"""

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec import UNSET

from sow import own_variables
from sow.attempts.launch import environment_of, executor_variables, task_folder
from sow.attempts.plan import Plan
from sow.attempts.review import as_session, plan_review, with_own_session
from sow.clones.judged import judged_change
from sow.clones.main_checkout import MainCheckout, main_checkout
from sow.clones.review_clone import make_review_clone, remove_review_clone, review_place
from sow.clones.steering import steering_files
from sow.clones.tree_watch import look_at_tree
from sow.config.checks import read_repository
from sow.config.clones import clone_settings
from sow.environment import agent_environment
from sow.executors.base import Executor, Launch, LaunchRequest
from sow.executors.registry import make_executor
from sow.files import NotAFile, read_regular, write_atomically
from sow.ids import AttemptId, TaskId
from sow.jobs import jobs, leases
from sow.jobs.private_folders import make_private
from sow.paths import AttemptPaths
from sow.prompts.compose import ReviewBrief, TaskBrief
from sow.schema.job import Attempt, Job, Lease, Verb
from sow.schema.job_terms import ReviewTerms
from sow.schema.task import FeedbackStatus, Task
from sow.state.tasks import read_task
from sow.state.verdicts import feedback_in
from worker.context import WorkerContext
from worker.prepared import Prepared
from worker.renewal import create_session, lacks_session
from worker.review_sweep import main_of, sweep_reviews_of

DESCRIPTION_LIMIT = 1 << 20
"""The largest description that is read, in bytes."""


class Seat(NamedTuple):
    """Where a reviewer works, and what it is told of the change."""

    folder: Path
    is_apart: bool
    """Whether that is a throw-away clone."""
    brief: ReviewBrief


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
    task = read_task(context.workspace, TaskId(job.task_id))
    executor = make_executor(job.agents_executor)
    executor.validate_availability(job.path_variable)
    seat = _seat(context, job, task, executor, history)
    own = _with_session(context, job, lease, with_own_session(task, job, history), history)
    plan = plan_review(job, own, history, executor, seat.brief)
    if not seat.is_apart:
        _note_tree(context, paths)
    folder = task_folder(context.workspace, task)
    launch = _launch(context, job, plan, executor, seat, folder, paths)

    def environment(attempt_id: AttemptId) -> Mapping[str, str]:
        environ = environment_of(context.workspace, job, attempt_id, launch, context.environ)
        return {**environ, own_variables.REVIEW: "1"}

    return Prepared(
        verb=plan.verb,
        argv=launch.argv,
        cwd=launch.cwd,
        stdin=plan.prompt,
        environment=environment,
        task=task,
        does=f"review by {job.executor_name}",
        state_file=folder / "state.yaml",
        session_id=plan.session.id if plan.session else None,
        executor=executor,
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
    session = create_session(context, job, executor)
    if session is None:
        return msgspec.structs.replace(task, session_id=UNSET, session=UNSET)
    if session.dialect is not None and isinstance(job.terms, ReviewTerms):
        terms = msgspec.structs.replace(job.terms, dialect=session.dialect)
        with leases.under(context.database, lease):
            jobs.change_job(context.database, job.id, terms=terms)
    return as_session(task, job, session.id, started=False, dialect=session.dialect)


def _launch(
    context: WorkerContext,
    job: Job,
    plan: Plan,
    executor: Executor,
    seat: Seat,
    folder: Path,
    paths: AttemptPaths,
) -> Launch:
    request = LaunchRequest(
        session=plan.session,
        prompt=plan.prompt,
        prompt_file=paths.prompt,
        task_dir=folder,
        cwd=seat.folder,
        as_root=os.geteuid() == 0,
        environ={
            **agent_environment(context.environ),
            **executor_variables(job, context.environ),
        },
        readable=(folder,) if seat.is_apart else (),
        is_isolated=seat.is_apart,
    )
    start = {Verb.SPAWN: executor.spawn, Verb.RESUME: executor.resume}[plan.verb]
    return start(request)


def _seat(
    context: WorkerContext, job: Job, task: Task, executor: Executor, history: Sequence[Attempt]
) -> Seat:
    """Return where the reviewer works: a throw-away clone, or the root for a task without one.

    Raises GitRefused, NotWritten, UnsafeClone, NoRepository.
    """
    commit = job.terms.commit if isinstance(job.terms, ReviewTerms) else None
    brief = _brief(context, job, task)
    if task.clone is UNSET or commit is None:
        brief = msgspec.structs.replace(brief, check=_check_words(task, commit))
        return Seat(context.workspace.root / job.cwd, False, brief)
    settings, _ = clone_settings(read_repository(context.workspace.repository_config))
    main = main_checkout(context.workspace, settings)
    change = judged_change(context.workspace, task.clone, commit)
    left_out = () if executor.isolates else steering_files(change.files)
    folder = _clone(context, job, main, task, commit, left_out, is_first=not history)
    brief = msgspec.structs.replace(
        brief,
        base=change.base,
        commit=commit,
        files=change.files,
        steers=change.steers,
        left_out=left_out,
        check=_check_words(task, commit),
    )
    return Seat(folder, True, brief)


def _clone(
    context: WorkerContext,
    job: Job,
    main: MainCheckout,
    task: Task,
    commit: str,
    left_out: Sequence[str],
    *,
    is_first: bool,
) -> Path:
    sweep_reviews_of(context, main_of(main, task))
    place = review_place(main.place(task), job.id)
    if is_first:  # of a job of this number in a queue's file that is gone, say
        remove_review_clone(place)
    return make_review_clone(
        place, main.repository, commit, copy=main.settings.copy, without=left_out
    )


def _brief(context: WorkerContext, job: Job, task: Task) -> ReviewBrief:
    folder = task_folder(context.workspace, task)
    description = b""
    with suppress(FileNotFoundError, NotAFile):
        description = read_regular(folder / "description.md", DESCRIPTION_LIMIT)
    awaited = (FeedbackStatus.OPEN, FeedbackStatus.ADDRESSED)
    return ReviewBrief(
        task=TaskBrief(
            id=TaskId(task.id),
            name=task.name,
            location=str(folder),
            iteration=task.iteration,
            agent=job.agent,
        ),
        description=description.decode("utf-8", "replace"),
        feedback=[
            found for status in awaited for found in feedback_in(context.workspace, task, status)
        ],
    )


def _check_words(task: Task, commit: str | None) -> str:
    """Return the outcome of the task's last check, if that was of this commit; else nothing."""
    check = task.check
    if check is UNSET or check.commit != commit:
        return ""
    of = " (files differed from the commit)" if check.dirty else ""
    red = [f"{found.name}: {found.reason}" for found in check.results if not found.passed]
    return f"red{of}: {'; '.join(red)}" if not check.passed else f"passed{of}"


def _note_tree(context: WorkerContext, paths: AttemptPaths) -> None:
    """Keep how the tree stands, to tell what changes in it; without git nobody can."""
    found = look_at_tree(context.workspace.root)
    if found is not None:
        make_private(paths.folder, below=context.workspace.run)
        write_atomically(paths.tree_before, msgspec.json.encode(found), mode=0o600, durable=False)
