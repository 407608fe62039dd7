"""Looking up what a request names: project, task, role, executor, folder. Reads only.

Owns which executor a call gets, and what makes two calls the same.
"""

import os
from pathlib import Path

from msgspec import UNSET

from sow.agents.roles import get_agent
from sow.calls.caller import Caller
from sow.calls.request import Request, Resolved
from sow.config.configuration import Configuration
from sow.errors import StateError
from sow.executors.base import Executor
from sow.executors.registry import make_executor
from sow.ids import JobId, ProjectId, TaskId, parse_task_id
from sow.lifecycle.stages import waits_for_plan
from sow.processes import process_facts
from sow.schema.job import HeldFor, Job
from sow.schema.job_terms import AuthorTerms
from sow.schema.task import Task
from sow.state.projects import read_project
from sow.state.tasks import read_task


def resolve(caller: Caller, config: Configuration, request: Request) -> Resolved:
    """Look up what a request names: project, task, role, executor. Reads only."""
    project = read_project(caller.workspace)
    if request.agent is not None:
        get_agent(request.agent)
    task = read_task(caller.workspace, parse_task_id(request.task_id))
    agent = request.agent or task.assigned_agent
    if request.agent is None and request.begins_session:
        get_agent(agent)  # a name that somebody wrote into the file
    executor, notes = _executor_for(config, request, task, agent)
    if request.begins_session and caller.workspace.prompts.is_dir():
        refuse_bad_template(caller, agent, task)
    return Resolved(
        request=request,
        project_id=ProjectId(project.id),
        task=task,
        agent=agent,
        executor=executor,
        cwd=_folder(caller, request, task),
        waits_for_plan=waits_for_plan(project.kind, project.standing, task.phase),
        notes=notes,
    )


def refuse_bad_template(caller: Caller, role: str, task: Task) -> None:
    """Raise BadPromptFile or UnfilledPrompt where the team's text for a role cannot be sent."""
    # Only where a team has texts of its own.
    from sow.attempts.role_template import role_template

    role_template(role, task, ".", caller.workspace)


def _executor_for(
    config: Configuration, request: Request, task: Task, agent: str
) -> tuple[Executor, tuple[str, ...]]:
    """Return the bound executor; for a resume, the one that made the session, saying so."""
    if request.begins_session or task.session is UNSET:
        return make_executor(config.binding(agent).executor), ()
    maker = config.executor(task.session.executor)
    bound = config.bindings.get(agent)
    if bound == maker.name:
        return make_executor(maker), ()
    note = (
        f"{agent} now uses the executor {bound}, but {maker.name} made this session and resumes it"
    )
    return make_executor(maker), (note,)


def _folder(caller: Caller, request: Request, task: Task) -> str:
    """Return the folder the agent runs in, relative to the root: that of its session, if any."""
    if request.cwd is None:
        if request.begins_session or task.session is UNSET:
            return "."
        return task.session.cwd
    folder = Path(os.path.abspath(caller.cwd / request.cwd))  # noqa: PTH100 - keeps links
    if not folder.is_dir():
        raise StateError(
            f"no such folder: {folder}", hint="--cwd sets the folder in which the agent runs."
        )
    return os.path.relpath(folder, caller.workspace.root)


def priority_of(request: Request, task: Task | None) -> int:
    """Return the priority of a request's job: its own, else its task's."""
    if request.priority is not None:
        return request.priority
    return 0 if task is None or task.priority is UNSET else task.priority


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
        priority=priority_of(request, resolved.task),
        held_for=HeldFor.DEPENDENCIES if request.when_ready else None,
        terms=_terms_of(resolved),
        **request.batch_fields,
        parent=caller.job_id,
        prior_status=resolved.task.status,
        caller=process_facts.identify(os.getpid()),
        created_at=caller.now(),
    )


def _terms_of(resolved: Resolved) -> AuthorTerms | None:
    return AuthorTerms(clone=True) if resolved.clone else None
