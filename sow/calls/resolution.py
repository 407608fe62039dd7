"""Looking up what a request names: project, task, role, executor, folder, clone. Reads only.

Owns which executor a call gets, and whether its agent works in a clone of its own: the option says
so, else the settings. What is refused here is a clone that cannot be made. The clone itself is made
by the worker, as part of the first attempt; a resume goes where its session is, or was to begin.
"""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import UNSET
from msgspec.structs import replace

from sow.agents.roles import get_agent
from sow.calls.caller import Caller
from sow.calls.request import Known, Request, Resolved
from sow.config.configuration import Configuration
from sow.errors import StateError, UsageError
from sow.executors.registry import is_configured, make_executor, maker_of
from sow.ids import JobId, ProjectId, TaskId, parse_task_id
from sow.jobs import jobs
from sow.jobs.database import Database
from sow.lifecycle.stages import WHOLE_PHASE, waits_for_plan
from sow.schema.config import CloneUse
from sow.schema.job import HeldFor, Job
from sow.schema.job_terms import AuthorTerms, Fallback, NextExecutor
from sow.schema.task import Task
from sow.state.kept.store import kept_at
from sow.state.projects import read_project
from sow.state.tasks import read_task

if TYPE_CHECKING:
    from sow.executors.base import Executor
    from sow.schema.executor import ExecutorConfig


def resolve(
    caller: Caller, config: Configuration, request: Request, known: Known | None = None
) -> Resolved:
    """Look up what a request names: project, task, role, executor. Reads only."""
    kept = known.kept if known is not None else kept_at(caller.workspace.root)
    project = known.project if known is not None else read_project(caller.workspace, kept)
    if request.agent is not None:
        get_agent(request.agent)
    task = read_task(caller.workspace, parse_task_id(request.task_id), kept)
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
        others=_others(config, request, agent, executor),
        notes=notes,
    )


def refuse_bad_template(caller: Caller, role: str, task: Task) -> None:
    """Raise BadPromptFile or UnfilledPrompt where the team's text for a role cannot be sent."""
    # Only where a team has texts of its own.
    from sow.attempts.role_template import role_template

    role_template(role, task, ".", caller.workspace)


def _executor_for(
    config: Configuration, request: Request, task: Task, agent: str
) -> "tuple[Executor, tuple[str, ...]]":
    """Return the bound executor; for a resume, the one that made the session, saying so."""
    if request.begins_session or task.session is UNSET:
        return make_executor(config.binding(agent).executor), ()
    maker = maker_of(config, task.session)
    if maker is None:
        # Few sessions outlive their executor.
        from sow.calls.choosing import stand_in_for

        return stand_in_for(config, request, task.session, agent)
    bound = config.bindings.get(agent)
    if maker.name in config.bound(agent):
        return make_executor(maker), ()
    note = (
        f"{agent} now uses the executor {bound}, but {maker.name} made this session and resumes it"
    )
    return make_executor(maker), (note,)


def _others(
    config: Configuration, request: Request, agent: str, executor: "Executor"
) -> "tuple[ExecutorConfig, ...]":
    """Return the executors that may take the place of a call's, in their order.

    A session that is continued has some only where the user wants it handed over: those that
    follow the one that made it, then those before it; all of them where the configuration has that
    one no more. Raises ExecutorError for an unknown one.
    """
    names = config.bound(agent)
    is_own = is_configured(config, executor.config)
    is_one = len(names) < 2 and is_own
    if is_one or not (request.begins_session or config.hands_over):
        return ()
    after = names.index(executor.name) + 1 if is_own and executor.name in names else 0
    others = (*names[after:], *names[: max(0, after - 1)])
    origin = config.origin("agents", "bindings", agent)
    return tuple(config.executor(name, origin=origin) for name in others)


def with_free_executor(
    caller: Caller,
    database: Database | None,
    config: Configuration,
    resolved: Resolved,
    *,
    may_travel: bool = False,
) -> Resolved:
    """Return a call with the first of its executors that nothing stands in the way of.

    A session that is continued keeps its own. `may_travel`: another host of a shared queue may run
    the job. Raises ExecutorBinaryNotFound, NoneInstalled.
    """
    if not resolved.others:
        caller.refuse_missing(database, resolved.executor, may_travel=may_travel)
        return resolved
    # Few roles have several executors.
    from sow.calls.choosing import choose

    own = resolved.executor.config
    executors = (*([own] if is_configured(config, own) else ()), *resolved.others)
    choice = choose(
        caller,
        database,
        resolved.agent,
        executors,
        hands_over=config.hands_over,
        may_travel=may_travel,
    )
    if resolved.request.continues_session:
        following = tuple(NextExecutor(executor=each) for each in resolved.others)
        fallback = Fallback(next=following, hands_over=True)
        return replace(resolved, fallback=fallback)
    return replace(
        resolved,
        executor=make_executor(choice.executor),
        fallback=choice.fallback,
        notes=(*resolved.notes, *choice.notes),
    )


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
        terms=_terms(resolved),
        warnings=_taken_places(resolved),
        **request.batch_fields,
        parent=caller.job_id,
        prior_status=resolved.task.status,
        caller=caller.process,
        created_at=caller.now(),
    )


