"""Removing tasks' clones: one on request, and all that nobody needs any more.

Owns the order: judged and taken away under the clone's lock. The task's branch
in the repository stays in every case. Whether a job is at work in a clone is
for the caller to ask.
"""

import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from msgspec import Struct

from sow.clones.deleting import NotDeleted, delete_clone, delete_folder
from sow.clones.keeping import Kept, keep, kept_folder, results_of
from sow.clones.listing import ENDED, all_clone_places, removal_risks_of
from sow.clones.locks import SHORT_SECONDS, Ask, CloneLocked, lock_file, locked_place, unfinished
from sow.clones.main_checkout import Checkout, MainCheckout
from sow.clones.make import sweep
from sow.clones.place import ID_DIGITS, Place
from sow.clones.removal_risks import RemovalRisks
from sow.clones.throw_away_clone import sweep_reviews
from sow.errors import StateError
from sow.schema.task import Task

MERGE = ", commit what you want to keep, and merge the task"
COPY = " and copy what you want to keep"
"""What can be done with work that no command merges any more."""


class Removed(Struct, frozen=True):
    """What was removed, or stays."""

    task: str
    path: Path
    reasons: tuple[str, ...] = ()
    """Why it stays; for one that was removed, what was discarded."""
    goes_along: tuple[str, ...] = ()
    """What went with it that is no reason to keep a clone."""
    kept: Kept | None = None
    """The results that were moved out of it."""
    project: str = ""
    """The project's id, where it is told."""


class Pruned(Struct, frozen=True):
    """What pruning has done."""

    removed: tuple[Removed, ...]
    kept: tuple[Removed, ...]
    """Clones of tasks that have ended or are gone, in which something still stands."""
    swept: tuple[Path, ...]
    """What the dead had left."""


def remove_clone(
    main: MainCheckout,
    place: Place,
    *,
    discard: bool,
    ask: Ask = lambda _: None,
    merged: str | None = None,
    is_mergeable: bool = True,
) -> Removed | None:
    """Remove the clone of a task; None where there is none.

    With `discard` whatever lies in the clone's place is removed, and nothing
    outside of it. `merged` is a commit that `main.project_commit` is known to hold;
    `is_mergeable` is whether the task's work can still be merged, which a refusal then advises.
    Raises StateError, NotDeleted, CloneLocked, and what `ask` raises.
    """
    judge = partial(removal_risks_of, main, place, merged)
    return remove_clone_at(main, place, judge, discard=discard, ask=ask, is_mergeable=is_mergeable)


def remove_clone_at(
    here: Checkout,
    place: Place,
    judge: Callable[[], RemovalRisks],
    *,
    discard: bool,
    ask: Ask,
    is_mergeable: bool = False,
    is_past: bool = False,
) -> Removed | None:
    """Remove the clone at a place as `remove_clone` does; `judge` says what stands against it."""
    if not os.path.lexists(place.path.parent):
        return None
    with locked_place(place, timeout_seconds=SHORT_SECONDS):
        sweep(place.path)
        if not os.path.lexists(place.path):
            forget_lock(place.path)
            return None
        ask(place.task)
        found = judge()
        if found.reasons and not discard:
            of_project = f" --project {place.project[:ID_DIGITS]}" if is_past else ""
            remove = f"sow clone remove {place.task}{of_project} --discard"
            save = MERGE if is_mergeable else COPY
            raise StateError(
                f"the clone of task {place.task} was not removed; {'; '.join(found.reasons)}",
                hint=f"Look at it in {place.path}{save}. Or remove the clone and all that is in"
                f" it: `{remove}`. The repository keeps the commits of {place.branch} that it"
                " already has.",
            )
        removed = _take_away(here, place, found, keeps=not discard)
        forget_lock(place.path)
    return removed


def _take_away(
    here: Checkout, place: Place, found: RemovalRisks, *, keeps: bool = True, dry_run: bool = False
) -> Removed:
    """Delete a clone, its results moved out before. The caller holds its lock.

    Raises NotDeleted, NotWritten, LinkedFolder.
    """
    patterns = here.settings.keep if keeps else ()
    files = results_of(place, here.repository, patterns) if patterns else ()
    if dry_run:
        kept = Kept(kept_folder(place, files), files) if files else None
    else:
        kept = keep(place, files)
        found = found.after_keeping(place.path)
        delete_clone(place.path)
    return Removed(place.task, place.path, found.reasons, found.goes_along, kept)


def prune_clones(
    main: MainCheckout,
    tasks: Sequence[Task],
    *,
    dry_run: bool = False,
    ask: Ask = lambda _: None,
    is_live: Callable[[int], bool] = lambda _: True,
    may_go: Callable[[Task | None], bool] = lambda task: task is None or task.status in ENDED,
) -> Pruned:
    """Remove the clones of tasks that have ended or are gone, where nothing stands against it.

    With them goes what dead makers and removers have left, and the throw-away
    clones of reviews whose job does not live, by `is_live`. `may_go` says of a
    task, or of None for one that is gone, whether its clone may be removed. A
    clone that is locked, or in which a job is at work, is left alone and not told of.
    """
    known = {task.id: task for task in tasks}
    places = [place for place in all_clone_places(main, tasks) if place.path.parent.is_dir()]
    return prune_places(
        main,
        places,
        lambda place: removal_risks_of(main, place),
        may_go=lambda place: may_go(known.get(place.task)) and _is_idle(ask, place.task),
        folders=main.folders(),
        is_live=is_live,
        dry_run=dry_run,
    )


def prune_places(
    here: Checkout,
    places: Iterable[Place],
    judge: Callable[[Place], RemovalRisks],
    *,
    may_go: Callable[[Place], bool],
    folders: Iterable[Path],
    is_live: Callable[[int], bool],
    dry_run: bool,
) -> Pruned:
    """Do the same at some places; `judge` says what stands against removing a clone.

    `folders` are those in which clones of reviews may lie.
    """
    removed: list[Removed] = []
    kept: list[Removed] = []
    swept: list[Path] = []
    for place in places:
        with suppress(CloneLocked), locked_place(place, timeout_seconds=0.0):
            swept += sweep_beside(place.path, dry_run=dry_run)
            if os.path.lexists(place.path) and may_go(place):
                gone = _pruned(here, place, judge(place), dry_run=dry_run)
                (kept if gone.reasons else removed).append(gone)
            if not dry_run and not os.path.lexists(place.path):
                forget_lock(place.path)
    for folder in folders:
        swept += sweep_reviews(folder, is_live, dry_run=dry_run)
    return Pruned(tuple(removed), tuple(kept), tuple(swept))


def _pruned(here: Checkout, place: Place, risks: RemovalRisks, *, dry_run: bool) -> Removed:
    if risks.reasons:
        return Removed(place.task, place.path, risks.reasons)
    try:
        return _take_away(here, place, risks, dry_run=dry_run)
    except StateError as error:
        return Removed(place.task, place.path, (error.message,))


def _is_idle(ask: Ask, task: str) -> bool:
    try:
        ask(task)
    except StateError:
        return False
    return True


def sweep_beside(path: Path, *, dry_run: bool) -> list[Path]:
    """Delete what the dead have left beside a clone; return it. The caller holds its lock."""
    left = unfinished(path)
    if not dry_run:
        for folder in left:
            with suppress(NotDeleted):
                delete_folder(folder)
    return left


def forget_lock(path: Path) -> None:
    """Take the lock's file away, and folders that are empty now. The caller holds the lock."""
    with suppress(OSError):
        lock_file(path).unlink()
    for folder in (path.parent, path.parent.parent):
        with suppress(OSError):
            folder.rmdir()
