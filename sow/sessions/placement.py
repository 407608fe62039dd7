"""Placing a job: resolve, attach or admit, allocate a session, mark the task, enqueue.

Owns the order of a call's first steps, for spawn and resume alike. Every step
may be the last one that its process lives to make: recovery undoes a
`preparing` job or completes it. Waiting for the outcome is `wait`.
"""

import os
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from msgspec import UNSET

from sow.agents.roles import get_agent
from sow.clock import format_time
from sow.config.configuration import Configuration
from sow.environment import agent_environment
from sow.errors import ConfigurationError, ExecutorError, ExitCode, SowError, StateError
from sow.executors.base import Executor, Session, SessionSource
from sow.executors.registry import make_executor
from sow.ids import JobId, ProjectId, TaskId, parse_task_id
from sow.jobs import jobs, leases, waiters, workers
from sow.jobs.database import Database
from sow.jobs.jobs import TaskIsTaken
from sow.processes import facts
from sow.schema.job import Job, JobState, Verb
from sow.schema.task import SessionFacts, Task, TaskStatus
from sow.sessions.admission import (
    AssignedToAnother,
    admit_resume,
    admit_spawn,
    refuse_unmet,
)
from sow.sessions.caller import Caller
from sow.sessions.launching import executor_variables
from sow.sessions.unfinished import finish, is_abandoned, undo
from sow.state import transitions
from sow.state.log import LogEntry, append_entry
from sow.state.projects import read_project
from sow.state.tasks import change_task, find_task, read_task

CREATE_SECONDS = 60.0
"""How long an executor's own command may take to make a session."""


@dataclass(frozen=True)
class Request:
    """What a caller asks for."""

    verb: Verb
    task_id: TaskId
    agent: str | None = None
    """The role to spawn; None for a resume: the task's own."""
    prompt: str = ""
    fresh: bool = False
    again: bool = False
    """Run anew even where an outcome of the same call is owed."""
    waits: bool = True
    """Whether the caller waits for the outcome, and is owed it should it go away."""
    ignore_deps: bool = False
    cwd: Path | None = None


@dataclass(frozen=True)
class Placed:
    """A job on record, and how this call came to it."""

    job: Job
    attached: bool = False
    """The same call had placed the job before; it still runs."""
    owed: bool = False
    """The same call had placed the job before, and went away; it has ended."""
    notes: tuple[str, ...] = field(default=())
    """What the caller should know, a sentence each."""


@dataclass(frozen=True)
class Resolved:
    """A request with everything looked up that it names."""

    request: Request
    project_id: ProjectId
    task: Task
    agent: str
    executor: Executor
    cwd: str
    notes: tuple[str, ...] = ()


class TaskHasJob(StateError):
    """Another call's job of the task has not ended."""

    def __init__(self, job: Job) -> None:
        super().__init__(
            f"task {job.task_id} has a job that has not ended: "
            f"job {job.id} ({job.verb} by {job.executor.name}, {job.state})",
            hint=f"Wait for it: `sow agent wait {job.task_id}`. "
            f"End it: `sow agent cancel {job.task_id}`.",
        )
        self.job_id = job.id


class WaitsForItself(StateError):
    """The call would wait for the very job that makes it."""

    def __init__(self, task_id: str, chain: Sequence[Job]) -> None:
        way = " → ".join(f"{job.task_id} (job {job.id})" for job in chain)
        super().__init__(
            f"task {task_id} cannot wait on itself or on an ancestor: {way}",
            hint="Report with `sow task set status …` and end; your caller decides what follows.",
        )


class JobWasCancelled(StateError):
    """The job was cancelled while its call was still placing it."""

    exit_code = ExitCode.CANCELLED

    def __init__(self, job: Job) -> None:
        super().__init__(
            f"job {job.id} of task {job.task_id} was cancelled before it was queued",
            hint="Call again to queue a new one.",
        )


