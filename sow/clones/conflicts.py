"""The project's branch brought into a task's clone, and the conflict that may be left there.

Owns the order: nobody is at work in the clone, its lock is held, and what was
committed by it is brought into the repository. The git of it is `update`.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from msgspec import Struct
from msgspec.structs import replace

from sow.clones.bring_back import bring_back
from sow.clones.clone_facts import CloneFacts
from sow.clones.gitlinks import Link
from sow.clones.locks import SHORT_SECONDS, Ask, locked_place
from sow.clones.main_checkout import MainCheckout, project_branch
from sow.clones.mark import CloneState, state_of
from sow.clones.merge_marks import project_side
from sow.clones.place import Place
from sow.clones.same_merge import note_merge
from sow.clones.steps import no_step
from sow.clones.update import CannotUpdate, Updated, finish_update, update_clone
from sow.clones.withheld import copied_to
from sow.git.inert_refs import read_head, read_text
from sow.git.merge_tree import merge_trees
from sow.git.private_view import private_view, real_git_dir
from sow.git.view import View
from sow.state.tasks import read_task

MARKERS = (b"<<<<<<< ", b">>>>>>> ")
MOST_READ = 1 << 26
"""A larger file is taken for solved as soon as it is not as the merge left it."""
MERGE_HEAD_LIMIT = 4096


def unsolved_paths(view: View, facts: CloneFacts, ours: str, theirs: str) -> tuple[str, ...]:
    """Return the files whose conflict stands as the merge left it, or that still hold its marks.

    The merge is computed anew; the clone's own index is not asked. Raises GitRefused.
    """
    merged = merge_trees(view, ours, project_side(view, theirs, ours))
    conflicts = [path for path in merged.conflicts if not facts.is_own(path)]
    return tuple(path for path in conflicts if _is_unsolved(view, facts, merged.tree, path))


def _is_unsolved(view: View, facts: CloneFacts, tree: str, path: str) -> bool:
    code, left, _ = view.answer("cat-file", "blob", f"{tree}:{path}")
    file = facts.path / path
    if file.is_symlink() or not file.is_file() or file.stat().st_size > MOST_READ:
        return False
    data = file.read_bytes()
    if code == 0 and data == left:
        return True
    return all(any(line.startswith(mark) for line in data.splitlines()) for mark in MARKERS)


class Conflict(Struct, frozen=True):
    """A merge that is under way in a clone."""

    branch: str
    """The project's branch, which is being merged."""
    unsolved: tuple[str, ...]
    """The files whose conflict nobody has solved yet; empty: it lacks the commit alone."""


def update_of_clone(
    main: MainCheckout,
    place: Place,
    *,
    ask: Ask = lambda _: None,
    step: Callable[[str], None] = no_step,
    solved_by: Callable[[], str] = str,
) -> Updated:
    """Bring the project's branch into the clone at a place.

    `ask` is called under the clone's lock, and raises where a job is at work
    there; `solved_by` tells of a conflict that is there already. Raises NoClone,
    CannotUpdate, NoProjectBranch, CloneLocked, BranchInTheWay, UnsafeClone, GitRefused,
    and what `ask` raises.
    """
    branch = project_branch(main)
    with _held(main, place, ask):
        withheld = copied_to(main, place)
        updated = update_clone(
            place, main.repository, branch, withheld=withheld, step=step, solved_by=solved_by
        )
        if not updated.conflicts:  # also where it had all: an update may have been killed here
            made = None
            if updated.made_on is not None and updated.merged is not None:
                made = updated.made_on, updated.commit
                note_merge(main.repository, place, updated.commit, updated.made_on, updated.merged)
            bring_back(place, main.repository, step=step, made=made)
        step("submodules next")
        notes = _moved_along(main, place, updated.links)
    return replace(updated, notes=(*updated.notes, *notes))


def _moved_along(main: MainCheckout, place: Place, links: Sequence[Link]) -> tuple[str, ...]:
    if not links:
        return ()
    # Few repositories have submodules.
    from sow.clones.submodules import move_along

    return move_along(place.path, main.repository, links)


def conflict_in(main: MainCheckout, place: Place) -> Conflict | None:
    """Return the merge that is under way in a clone; None where none is.

    An update that was killed is completed before. Raises as `update_of_clone` does.
    """
    branch = project_branch(main)
    with _held(main, place):
        finish_update(place, main.repository)
        git_dir = real_git_dir(place.path)
        merged = (read_text(git_dir, "MERGE_HEAD", MERGE_HEAD_LIMIT) or "").split()
        here = read_head(git_dir).commit
        if not merged or here is None:
            return None
        with private_view(place.path, main.repository) as view:
            theirs = view.commit_of(merged[0])
            if theirs is None or view.is_ancestor(theirs, here):
                return None
            return Conflict(branch, unsolved_paths(view, place, here, theirs))


@contextmanager
def _held(main: MainCheckout, place: Place, ask: Ask = lambda _: None) -> Iterator[None]:
    """Hold the lock of a clone that is whole. Raises NoClone, CannotUpdate, CloneLocked.

    Where nothing lies there, nothing is made beside it.
    """
    _refuse_none(main, place)
    with locked_place(place, timeout_seconds=SHORT_SECONDS):
        ask(place.task)
        _refuse_none(main, place)
        found = state_of(place)
        if found is not CloneState.WHOLE:
            is_strange = found is CloneState.STRANGE
            why = (
                "the folder is not the clone that sow made"
                if is_strange
                else "its creation was not finished"
            )
            raise CannotUpdate(place, why, hint="`sow clone list` shows it.")
        yield


def _refuse_none(main: MainCheckout, place: Place) -> None:
    if state_of(place) is CloneState.MISSING:
        # It imports all that looks into a clone.
        from sow.clones.listing import NoClone

        raise NoClone(read_task(main.workspace, place.task), had_one=bool(place.base))
