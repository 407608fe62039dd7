"""One look at a workspace: its project, tasks, queue and configuration, each read once.

Owns the order, and that what cannot be read hides nothing else. Changes nothing. What
has to do with the queue is imported where there is one.
"""

import os
from collections.abc import Callable
from contextlib import closing
from typing import TypeVar

from msgspec import UNSET
from msgspec.structs import replace

from sow import env_vars
from sow.agent_clis.known import shell_bound
from sow.calls.caller import Caller
from sow.config.configuration import Configuration
from sow.errors import SowError
from sow.git.checked_out import branch_at, lacks_branch
from sow.lifecycle.stages import ProjectType
from sow.paths import SOW_FOLDER, Workspace, may_be_on_server
from sow.schema.config import ApproveRule, CloneUse
from sow.schema.project import Project
from sow.schema.task import Task, TaskStatus
from sow.situation.branches import Branches
from sow.situation.program_steps import missing_programs
from sow.situation.project_facts import counted, project_facts
from sow.situation.refused_now import refused_now
from sow.situation.situation import Ended, Queue, Reader, Situation
from sow.situation.task_facts import TaskLook, is_left
from sow.state.places import has_project
from sow.state.projects import read_project
from sow.state.tasks import scan_tasks
from sow.state.waiting import Among

ORCHESTRATOR = "orchestrator"
WAIT = "--wait 100s"
"""Below the limit of every shell that agents are known to have; the shortest is two minutes."""

T = TypeVar("T")


def look(caller: Caller, *, is_at_terminal: bool, closely: bool = False) -> Situation:
    """Return how a workspace stands. Raises NewerState alone: nothing of it can be read.

    `closely`: what agents do and ask is looked for besides.
    """
    errors: list[SowError] = []
    workspace = caller.workspace
    configuration = _or_error(caller.load_configuration, errors)
    reader = _reader(caller, configuration, is_at_terminal=is_at_terminal)
    found = Situation(
        reader=reader,
        workspace=workspace,
        branch=branch_at(workspace.root) or "",
        configuration=configuration,
        errors=errors,
    )
    if not has_project(workspace):
        ended, mixed = _last_ended(workspace, found.branch), _mixed(workspace)
        return replace(found, ended=ended, mixed=mixed)
    project = _or_error(lambda: read_project(workspace), errors)
    if project is None:
        return replace(found, has_project=True)
    tasks, broken = scan_tasks(workspace)
    errors += broken
    return _with_project(caller, found, project, tasks, errors, closely=closely)


def _or_error(read: Callable[[], T], errors: list[SowError]) -> T | None:
    """Return what is read; where it cannot be, None, and the error is noted."""
    try:
        return read()
    except SowError as error:
        errors.append(error)
        return None


def _with_project(
    caller: Caller,
    found: Situation,
    project: Project,
    tasks: list[Task],
    errors: list[SowError],
    *,
    closely: bool,
) -> Situation:
    workspace, configuration = caller.workspace, found.configuration
    branches = Branches(workspace, project, tasks, errors.append)
    queue = Queue()
    is_there = os.path.lexists(workspace.queue_db) or os.path.islink(workspace.run)  # noqa: PTH114
    if is_there or may_be_on_server(workspace):
        queue = _or_error(
            lambda: _queue(
                caller, configuration, project, tasks, branches, errors.append, closely=closely
            ),
            errors,
        ) or Queue(is_unreadable=True)
    whole = counted(tasks)
    facts = project_facts(
        workspace,
        project,
        whole,
        TaskLook(workspace, project, queue, configuration, branches).facts(whole),
        configuration,
        errors.append,
        reviews=[task for task in tasks if task.judges_whole],
        runs=queue.review_runs,
        check_job=queue.last_check,
    )
    if queue.is_shared:
        facts = replace(facts, clones=CloneUse.ALWAYS.value)
    return replace(
        found,
        has_lost_branch=_has_lost_branch(workspace, project, found.branch),
        has_project=True,
        project=project,
        tasks=tasks,
        among=Among(tasks),
        facts=facts,
        refused=refused_now(
            caller, configuration, facts, is_on_branch=project.branch in (UNSET, found.branch)
        ),
        lacking=missing_programs(caller, configuration, tasks),
        unaccepted=_unaccepted(caller, configuration, tasks),
        queue=queue,
    )