def place(caller: Caller, database: Database, config: Configuration, request: Request) -> Placed:
    """Put a request's job into the queue, or find the job that the same call put there.

    Raises StateError, ExecutorError, UsageError; nothing is left behind then.
    """
    resolved = resolve(caller, config, request)
    refuse_ancestors(caller, database, resolved)
    _finish_abandoned(caller, database, resolved)
    found = find_same(caller, database, resolved)
    if found is not None:
        return found
    admit(caller, resolved, resolved.task)
    resolved.executor.validate_availability(caller.path_variable)
    try:
        job = _insert(caller, database, config, resolved)
    except TaskIsTaken:  # another call was first: attach to its job, or be refused
        return place(caller, database, config, request)
    try:
        session = _allocate_session(caller, resolved, job)
        _log_prompt(caller, resolved)
        _mark_task(caller, database, job, resolved, session)
    except BaseException as error:
        reason = error.message if isinstance(error, SowError) else "its call was interrupted"
        undo(caller.workspace, database, job, reason=reason, now=caller.now())
        raise
    _enqueue(caller, database, job)
    workers.wake(caller.workspace)
    return Placed(jobs.get_job(database, job.id), notes=resolved.notes)


def resolve(caller: Caller, config: Configuration, request: Request) -> Resolved:
    """Look up what a request names: project, task, role, executor. Reads only."""
    project = read_project(caller.workspace)
    if request.agent is not None:
        get_agent(request.agent)
    task = read_task(caller.workspace, parse_task_id(request.task_id))
    agent = request.agent or task.assigned_agent
    executor, notes = _executor_for(config, request, task, agent)
    return Resolved(
        request=request,
        project_id=ProjectId(project.id),
        task=task,
        agent=agent,
        executor=executor,
        cwd=_folder(caller, request, task),
        notes=notes,
    )


def _executor_for(
    config: Configuration, request: Request, task: Task, agent: str
) -> tuple[Executor, tuple[str, ...]]:
    """Return the bound executor; for a resume, the one that made the session, saying so."""
    if request.verb is Verb.SPAWN or task.session is UNSET:
        return make_executor(config.binding(agent).executor), ()
    maker = config.executor(task.session.executor)
    bound = config.bindings.get(agent)
    if bound == maker.name:
        return make_executor(maker), ()
    note = f"{agent} is bound to {bound} by now; the session is {maker.name}'s, which resumes it"
    return make_executor(maker), (note,)


def _folder(caller: Caller, request: Request, task: Task) -> str:
    """Return the folder the agent runs in, relative to the root: the session's own on a resume."""
    if request.cwd is None:
        resumed = request.verb is Verb.RESUME and task.session is not UNSET
        return task.session.cwd if resumed and task.session is not UNSET else "."
    folder = Path(os.path.abspath(caller.cwd / request.cwd))  # noqa: PTH100 - keeps links
    if not folder.is_dir():
        raise StateError(f"no such folder: {folder}", hint="--cwd names where the agent runs.")
    return os.path.relpath(folder, caller.workspace.root)


def refuse_ancestors(caller: Caller, database: Database, resolved: Resolved) -> None:
    """Refuse a call of an agent that would wait for its own job, or for a job above it."""
    if caller.job_id is not None:
        task = (resolved.project_id, TaskId(resolved.task.id))
        _refuse_task_in(jobs.ancestors(database, caller.job_id), task)


def refuse_waiting_on_ancestor(caller: Caller, database: Database, job: Job) -> None:
    """Refuse to let an agent wait for a job of its own task, or of one above it."""
    if caller.job_id is not None:
        chain = jobs.ancestors(database, caller.job_id)
        _refuse_task_in(chain, (job.project_id, job.task_id))


def _refuse_task_in(chain: Sequence[Job], task: tuple[ProjectId, TaskId]) -> None:
    for index, job in enumerate(chain):
        if (job.project_id, job.task_id) == task:
            raise WaitsForItself(task[1], chain[: index + 1])


