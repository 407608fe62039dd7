"""Clones and branches of the checkout's other projects: those that have ended, mostly.

No project has to be here. What a branch of a task holds counts as kept where
another name than such a branch leads to it: only then the branch goes. A
project that is in the archive has ended; of any other one a clone whose work is
on no other branch stays.
"""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from urllib.parse import unquote

from msgspec import Struct
from msgspec.structs import replace

from sow.clone_mark import CloneMark, DamagedMark, read_mark
from sow.clones.keeping import FOLDER as KEPT
from sow.clones.listing import task_ids_in
from sow.clones.locks import CloneLocked, LinkedFolder, locked_place
from sow.clones.main_checkout import Checkout
from sow.clones.mark import is_real_folder
from sow.clones.past_branches import NO_TASKS, PastBranch, past_branches, remove_branch
from sow.clones.place import ID_DIGITS, Place, clones_folder, inside_of, is_own_branch
from sow.clones.record import FOLDER as RECORDS
from sow.clones.record import noted_clone
from sow.clones.removal import Removed, forget_lock, sweep_beside, take_away
from sow.clones.removal_risks import RemovalRisks, removal_risks
from sow.clones.review_clone import sweep_reviews
from sow.errors import StateError
from sow.git.view import view_of
from sow.ids import TaskId


class PastClone(Struct, frozen=True):
    """A clone of another project than the one that is here."""

    place: Place
    risks: RemovalRisks

    @property
    def project(self) -> str:
        """The beginning of the project's id."""
        return self.place.project[:ID_DIGITS]


class PrunedPast(Struct, frozen=True):
    """What pruning other projects has done."""

    removed: tuple[Removed, ...]
    kept: tuple[Removed, ...]
    swept: tuple[Path, ...]
    branches: tuple[PastBranch, ...]
    """Those that were removed have no reasons; one that git could not remove now is left out."""


def past_clones(here: Checkout, besides: str | None, ended: set[str]) -> list[PastClone]:
    """Return the clones of all projects but `besides`; `ended` are beginnings of ids."""
    places = past_places(here, besides)
    there = (place for place in places if os.path.lexists(place.path))
    return [PastClone(place, past_removal_risks(here, place, ended)) for place in there]


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
    removed: list[Removed] = []
    kept: list[Removed] = []
    swept: list[Path] = []
    for place in past_places(here, besides):
        if not is_idle(place.project):
            continue
        with suppress(CloneLocked, LinkedFolder), locked_place(place, timeout_seconds=0.0):
            swept += sweep_beside(place.path, dry_run=dry_run)
            if os.path.lexists(place.path):
                gone = _prune(here, place, ended, dry_run=dry_run)
                (kept if gone.reasons else removed).append(gone)
            if not dry_run and not os.path.lexists(place.path):
                forget_lock(place.path)
    for folder in {place.path.parent for place in past_places(here, besides)}:
        swept += sweep_reviews(folder, is_live, dry_run=dry_run)
    gone_from = {(each.project[:ID_DIGITS], each.task) for each in removed} if dry_run else set()
    branches = [
        replace(branch, has_clone=False) if (branch.project, branch.task) in gone_from else branch
        for branch in past_branches(here, past_places(here, besides), besides)
    ]
    left = (each for each in branches if each.reasons or dry_run or remove_branch(here, each))
    return PrunedPast(tuple(removed), tuple(kept), tuple(swept), tuple(left))


def find_past_clone(here: Checkout, project: str, task: str) -> Place | None:
    """Return where the clone of a task of another project lies; None where there is none."""
    places = past_places(here, None, only=project)
    return next((place for place in places if place.task == task), None)


def _prune(here: Checkout, place: Place, ended: set[str], *, dry_run: bool) -> Removed:
    found = past_removal_risks(here, place, ended)
    if found.reasons:
        return Removed(place.task, place.path, found.reasons, project=place.project)
    try:
        gone = take_away(here.settings, here.repository, place, found, dry_run=dry_run)
        return replace(gone, project=place.project)
    except StateError as error:
        return Removed(place.task, place.path, (error.message,), project=place.project)


def past_removal_risks(here: Checkout, place: Place, ended: set[str]) -> RemovalRisks:
    """Return what stands against removing the clone of a task of another project."""
    noted = noted_clone(here.repository, place.project, place.task)
    mark = _mark_at(here, place.path)
    copied = mark.copied if mark is not None else ()
    found = removal_risks(
        place,
        here.repository,
        here.repository.commit,
        withheld=noted.made_by_sow if noted is not None else copied,
        made=noted.setup if noted is not None else None,
    )
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


def _mark_at(here: Checkout, path: Path) -> CloneMark | None:
    """Return the mark of a clone of this checkout that lies where it was made."""
    if not all(map(is_real_folder, (path, path / ".git", path / ".git" / "sow"))):
        return None
    try:
        mark = read_mark(os.fsdecode(path))
    except DamagedMark:
        return None
    if mark is None:
        return None
    is_ours = (mark.checkout, mark.path, mark.task) == (here.checkout, str(path), path.name)
    return mark if is_ours and mark.project.startswith(path.parent.name) else None


def _place(here: Checkout, path: Path, project: str | None) -> Place:
    mark = _mark_at(here, path)
    known = project or (mark.project if mark is not None else path.parent.name)
    noted = noted_clone(here.repository, known, path.name)
    named = (each.branch for each in (noted, mark) if each is not None)
    branch = next((name for name in named if is_own_branch(name, known, path.name)), "")
    return Place(
        workspace=here.workspace.root,
        checkout=here.checkout,
        project=known,
        task=TaskId(path.name),
        path=path,
        branch=branch or f"sow/unknown-{known[:ID_DIGITS]}/{path.name}",
        inside=inside_of(here.workspace.root, here.repository.top),
        base=noted.base if noted is not None else None,
    )
