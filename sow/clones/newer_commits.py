"""What was committed in a task's clone after its branch was brought into the repository.

Owns bringing it there before somebody judges the work: `sow task diff` and a check show it
already, and a merge would bring it. The clone has to be fit for that: the task's branch is
checked out there, and no change is left that is not committed.
"""

from typing import NamedTuple

from msgspec import UNSET

from sow.clones.bring_back import BranchInTheWay, refuse_in_the_way
from sow.clones.candidates import bring
from sow.clones.locks import SHORT_SECONDS, locked_place
from sow.clones.main_checkout import MainCheckout, known_settings, main_checkout
from sow.clones.mark import CloneState, state_of
from sow.clones.place import Place
from sow.clones.record import refuse_cloned_elsewhere
from sow.clones.update import CannotUpdate, refuse_unfinished, refuse_update
from sow.clones.withheld import copied_to
from sow.clones.work_tree import work_tree
from sow.git.inert_refs import read_head, read_ref
from sow.git.private_view import private_view, real_git_dir
from sow.git.repository import branch_commit
from sow.paths import Workspace
from sow.schema.task import Task


class CannotReview(CannotUpdate):
    """The newer work in a clone cannot be judged as the clone is now. Nothing was changed."""

    act = "reviewed"


class _Newer(NamedTuple):
    place: Place
    commit: str
    """The last commit of the task's branch in its clone."""


def bring_newer(workspace: Workspace, task: Task) -> bool:
    """Bring what was committed in a task's clone since into the repository; whether there was any.

    A branch that was never brought back is left to those who take up an agent's end. Raises
    CannotReview, CloneLocked, BranchInTheWay, ClonedElsewhere, UnsafeClone, GitRefused.
    """
    main = main_checkout(workspace, known_settings(workspace))
    found = _newer(main, task)
    if found is None:
        return False
    with locked_place(found.place, timeout_seconds=SHORT_SECONDS):
        _refuse_unfit(main, task, found)
        bring(main, task, found.place)
    return True


def refuse_newer(main: MainCheckout, task: Task) -> bool:
    """Raise what `bring_newer` would be refused with now; else whether it would bring anything.

    Changes nothing.
    """
    found = _newer(main, task)
    if found is not None:
        _refuse_unfit(main, task, found)
    refuse_to_bring(main, task, main.place(task))
    return found is not None


def newer_commit(main: MainCheckout, task: Task) -> str | None:
    """Return the commit that `bring_newer` would bring; None where there is none."""
    found = _newer(main, task)
    return found.commit if found is not None else None


def refuse_to_bring(main: MainCheckout, task: Task, place: Place) -> None:
    """Raise what keeps a branch from coming here from its clone, changing nothing.

    Raises BranchInTheWay, ClonedElsewhere, and what `refuse_in_the_way` does.
    """
    if state_of(place) is not CloneState.WHOLE:
        return
    try:
        refuse_in_the_way(place, main.repository)
    except BranchInTheWay:
        refuse_cloned_elsewhere(main.repository, main.project.id, task.id)
        raise


def _newer(main: MainCheckout, task: Task) -> _Newer | None:
    """Return the newer commit in a task's clone; None where the repository has its last one."""
    place = main.place(task)
    if state_of(place) is not CloneState.WHOLE:
        return None
    here = branch_commit(main.repository, place.branch)
    there = read_ref(real_git_dir(place.path), f"refs/heads/{place.branch}")
    if here is None or there is None or there == here:
        return None
    return _Newer(place, there)


def _refuse_unfit(main: MainCheckout, task: Task, found: _Newer) -> None:
    """Refuse a clone that is not at its newer commit alone. Raises CannotReview.

    What differs after a check that began on that very commit is that check's own: a report, say.
    """
    place = found.place
    try:
        if _was_checked_alone(task, found.commit):
            refuse_unfinished(place)
        else:
            refuse_update(place, main.repository, copied_to(main, place))
    except CannotUpdate as error:
        raise CannotReview(place, error.why, error.paths, error.hint) from error


def _was_checked_alone(task: Task, commit: str) -> bool:
    """Whether the last check of a task began on a commit with nothing uncommitted beside it."""
    check = task.check
    return check is not UNSET and check.commit == commit and not check.dirty


def uncommitted_work(workspace: Workspace, task: Task) -> tuple[str, ...]:
    """Return which files in a task's clone differ from its last commit: no verdict is on them.

    None after a check of that very commit, which may have written them. Raises UnsafeClone,
    GitRefused.
    """
    main = main_checkout(workspace, known_settings(workspace))
    place = main.place(task)
    if state_of(place) is not CloneState.WHOLE:
        return ()
    commit = read_head(real_git_dir(place.path)).commit
    if commit is None or _was_checked_alone(task, commit):
        return ()
    with private_view(place.path, main.repository) as view:
        return work_tree(view, place, commit, copied_to(main, place)).paths
