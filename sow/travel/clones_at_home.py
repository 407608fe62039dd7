"""The clone of a task whose agent has worked elsewhere, here: as its branch is by now.

Checks, updates and merges look at a task's clone. Owns when it is made anew here, and when one that
lies here is behind its branch and goes: only where nothing would be lost with it.
"""

from msgspec import UNSET
from msgspec.structs import replace

from sow.clones.deleting import delete_clone
from sow.clones.listing import removal_risks_of
from sow.clones.locks import locked_place
from sow.clones.made_by_setup import ready_clone
from sow.clones.main_checkout import MainCheckout
from sow.clones.make import CloneOrder, finish_clone, make_clone
from sow.clones.mark import CloneState, own_mark, state_of
from sow.clones.place import Place
from sow.clones.record import note_clone
from sow.clones.update import is_as_left
from sow.clones.withheld import copied_to
from sow.errors import StateError
from sow.git.inert_refs import read_ref
from sow.git.private_view import real_git_dir
from sow.git.repository import branch_commit
from sow.schema.task import Task


class CloneIsBehind(StateError):
    """A task's clone lacks commits of its branch, and has something that would be lost with it."""

    def __init__(self, place: Place, losses: tuple[str, ...]) -> None:
        super().__init__(
            f"the clone {place.path} is behind its branch and was kept: {'; '.join(losses)}",
            hint=f"Keep what you need of it, then `sow clone remove {place.task} --discard`.",
        )


def drop_outdated(main: MainCheckout, place: Place, commit: str | None) -> None:
    """Remove a task's clone that ends elsewhere than its branch. The caller holds its lock.

    Raises CloneIsBehind where something would be lost with it.
    """
    if own_mark(place) is None:
        return
    ref = f"refs/heads/{place.branch}"
    if read_ref(real_git_dir(place.path), ref) == commit:
        return
    risks = removal_risks_of(main, place)
    if risks.uncommitted and _is_conflict_alone(main, place):
        risks = replace(risks, inventory=replace(risks.inventory, uncommitted=()))
    if risks.losses:
        raise CloneIsBehind(place, risks.losses)
    delete_clone(place.path)


def _is_conflict_alone(main: MainCheckout, place: Place) -> bool:
    """Whether what is not committed in a clone is the conflict that an update has left there."""
    branch = main.project_branch
    return branch is not None and is_as_left(place, main.repository, branch, copied_to(main, place))


def is_being_solved(main: MainCheckout, place: Place) -> bool:
    """Whether a merge is under way in a task's clone, and somebody has begun to solve it.

    Raises UnsafeClone, GitRefused.
    """
    if own_mark(place) is None or not (place.path / ".git" / "MERGE_HEAD").exists():
        return False
    return not _is_conflict_alone(main, place)


def lacks_clone(main: MainCheckout, task: Task) -> bool:
    """Whether a task's branch is here, and no clone of it that is whole."""
    place = main.place(task)
    if task.clone is UNSET or branch_commit(main.repository, place.branch) is None:
        return False
    return state_of(place) in (CloneState.MISSING, CloneState.UNFINISHED)


def have_clone(main: MainCheckout, place: Place, commit: str) -> None:
    """Have the clone of a task as its branch is, ready for checks, updates and merges.

    One that `clones.setup` makes ready is left to the job that needs it: that may take minutes.
    Raises StateError.
    """
    with locked_place(place):
        drop_outdated(main, place, commit)
        if main.settings.setup is not None:
            return
        made = make_clone(
            CloneOrder(
                place=place,
                repository=main.repository,
                base=main.project_commit,
                copy=main.settings.copy,
            )
        )
        if made.is_new:
            note_clone(main.repository, made.mark, ready_clone(place, main.repository))
            finish_clone(place)
