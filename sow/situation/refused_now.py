"""What commands would be refused for now, whatever their tasks: looked at where one is to be named.

Owns which of these are asked about. Each is asked as the command itself asks it, and changes
nothing. What is asked is imported late: most looks come by here and ask nothing.
"""

from collections.abc import Callable, Mapping

from sow.calls.caller import Caller
from sow.config.configuration import Configuration
from sow.errors import SowError
from sow.ids import TaskId
from sow.lifecycle.lifecycle_facts import Facts, Remedy
from sow.lifecycle.merge_ways import can_be_merged
from sow.lifecycle.refusal_steps import after
from sow.lifecycle.task_ways import IN_CLONES, ready_among

MERGE, BATCH, CHECK = "sow merge ", "sow batch run", "sow project check"
SPAWN = "sow agent spawn "


def refused_now(
    caller: Caller, configuration: Configuration | None, facts: Facts, *, is_on_branch: bool
) -> Mapping[str, SowError]:
    """Return what commands that begin so would be refused for, where one of them may be named.

    `is_on_branch`: the project's branch is the one that is checked out.
    """
    if configuration is None:
        return {}
    asked: dict[str, Callable[[], None]] = {}
    if any(map(can_be_merged, facts.tasks)):
        asked[MERGE] = lambda: _refuse_merge(caller, configuration)
    if facts.has_batches and len(ready_among(facts.tasks, facts.clones)) > 1:
        asked[BATCH] = lambda: _refuse_batch(caller)
    if facts.clones in IN_CLONES and _begins_clone(facts):
        asked[SPAWN] = lambda: _refuse_clone(caller, configuration)
    if facts.has_checks and not is_on_branch:
        asked[CHECK] = lambda: _refuse_check(caller, configuration)
    found = {begin: _error_of(ask) for begin, ask in asked.items()}
    return {begin: error for begin, error in found.items() if error is not None}


def instead(remedy: Remedy, refused: Mapping[str, SowError]) -> list[Remedy]:
    """Return what helps first where a command would be refused; else the command."""
    for begin, error in refused.items():
        if remedy.command.startswith(begin):
            first = [Remedy(step.command, f"{step.why}; {remedy.why}") for step in after(error)]
            return first or [remedy]
    return [remedy]


def _error_of(ask: Callable[[], None]) -> SowError | None:
    try:
        ask()
    except SowError as error:
        return None if error.passes else error
    return None


def _begins_clone(facts: Facts) -> bool:
    """Whether a task that is ready has no clone yet."""
    return any(not task.has_clone for task in ready_among(facts.tasks, facts.clones))


def _refuse_clone(caller: Caller, configuration: Configuration) -> None:
    """Raise what the first clone of any task would be refused for."""
    from sow.clones.main_checkout import project_commit
    from sow.clones.place import clones_folder
    from sow.git.repository import refuse_old_git, repository_of
    from sow.state.projects import read_project

    workspace = caller.workspace
    repository = repository_of(workspace.root)
    refuse_old_git()
    clones_folder(workspace, repository, configuration.clones)
    project_commit(repository, read_project(workspace), workspace.project_state)


def _refuse_merge(caller: Caller, configuration: Configuration) -> None:
    """Raise what any merge would be refused for."""
    from sow.clones.main_checkout import branch_tip, main_checkout, project_branch
    from sow.config.checks import read_repository
    from sow.config.clones import clone_settings, merge_commands
    from sow.git.repository import refuse_old_git

    refuse_old_git()
    workspace, settings = caller.workspace, configuration.clones
    path = workspace.repository_config
    source = read_repository(path)
    merge_commands(source, clone_settings(source)[0], path)
    main = main_checkout(workspace, settings)
    branch_tip(main, project_branch(main))


def _refuse_check(caller: Caller, configuration: Configuration) -> None:
    """Raise what a check of the project would be refused for."""
    from sow.calls.kinds.check import KIND
    from sow.calls.request import Request
    from sow.schema.job import Verb

    KIND.admit(caller, None, configuration, Request(verb=Verb.CHECK, task_id=TaskId("")))


def _refuse_batch(caller: Caller) -> None:
    """Raise what `sow batch run` would be refused for."""
    from sow.calls.batch_making import refuse_policy
    from sow.config.batches import policy_of
    from sow.config.checks import read_repository

    source = read_repository(caller.workspace.repository_config)
    refuse_policy(caller, policy_of(source, {}, None))