def _unaccepted(
    caller: Caller, configuration: Configuration | None, tasks: list[Task]
) -> tuple[str, ...]:
    """Return which command lines a person has not accepted, where a task is still to begin."""
    if configuration is None or all(task.status is not TaskStatus.PENDING for task in tasks):
        return ()
    if not (configuration.checks.commands or configuration.clones.setup):
        return ()
    from sow.trust.needed import unaccepted_keys  # few repositories have any

    return unaccepted_keys(caller.workspace, caller.environ)


def _has_lost_branch(workspace: Workspace, project: Project, here: str) -> bool:
    if project.branch is UNSET or project.branch == here:
        return False
    return lacks_branch(workspace.root, project.branch)


def _queue(
    caller: Caller,
    configuration: Configuration | None,
    project: Project,
    tasks: list[Task],
    branches: Branches,
    tell: Callable[[SowError], None],
    *,
    closely: bool,
) -> Queue:
    """Return what the queue's records tell. Raises QueueError."""
    from sow.jobs.database import is_quiet, open_existing_queue  # SQLite

    database = open_existing_queue(caller.workspace)
    if database is None:
        return Queue()
    with closing(database):
        is_red = project.check is not UNSET and not project.check.passed
        has_left = is_red or any(is_left(task, branches) for task in tasks)
        if not (has_left or _has_features(configuration)) and is_quiet(database):
            return Queue(is_shared=database.is_shared)
        from sow.situation.queue_look import QueueLook  # the records' forms

        look = QueueLook(caller, database, configuration, project, tasks)
        return look.queue(branches, tell, closely=closely)


def _has_features(configuration: Configuration | None) -> bool:
    """Whether a feature has settings: what it says of the queue is asked even if that is quiet."""
    return configuration is not None and bool(configuration.features)


def _reader(caller: Caller, configuration: Configuration | None, *, is_at_terminal: bool) -> Reader:
    agents_may = configuration is not None and configuration.approve is ApproveRule.AGENTS
    role = caller.environ.get(env_vars.AGENT, "")
    if caller.job_id is not None:
        may_approve = agents_may and role == ORCHESTRATOR
    else:
        may_approve = agents_may or (is_at_terminal and role != ORCHESTRATOR)
    is_bound = bool(caller.environ.get(env_vars.WAIT)) or shell_bound(caller.environ)
    return Reader(
        is_at_terminal=is_at_terminal,
        job=caller.job_id,
        task=caller.environ.get(env_vars.TASK_ID, "") if caller.job_id is not None else "",
        may_approve=may_approve,
        wait="" if is_at_terminal or is_bound else WAIT,
    )


def _mixed(workspace: Workspace) -> str:
    """Return the folder of an ended project that git has mixed with another one."""
    from sow.state.archive import mixed_folder  # only where there is none at work

    folder = mixed_folder(workspace)
    return "" if folder is None else folder.relative_to(workspace.root).as_posix()


def _last_ended(workspace: Workspace, branch: str) -> Ended | None:
    """Return the project that was the last to end on this branch.

    One of another branch comes first as long as its end is in no commit: it ended in this tree.
    """
    from sow.state.archive import last_ended, last_ended_anywhere  # where there is none at work

    last, newest = last_ended(workspace, branch or None), last_ended_anywhere(workspace)
    if newest is not None and (last is None or last.folder != newest.folder):
        folder = newest.folder.relative_to(workspace.root).as_posix()
        last = last if _is_committed(workspace, folder) else newest
    if last is None or last.project.ending is UNSET:
        return None
    ending, folder = last.project.ending, last.folder.relative_to(workspace.root).as_posix()
    units = ""
    if last.project.kind is ProjectType.BREAKDOWN:
        from sow.state.units import folder_of  # only where there is none at work

        published = workspace.root / folder_of(last.project)
        units = published.name if published.is_dir() else ""
    name, how, at = last.project.name, ending.how.value, ending.at.timestamp()
    return Ended(name, how, at, folder, _is_committed(workspace, folder), units)


def _is_committed(workspace: Workspace, folder: str) -> bool:
    """Whether nothing of an end is left to be committed; no, where there is no git."""
    from sow.git.run import git_answer  # as above

    moved = [f"{SOW_FOLDER}/project", folder]
    try:
        words = ("status", "--porcelain", "--untracked-files=all", "--", *moved)
        code, found, _ = git_answer(workspace.root, *words)
    except SowError:
        return False
    return code == 0 and not found
