"""What a host has kept of jobs that are at home elsewhere, removed when it is old.

Owns when a guest's folder was last used, and that its clones and the output of its attempts go with
it. The work of each attempt was pushed when that ended. Results that `clones.keep` has moved out of
a clone stay. The next job of the task has the folder made anew.
"""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from sow.clones.deleting import delete_clone, delete_folder
from sow.clones.locks import CloneLocked, locked_place
from sow.clones.main_checkout import checkout_of, known_settings
from sow.clones.mark import is_real_folder
from sow.clones.past_projects import past_places
from sow.errors import StateError
from sow.files import StateLocked
from sow.jobs.database import Database
from sow.jobs.hosts import tasks_of_others
from sow.jobs.run_names import changed_at
from sow.paths import Workspace
from sow.travel.guest import (
    LOCK,
    TAKEN_UP,
    GuestWorkspace,
    guest_at,
    guest_in,
    guest_lock,
    guests_of,
)

Before = Callable[[GuestWorkspace], None]
"""Called before a guest's folder goes."""


def remove_old_guests(
    host: Workspace, database: Database, before: Before, *, oldest: float
) -> list[Path]:
    """Remove the guests' folders that were last used before `oldest`; return them.

    `before` removes what others have put elsewhere for a guest. One with a job that has not ended
    stays, and so does what cannot be removed now, or was never wholly taken up.
    """
    removed = []
    folder = guests_of(host)
    for whose in _folders(folder):
        for path in _folders(whose):
            with suppress(StateError):
                if path.name.startswith("."):  # a killed process has left it
                    if changed_at(path) <= oldest:
                        delete_folder(path)
                elif not is_real_folder(guest_in(host, path).sow):
                    continue  # another workspace in this repository has it
                elif _last_used(host, path) > oldest:
                    continue
                elif _remove(host, database, path, before, oldest):
                    removed.append(path)
    return removed


def _folders(folder: Path) -> list[Path]:
    """Return the folders in a folder; no links."""
    with suppress(OSError):
        return sorted(path for path in folder.iterdir() if is_real_folder(path))
    return []


def _last_used(host: Workspace, top: Path) -> float:
    """Return when something was last taken up in a guest's folder, or an attempt of it ended."""
    mark = top / ".git" / TAKEN_UP
    attempts = guest_in(host, top).jobs.glob("*/*")
    return max(map(changed_at, (top, mark, mark.parent, *attempts)))


def _remove(host: Workspace, database: Database, top: Path, before: Before, oldest: float) -> bool:
    """Remove a guest's folder, unless somebody uses it after all; return whether it is gone."""
    try:
        with guest_lock(top, timeout_seconds=0.0):
            # Whoever claims a job now takes it up when this lock is free.
            live = {guest_at(host, *task).root for task in tasks_of_others(database)}
            guest = guest_in(host, top)
            if guest.root in live or _last_used(host, top) > oldest:
                return False
            _remove_clones(guest, host)
            before(guest)
            gone = top.with_name(f".{top.name}.{os.urandom(4).hex()}")
            top.rename(gone)
            top.with_name(LOCK.format(top.name)).unlink(missing_ok=True)
    except (StateLocked, CloneLocked, OSError):
        return False
    delete_folder(gone)
    return True


def _remove_clones(guest: GuestWorkspace, host: Workspace) -> None:
    """Delete the clones that were made of a guest's repository. Raises CloneLocked, NotDeleted."""
    try:
        here = checkout_of(guest, known_settings(host))
    except StateError:
        return  # its repository is broken, and nothing tells which clones are its own
    for place in past_places(here, None):
        with locked_place(place, timeout_seconds=0.0):
            delete_clone(place.path)