def find_same(caller: Caller, database: Database, resolved: Resolved) -> Placed | None:
    """Return the job that the same call placed before: live, or ended with its outcome owed.

    Raises TaskHasJob when another call's job lives.
    """
    task_id = TaskId(resolved.task.id)
    live = jobs.live_job(database, resolved.project_id, task_id)
    if live is not None:
        if is_same_call(live, resolved):
            return Placed(live, attached=True, notes=resolved.notes)
        raise TaskHasJob(live)
    last = jobs.last_job(database, resolved.project_id, task_id)
    if last is None or resolved.request.again or not is_same_call(last, resolved):
        return None
    if last.outcome_status != resolved.task.status:
        return None
    if waiters.is_owed(database, caller.workspace, last.id):
        return Placed(last, owed=True, notes=resolved.notes)
    return None


def _finish_abandoned(caller: Caller, database: Database, resolved: Resolved) -> None:
    """Settle what an earlier call left half placed when it died."""
    live = jobs.live_job(database, resolved.project_id, TaskId(resolved.task.id))
    if live is not None and is_abandoned(live):
        finish(caller.workspace, database, live, now=caller.now())


def is_same_call(job: Job, resolved: Resolved) -> bool:
    """Whether a job was placed by the same call: verb, task, agent, executor and prompt."""
    request = resolved.request
    return (
        job.verb is request.verb
        and job.agent == resolved.agent
        and job.executor.name == resolved.executor.name
        and job.prompt == request.prompt
        and job.fresh == request.fresh
    )


def admit(caller: Caller, resolved: Resolved, task: Task) -> None:
    """Refuse what the status table does not allow; asked again under the task's lock."""
    request = resolved.request
    if request.verb is Verb.RESUME:
        admit_resume(task, resolved.executor)
        return
    if task.session_started and not request.fresh and resolved.agent != task.assigned_agent:
        raise AssignedToAnother(task, resolved.agent)
    admit_spawn(task, resolved.agent, resolved.executor, fresh=request.fresh)
    if not request.ignore_deps:
        refuse_unmet(task, [read_task(caller.workspace, other) for other in task.depends_on])


def job_for(caller: Caller, config: Configuration, resolved: Resolved) -> Job:
    """Return the job that a request would become; its id is not given yet."""
    request = resolved.request
    return Job(
        id=JobId(0),
        project_id=resolved.project_id,
        task_id=TaskId(resolved.task.id),
        phase=resolved.task.phase,
        verb=request.verb,
        agent=resolved.agent,
        executor=resolved.executor.config,
        prompt=request.prompt,
        cwd=resolved.cwd,
        path_variable=caller.path_variable,
        config_file=str(config.path) if config.exists else "",
        fresh=request.fresh,
        parent=caller.job_id,
        prior_status=resolved.task.status,
        caller=facts.identify(os.getpid()),
        created_at=caller.now(),
    )


def _insert(caller: Caller, database: Database, config: Configuration, resolved: Resolved) -> Job:
    """Put the job on record as `preparing`; what callers of older jobs are owed lapses.

    Raises TaskIsTaken.
    """
    with database.transaction():
        last = jobs.last_job(database, resolved.project_id, TaskId(resolved.task.id))
        job = jobs.insert_job(database, job_for(caller, config, resolved))
        if last is not None:
            waiters.lapse(database, last.id)
        if resolved.request.waits:
            waiters.expect(database, job.id, now=caller.now())
        return job


def _allocate_session(caller: Caller, resolved: Resolved, job: Job) -> Session | None:
    """Obtain a session id the executor's way; no lock is held meanwhile."""
    task, executor = resolved.task, resolved.executor
    if resolved.request.verb is Verb.RESUME:
        return None
    if keeps_session(resolved, task):
        return None
    if executor.session_source in (SessionSource.NONE, SessionSource.LEARNED):
        return None

    def run(argv: Sequence[str]) -> str:
        cwd = caller.workspace.root / resolved.cwd
        return run_command(argv, cwd, _command_environment(caller, job))

    return executor.create_session(run)


