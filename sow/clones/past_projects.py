"""Clones and branches of the checkout's other projects: those that have ended, mostly.

No project has to be here. What a branch of a task holds counts as kept where
another name than such a branch leads to it: only then the branch goes. A
project that is in the archive has ended; of any other one a clone whose work is
on no other branch stays.
"""

import os
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from urllib.parse import unquote

from msgspec import Struct
from msgspec.structs import replace

from sow.clones.keeping import FOLDER as KEPT
from sow.clones.listing import FoundClone, place_at, task_ids_in
from sow.clones.main_checkout import Checkout
from sow.clones.mark import is_real_folder, mark_at, state_of
from sow.clones.place import ID_DIGITS, Place, clones_folder
from sow.clones.record import FOLDER as RECORDS
from sow.clones.removal import Pruned, Removed, prune_places
from sow.clones.removal_risks import RemovalRisks, removal_risks
from sow.clones.withheld import put_there
from sow.git.view import view_of

BRANCH = re.compile(r"sow/[a-z0-9-]+-(?P<project>[0-9a-f]{8})/(?P<task>\d+)")
NO_TASKS = ("--not", "--exclude=refs/heads/sow/*", "--all")
"""Words of `rev-list`: what is reached from names other than those of tasks' branches."""


class PastBranch(Struct, frozen=True):
    """The branch of a task of such a project."""

    name: str
    project: str
    task: str
    commit: str
    alone: int
    """How many of its commits no other name leads to, those of other tasks' branches apart."""
    subject: str
    """The first line of its last commit."""
    has_clone: bool = False
    """Whether the clone of its task is there."""
    is_checked_out: bool = False

    @property
    def reasons(self) -> tuple[str, ...]:
        """What stands against removing it, in a few words each."""
        found = ["its clone is there"] if self.has_clone else []
        if self.is_checked_out:
            found.append("it is checked out")
        if self.alone:
            some = f"{self.alone} commit{'s' * (self.alone != 1)}"
            found.append(f"{some} on no other branch, the newest: {self.subject}")
        return tuple(found)


class PrunedPast(Pruned, frozen=True):
    """What pruning other projects has done."""

    branches: tuple[PastBranch, ...]
    """Those that were removed have no reasons; one that git could not remove now is left out."""


def past_clones(here: Checkout, besides: str | None, ended: set[str]) -> list[FoundClone]:
    """Return the clones of all projects but `besides`; `ended` are beginnings of ids."""
    places = past_places(here, besides)
    return [
        FoundClone(place, state_of(place), past_removal_risks(here, place, ended), None)
        for place in places
        if os.path.lexists(place.path)
    ]


def past_places(here: Checkout, besides: str | None, only: str | None = None) -> list[Place]:
    """Return where clones of other projects lie, or have left something."""
    above = clones_folder(here.workspace, here.repository, here.settings)
    records = _projects_on_record(here)
    found = []
    for folder in sorted(above.glob(f"*-{here.checkout}/*")):
        is_meant = only is None or folder.name == only[:ID_DIGITS]
        is_other = besides is None or folder.name != besides[:ID_DIGITS]
        if is_meant and is_other and is_real_folder(folder) and is_real_folder(folder.parent):
            for task in sorted(task_ids_in(folder)):
                found.append(_place(here, folder / task, records.get(folder.name)))
    return found


class LeftOver(Struct, frozen=True):
    """What is left of a project that has ended."""

    clones: tuple[Place, ...] = ()
    branches: tuple[PastBranch, ...] = ()


def left_of(here: Checkout, project: str) -> LeftOver:
    """Return what is left of a project that has ended. Raises GitRefused."""
    places = past_places(here, None, only=project)
    clones = [place for place in places if os.path.lexists(place.path)]
    return LeftOver(tuple(clones), tuple(past_branches(here, clones, None, only=project)))


def kept_results(here: Checkout) -> list[Path]:
    """Return the folders with results that were kept of clones, of all projects."""
    above = clones_folder(here.workspace, here.repository, here.settings)
    return sorted(above.glob(f"*-{here.checkout}/*/{KEPT}/*"))


