"""What an agent that has ended left in its task's clone, taken up without a run of it.

For work that nobody has brought into the repository: the records of its agent were
lost before that was done, or something prevented it. Done again, it changes nothing.
"""

from typing import TYPE_CHECKING

from msgspec import UNSET

from sow.clones.clone_facts import text_of
from sow.clones.locks import locked_place
from sow.clones.main_checkout import MainCheckout
from sow.clones.mark import CloneState, own_mark, state_of
from sow.clones.place import Place
from sow.clones.record import record_clone
from sow.clones.withheld import copied_to
from sow.errors import StateError
from sow.git.inert_refs import UnsafeClone, read_ref
from sow.git.private_view import real_git_dir
from sow.schema.task import Task

if TYPE_CHECKING:
    from sow.clones.leftovers import Leftovers

LOCK_SECONDS = 10.0
SHOWN = 5


class NothingToTakeUp(StateError):
    """A clone holds nothing that could be brought into the repository."""

    def __init__(self, place: Place, why: str) -> None:
        super().__init__(
            f"sow cannot read the work of task {place.task} from its clone: {why}",
            hint=f"Look at {place.path}; `sow clone list` shows its state.",
        )


def is_untaken(
    main: MainCheckout, place: Place, task: Task, tip: str | None, *, was_prevented: bool
) -> bool:
    """Whether a whole clone has work that the repository lacks, whose branch is at `tip` there.

    `was_prevented`: somebody has tried to bring it back, so what is not committed counts, too.
    """
    if state_of(place) is not CloneState.WHOLE:
        return False
    try:
        there = read_ref(real_git_dir(place.path), f"refs/heads/{place.branch}")
    except UnsafeClone:
        return False  # only a look by git could tell
    if task.clone is UNSET or there not in (None, tip):
        return True
    if not was_prevented:
        return False
    # It imports all that looks into a clone.
    from sow.clones.listing import removal_risks_of

    return bool(removal_risks_of(main, place).uncommitted)


def take_up(main: MainCheckout, task: Task, *, now: float) -> str:
    """Commit what is not committed in a task's clone, and bring its branch into the repository.

    No process may be at work in the clone. Return the branch's commit. Raises NothingToTakeUp,
    CloneLocked, BranchInTheWay, UnsafeClone, CannotUpdate, GitRefused.
    """
    # An update passes through this module, and seldom comes here.
    from sow.clones.bring_back import bring_back
    from sow.clones.clearing import clear_special_files
    from sow.clones.leftovers import commit_leftovers

    place = main.place(task)
    with locked_place(place, timeout_seconds=LOCK_SECONDS):
        mark = own_mark(place)
        if mark is None or state_of(place) is not CloneState.WHOLE:
            raise NothingToTakeUp(place, "it is incomplete")
        facts = place.since(place.base or mark.base)
        clear_special_files(place.path, main.repository)
        left = None
        if main.settings.commit:
            left = commit_leftovers(
                facts,
                main.repository,
                task=task.id,
                name=task.name,
                withheld=copied_to(main, place),
            )
        brought = bring_back(facts, main.repository)
        if brought is None:
            raise NothingToTakeUp(place, f"it has no branch {place.branch}")
        if task.clone is UNSET:
            record_clone(main.workspace, mark, now=now)
        elif brought.former == brought.commit:
            _refuse_rest(main, place, left)
    return brought.commit


def _refuse_rest(main: MainCheckout, place: Place, left: "Leftovers | None") -> None:
    """Raise NothingToTakeUp where all there is was taken, and something is left that cannot be."""
    # As in `is_untaken`.
    from sow.clones.listing import removal_risks_of

    rest = removal_risks_of(main, place).uncommitted
    if rest:
        reasons = [untaken.reason for untaken in left.untaken] if left else ["clones.commit is off"]
        raise NothingToTakeUp(
            place, f"{text_of(rest, SHOWN)} cannot be committed ({'; '.join(reasons)})"
        )