def _terms(resolved: Resolved) -> AuthorTerms | None:
    terms = AuthorTerms(clone=True) if resolved.clone else None
    if resolved.fallback is not None:
        terms = AuthorTerms(clone=resolved.clone, fallback=resolved.fallback)
    if resolved.task.requires is not UNSET:
        return replace(terms or AuthorTerms(), requires=tuple(resolved.task.requires))
    return terms


def _taken_places(resolved: Resolved) -> tuple[str, ...]:
    """Return the warnings of a job that begins with a later executor of its role."""
    if resolved.fallback is None or not resolved.fallback.left:
        return ()
    from sow.attempts.fallback import took_place  # of these few jobs alone

    name = resolved.executor.name
    return tuple(took_place(left, name) for left in resolved.fallback.left)


def with_clone(
    caller: Caller, database: Database | None, config: Configuration, resolved: Resolved
) -> bool:
    """Whether the call's agent is to work in a clone, which can be made then.

    Raises UsageError; NoRepository, GitMissing, GitTooOld, GitRefused,
    FolderInRepository, BranchInPlaceOfFolder, ProjectBranchGone and ClonedElsewhere where one is
    wanted and cannot be made.
    """
    request = resolved.request
    if resolved.task.clone is not UNSET:
        if request.begins_session and request.clone is False:
            task_id = resolved.task.id
            raise UsageError(
                f"task {task_id} has its work in a clone of its own",
                hint=f"Spawn it without --no-clone. `sow clone path {task_id}` prints where the"
                " clone is.",
            )
        return True
    if not request.begins_session:
        if not _is_still_to_be_made(database, resolved):
            return False
    elif not _is_wanted(database, config, resolved):
        return False
    elif is_outside(resolved.cwd):
        if not request.clone:
            return False
        raise UsageError(
            f"--cwd names {resolved.cwd}, which is outside the workspace, so a clone does not"
            " contain that folder",
            hint="Give a folder inside the workspace, or spawn with --no-clone.",
        )
    _refuse_impossible(caller, config, resolved)
    return True


def notes_on_tree(config: Configuration, resolved: Resolved) -> tuple[str, ...]:
    """Tell who says nothing of clones that a task is begun in the tree, as no batch would do it."""
    request, task = resolved.request, resolved.task.id
    is_chosen = request.clone is not None or request.part is not None
    is_about_tree = resolved.task.phase == WHOLE_PHASE or is_outside(resolved.cwd)
    if is_chosen or is_about_tree or not request.begins_session or config.new_clones != "asked":
        return ()
    anew = f"`sow agent cancel {task}`, then `sow agent spawn {task} --fresh --clone`"
    return (
        f"task {task} runs in your working tree, although this repository's batches use clones."
        f" To run it in a clone: {anew}",
    )


def _is_still_to_be_made(database: Database | None, resolved: Resolved) -> bool:
    """Whether the session was to begin in a clone that could not be made."""
    task = resolved.task
    if database is None or task.session_started or task.session_id is UNSET:
        return False
    tried = jobs.attempts_on(database, task.session_id)
    return bool(tried) and jobs.get_job(database, tried[-1].job_id).works_in_clone


def _refuse_impossible(caller: Caller, config: Configuration, resolved: Resolved) -> None:
    """Refuse what is known now to keep the clone from being made. Writes nothing."""
    # Only a call that makes a clone asks git.
    from sow.clones.main_checkout import project_commit
    from sow.clones.place import branch_of, clones_folder, refuse_branch_in_the_way
    from sow.clones.record import refuse_cloned_elsewhere
    from sow.git.repository import refuse_old_git, repository_of

    repository = repository_of(caller.workspace.root)
    refuse_old_git()
    clones_folder(caller.workspace, repository, config.clones)
    project = read_project(caller.workspace)
    refuse_cloned_elsewhere(repository, project.id, resolved.task.id)
    refuse_branch_in_the_way(repository, branch_of(repository, project, resolved.task))
    project_commit(repository, project, caller.workspace.project_state)


def is_wanted_by_now(database: Database, config: Configuration, resolved: Resolved) -> bool:
    """Whether a job that was placed meanwhile makes a clone necessary; in the transaction."""
    if not resolved.request.begins_session or is_outside(resolved.cwd):
        return False
    return _is_wanted(database, config, resolved)


def is_outside(cwd: str) -> bool:
    """Whether a folder, relative to the workspace's root, lies outside of it."""
    return cwd == ".." or cwd.startswith(("../", "/"))


def _is_wanted(database: Database | None, config: Configuration, resolved: Resolved) -> bool:
    if resolved.request.clone is not None:
        return resolved.request.clone
    if resolved.task.phase == WHOLE_PHASE:  # it is about the checkout itself
        return False
    if database is not None and database.is_shared:
        return True  # other hosts get commits: what is in no clone stays here
    match config.clones.use:
        case CloneUse.NEVER:
            return False
        case CloneUse.ALWAYS:
            return True
        case CloneUse.PARALLEL:
            if database is None:
                return False
            return jobs.any_live_job(database, resolved.project_id) is not None