def prune_past(
    here: Checkout,
    besides: str | None,
    ended: set[str],
    *,
    dry_run: bool,
    is_idle: Callable[[str], bool],
    is_live: Callable[[int], bool],
) -> PrunedPast:
    """Remove clones and branches of other projects in which nothing stands; name the others.

    `is_idle` says of a project's id whether no job of it lives, `is_live` whether a
    job lives.
    """
    places = past_places(here, besides)
    done = prune_places(
        here,
        (place for place in places if is_idle(place.project)),
        lambda place: past_removal_risks(here, place, ended),
        may_go=lambda _: True,
        folders={place.path.parent for place in places},
        is_live=is_live,
        dry_run=dry_run,
    )
    removed, kept = map(_with_project, (done.removed, done.kept))
    gone_from = {(each.project, each.task) for each in removed} if dry_run else set()
    branches = [
        replace(branch, has_clone=False) if (branch.project, branch.task) in gone_from else branch
        for branch in past_branches(here, past_places(here, besides), besides)
    ]
    left = (each for each in branches if each.reasons or dry_run or remove_branch(here, each))
    return PrunedPast(removed, kept, done.swept, tuple(left))


def _with_project(clones: Iterable[Removed]) -> tuple[Removed, ...]:
    return tuple(replace(each, project=each.path.parent.name) for each in clones)


def find_past_clone(here: Checkout, project: str, task: str) -> Place | None:
    """Return where the clone of a task of another project lies; None where there is none."""
    places = past_places(here, None, only=project)
    return next((place for place in places if place.task == task), None)


def past_removal_risks(here: Checkout, place: Place, ended: set[str]) -> RemovalRisks:
    """Return what stands against removing the clone of a task of another project."""
    withheld = put_there(here, place)
    found = removal_risks(place, here.repository, here.repository.commit, withheld=withheld)
    if found.unmerged is None:
        return found
    view = view_of(here.repository.top)
    is_kept = place.project[:ID_DIGITS] in ended or (
        view.commit_of(found.unmerged) is not None
        and view.text("rev-list", "--count", found.unmerged, *NO_TASKS) == "0"
    )
    return replace(found, unmerged=None) if is_kept else found


def _projects_on_record(here: Checkout) -> dict[str, str]:
    """Return the ids of the projects of which clones are on record, by their beginnings."""
    folder = here.repository.git_dir / RECORDS
    names = (unquote(path.name) for path in folder.iterdir()) if folder.is_dir() else ()
    return {name[:ID_DIGITS]: name for name in names}


def _place(here: Checkout, path: Path, project: str | None) -> Place:
    mark = mark_at(path, here.checkout)
    beginning = path.parent.name
    known = project or (mark.project if mark and mark.project.startswith(beginning) else beginning)
    return place_at(here, path, known, f"sow/unknown-{known[:ID_DIGITS]}/{path.name}")


def past_branches(
    here: Checkout, clones: Sequence[Place], besides: str | None, only: str | None = None
) -> list[PastBranch]:
    """Return the branches of tasks of other projects. Raises GitRefused.

    `clones` are the places of clones that are there still.
    """
    view = view_of(here.repository.top)
    words = ("for-each-ref", "--format=%(objectname) %(refname:lstrip=2) %(subject)")
    trees = view.text("worktree", "list", "--porcelain")
    used = set(re.findall(r"^branch refs/heads/(.+)$", trees, re.MULTILINE))
    places = {(place.project[:ID_DIGITS], place.task) for place in clones}
    found = []
    for line in view.text(*words, "refs/heads/sow/").splitlines():
        commit, name, subject = line.split(" ", 2)
        named = BRANCH.fullmatch(name)
        if named is None or (besides or "")[:ID_DIGITS] == named["project"]:
            continue
        if only is not None and only[:ID_DIGITS] != named["project"]:
            continue
        alone = int(view.text("rev-list", "--count", commit, *NO_TASKS))
        has_clone = (named["project"], named["task"]) in places
        branch = PastBranch(
            name, named["project"], named["task"], commit, alone, subject, has_clone, name in used
        )
        found.append(branch)
    return found


def remove_branch(here: Checkout, branch: PastBranch) -> bool:
    """Remove a branch; False where git does not: somebody moves it now. Raises GitMissing."""
    words = ("update-ref", "--no-deref", "-d", f"refs/heads/{branch.name}", branch.commit)
    code, _, _ = view_of(here.repository.top).answer(*words)
    return code == 0