def _command_environment(caller: Caller, job: Job) -> dict[str, str]:
    """Return what the executor's own command gets: the caller's environment as it was, and `env`.

    A `${NAME}` in `env` may be set for the worker alone; then the command goes without.
    """
    environ = agent_environment(caller.environ)
    with suppress(ConfigurationError):
        environ |= executor_variables(job, caller.environ)
    return environ


def keeps_session(resolved: Resolved, task: Task) -> bool:
    """Whether a spawn takes the session on record: one of this executor that never started."""
    return (
        not resolved.request.fresh
        and task.session_id is not UNSET
        and task.session is not UNSET
        and not task.session.started
        and task.session.executor == resolved.executor.name
    )


def run_command(argv: Sequence[str], cwd: Path, environ: Mapping[str, str]) -> str:
    """Run a short command of an executor's CLI and return what it printed.

    Raises ExecutorError when it fails or takes longer than a minute.
    """
    try:
        done = subprocess.run(
            list(argv),
            cwd=cwd,
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=CREATE_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ExecutorError(
            f"`{' '.join(argv)}` did not answer: {error}", hint="Run it yourself to see why."
        ) from error
    if done.returncode != 0:
        words = (done.stderr or done.stdout).decode("utf-8", "replace").strip()
        raise ExecutorError(
            f"`{' '.join(argv)}` failed with exit code {done.returncode}: {words[:500]}",
            hint="Run it yourself to see why; the CLI may need a login.",
        )
    return done.stdout.decode("utf-8", "replace")


def _log_prompt(caller: Caller, resolved: Resolved) -> None:
    """Write a resume's words into the task's log first: an answer survives without `run/`."""
    request = resolved.request
    lost = resolved.task.session_id
    if request.verb is Verb.RESUME:
        action, text = "Resumed with an answer or corrections", request.prompt
    elif request.fresh and lost is not UNSET:
        action, text = f"Started over; the session before was {lost}", request.prompt
    else:
        return
    who = caller.environ.get("SOW_AGENT", "orchestrator")
    entry = LogEntry(
        timestamp=format_time(caller.now()), agent=who, action=action, result="", text=text
    )
    append_entry(find_task(caller.workspace, resolved.task.id).folder, entry)


def _mark_task(
    caller: Caller, database: Database, job: Job, resolved: Resolved, session: Session | None
) -> Task:
    """Write `in_progress` and the session into the state, checking again under the lock.

    Who cancels the job ends it first and gives the task back afterwards, under
    the same lock: either it is seen here, or that gives back what we write.
    """

    def change(task: Task) -> Mapping[str, object]:
        current = jobs.get_job(database, job.id)
        if current.state is JobState.CANCELLED:
            raise JobWasCancelled(current)
        admit(caller, resolved, task)
        now = caller.now()
        if resolved.request.verb is Verb.RESUME:
            return transitions.begin_resume(task, now)
        changes = dict(transitions.enter(task, TaskStatus.IN_PROGRESS, now=now))
        changes["assigned_agent"] = resolved.agent
        if not keeps_session(resolved, task):
            changes |= transitions.clear_session(task)
        if session is not None:
            changes |= _session_fields(resolved, session)
        return changes

    return change_task(caller.workspace, resolved.task.id, change, now=caller.now())


def _session_fields(resolved: Resolved, session: Session) -> dict[str, object]:
    facts_of_session = SessionFacts(
        executor=resolved.executor.name,
        cwd=resolved.cwd,
        started=False,
        dialect=UNSET if session.dialect is None else session.dialect,
    )
    return {"session_id": session.id, "session": facts_of_session}


def _enqueue(caller: Caller, database: Database, job: Job) -> None:
    """Queue the job, unless it was cancelled, or completed by recovery, in between."""
    with database.transaction():
        current = jobs.get_job(database, job.id)
        if current.state is JobState.PREPARING:
            leases.enqueue(database, job.id, now=caller.now())
    if current.state is JobState.CANCELLED:
        waiters.withdraw(database, job.id)
        raise JobWasCancelled(current)
