"""Whether the agent of a call works in a clone of its own: the option, else the settings.

Owns that choice, and what is refused where no clone can be made. The clone
itself is made by the worker, as part of the first attempt; a resume goes where
its session is, or was to begin.
"""

from msgspec import UNSET

from sow.calls.caller import Caller
from sow.calls.request import Resolved
from sow.config.configuration import Configuration
from sow.errors import UsageError
from sow.jobs import jobs
from sow.jobs.database import Database
from sow.lifecycle.stages import WHOLE_PHASE
from sow.schema.config import CloneUse


def with_clone(
    caller: Caller, database: Database | None, config: Configuration, resolved: Resolved
) -> bool:
    """Whether the call's agent is to work in a clone, which can be made then.

    Raises UsageError; NoRepository, GitMissing, GitTooOld, GitRefused,
    FolderInRepository, BranchInPlaceOfFolder, ProjectBranchGone and ClonedElsewhere where one is
    wanted and cannot be made.
    """
    request = resolved.request
    if not request.begins_session:
        if resolved.task.clone is not UNSET:
            return True
        if not _is_still_to_be_made(database, resolved):
            return False
        _refuse_impossible(caller, config, resolved)
        return True
    if resolved.task.clone is not UNSET:
        if request.clone is False:
            task_id = resolved.task.id
            raise UsageError(
                f"task {task_id} has its work in a clone of its own",
                hint=f"Spawn it without --no-clone. `sow clone path {task_id}` prints where the"
                " clone is.",
            )
        return True
    if not _is_wanted(database, config, resolved):
        return False
    if is_outside(resolved.cwd):
        if not request.clone:
            return False
        cwd = resolved.cwd
        raise UsageError(
            f"--cwd names {cwd}, which is outside the workspace, so a clone does not contain"
            " that folder",
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
    if not tried:
        return False
    return jobs.get_job(database, tried[-1].job_id).works_in_clone


def _refuse_impossible(caller: Caller, config: Configuration, resolved: Resolved) -> None:
    """Refuse what is known now to keep the clone from being made. Writes nothing."""
    # Only a call that makes a clone asks git.
    from sow.clones.base import project_commit
    from sow.clones.elsewhere import refuse_cloned_elsewhere
    from sow.clones.place import branch_of, clones_folder, refuse_branch_in_the_way
    from sow.git.repository import refuse_old_git, repository_of
    from sow.state.projects import read_project

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
    match config.clones.use:
        case CloneUse.NEVER:
            return False
        case CloneUse.ALWAYS:
            return True
        case CloneUse.PARALLEL:
            if database is None:
                return False
            return jobs.any_live_job(database, resolved.project_id) is not None
