"""A person takes a session over on a terminal; the task is held meanwhile (`open_hold`).

Owns the order: the hold is on record before the task is marked, and the task
is marked before the CLI exists, so that no two agents are ever on one session.
The CLI runs in the foreground, as the caller's own child: no worker has a part in it.
"""

import os
from pathlib import Path

import msgspec
from msgspec import UNSET

from sow.attempts.homes import home_used, in_home, session_folder
from sow.attempts.launch import (
    commands_of_role,
    denied_to_role,
    environment_of,
    readable_to,
    task_folder,
)
from sow.attempts.plan import session_of
from sow.attempts.references import unwritable_links
from sow.calls.admission import ENDED, RefusedCall, refusal
from sow.calls.caller import Caller
from sow.calls.foreground import run_in_foreground, secrets_for_session
from sow.calls.idempotency import refuse_other_job
from sow.calls.job_end import release
from sow.calls.kinds import finish_abandoned
from sow.calls.kinds.work import insert
from sow.calls.request import Request, Resolved
from sow.calls.resolution import resolve
from sow.clones.main_checkout import existing_clone
from sow.config.configuration import Configuration
from sow.environment import agent_environment
from sow.evidence import DIGITS
from sow.executors.base import Executor, Launch, LaunchRequest
from sow.executors.executor_errors import OpeningNotSupported, SandboxNotOpened, SessionMissing
from sow.files.flock import lock_file_held
from sow.ids import TaskId, WorkerId
from sow.jobs import jobs
from sow.jobs.database import Database
from sow.jobs.jobs import author_of_job
from sow.jobs.private_folders import make_private
from sow.jobs.unrecorded_agents import refuse_strays
from sow.paths import attempt_id
from sow.schema.job import Attempt, Job, JobState, Verb
from sow.schema.task import Task, TaskStatus
from sow.state import transitions
from sow.state.plan_wait import has_not_begun
from sow.state.tasks import change_task

NOBODY = WorkerId("")
"""Stands where an attempt of a worker names that worker."""


def open_session(
    caller: Caller, database: Database, config: Configuration, task_id: TaskId
) -> tuple[Job, int]:
    """Run the CLI on this terminal, in the task's session, until it ends.

    Returns the job, ended, and the CLI's exit code (minus the signal's number
    where one killed it). Raises StateError, ExecutorError; nothing is left
    behind then.
    """
    request = Request(verb=Verb.OPEN, task_id=task_id)
    finish_abandoned(caller, database, task_id)
    resolved = resolve(caller, config, request)
    caller.refuse_waiting_for(database, resolved.project_id, TaskId(resolved.task.id))
    refuse_other_job(database, resolved)
    refuse_strays(caller.workspace, database, TaskId(resolved.task.id))
    if resolved.waits_for_plan and has_not_begun(resolved.task):
        raise refusal(caller.workspace, [resolved.task.id])
    admit_open(resolved.task, resolved.executor)
    launch = _launch(caller, config, resolved)
    resolved.executor.validate_availability(caller.path_variable)
    job, attempt = _hold(caller, database, config, resolved, launch)
    code: int | None = None
    try:
        _mark_task(caller, database, job, resolved)
        code = _run(caller, job, attempt, launch)
    finally:
        job = release(caller.workspace, database, job, code=code, now=caller.now())
    return job, code


def admit_open(task: Task, executor: Executor) -> None:
    """Refuse a task that has no session to take over.

    Raises RefusedCall, OpeningNotSupported before SessionMissing.
    """
    if task.status in ENDED:
        raise RefusedCall(task, "opened", f"`sow task reopen {task.id}` makes it pending again.")
    if executor.config.is_sandboxed:
        raise SandboxNotOpened(executor.name, task.id)
    if not executor.has_terminal_mode:
        raise OpeningNotSupported(executor.name, task.id)
    if not task.session_started:
        raise SessionMissing(task.id, task.assigned_agent)


def _launch(caller: Caller, config: Configuration, resolved: Resolved) -> Launch:
    root, clone = caller.workspace.root, None
    if resolved.task.clone is not UNSET:
        clone = existing_clone(caller.workspace, config, resolved.task)
    folder = task_folder(caller.workspace, resolved.task)
    environ = agent_environment(caller.environ, resolved.executor.config.env_inherit)
    own = session_folder(
        caller.workspace, resolved.project_id, resolved.task.id, resolved.executor.config
    )
    home = home_used(own, resolved.executor.config, begins=False)
    launch = resolved.executor.take_over(
        LaunchRequest(
            session=session_of(resolved.task, resolved.executor, Verb.RESUME),
            prompt="",
            prompt_file=folder / "description.md",
            task_dir=folder,
            cwd=(clone or root) / resolved.cwd,
            as_root=os.geteuid() == 0,
            environ=environ,
            commands=commands_of_role(resolved.agent),
            denied=denied_to_role(resolved.agent),
            readable=readable_to(caller.workspace, resolved.task, is_apart=clone is not None),
            unwritable=unwritable_links(caller.workspace, resolved.task),
            checkout=root / resolved.cwd if clone else None,
            writable=(caller.workspace.sow,),
            home=home,
        )
    )
    return in_home(launch, resolved.executor.config, home, environ)


def _hold(
    caller: Caller, database: Database, config: Configuration, resolved: Resolved, launch: Launch
) -> tuple[Job, Attempt]:
    """Put job and attempt on record together. Raises TaskHasJob."""
    now = caller.now()
    with database.transaction():
        job = insert(caller, database, config, resolved)
        jobs.change_job(database, job.id, state=JobState.RUNNING, started_at=now)
        attempt = Attempt(
            job_id=job.id,
            number=1,
            id=attempt_id(job.id, 1, os.urandom(DIGITS // 2).hex()),
            verb=Verb.OPEN,
            worker_id=NOBODY,
            argv=launch.argv,
            supervisor=job.caller,
            session_id=resolved.task.session_id or None,
            created_at=now,
            started_at=now,
        )
        jobs.insert_attempt(database, attempt)
    return msgspec.structs.replace(job, state=JobState.RUNNING), attempt


def _mark_task(caller: Caller, database: Database, job: Job, resolved: Resolved) -> None:
    def change(task: Task) -> transitions.FieldChanges:
        admit_open(task, resolved.executor)
        if task.status is not job.prior_status:
            jobs.change_job(database, job.id, prior_status=task.status)
        return transitions.enter(task, TaskStatus.IN_PROGRESS, now=caller.now())

    by = author_of_job(job)
    change_task(caller.workspace, resolved.task.id, change, now=caller.now(), by=by)


def _run(caller: Caller, job: Job, attempt: Attempt, launch: Launch) -> int:
    """Run the CLI on our terminal and return its exit code. Raises ConfigurationError."""
    paths = caller.workspace.attempt(job.id, attempt.number)
    environ = environment_of(caller.workspace, job, attempt.id, launch, caller.environ)
    environ |= secrets_for_session(job.agents_executor, Path(job.config_file), caller.environ)
    make_private(paths.folder, below=caller.workspace.run)
    with lock_file_held(paths.alive_lock) as lock:  # the CLI inherits it
        return run_in_foreground(launch, environ, pass_fds=[lock])
