"""A throw-away checkout of a commit, to run a check on: beside the clones, outside the repository.

Owns its making and its end. What a killed process has left of one is swept by
whoever holds the lock of that place next.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sow.clones.copying import copy_files
from sow.clones.deleting import NotDeleted, delete_folder
from sow.clones.locks import FOLDER_MODE, draft_path, locked_place
from sow.clones.main_checkout import MainCheckout
from sow.clones.make import leave_out, sweep
from sow.clones.place import Place
from sow.clones.taken_over import copy_settings
from sow.git.run import LONG_SECONDS, git


@contextmanager
def checked_out(main: MainCheckout, place: Place, commit: str) -> Iterator[Path]:
    """Check a commit of the repository out beside a task's clone for the length of the block.

    The block gets the folder that is the workspace's root there; the files of
    `clones.copy` are in it. The lock of the task's clone is held. Raises
    CloneLocked, GitRefused, NotWritten.
    """
    with locked_place(place):
        sweep(place.path)
        folder = draft_path(place.path)
        try:
            _check_out(main, place, folder, commit)
            copy_files(place.workspace, folder, place.inside, main.settings.copy)
            yield folder / place.inside
        finally:
            with suppress(NotDeleted):
                delete_folder(folder)


def _check_out(main: MainCheckout, place: Place, folder: Path, commit: str) -> None:
    """Borrow the repository's objects: the folder does not live as long as they do."""
    folder.mkdir(mode=FOLDER_MODE)
    source = os.fsdecode(main.repository.common_dir)
    words = ("clone", "--quiet", "--shared", "--no-tags", "--no-checkout", "--", source, ".")
    git(folder, *words, seconds=LONG_SECONDS)
    copy_settings(folder, main.repository)
    leave_out(folder, [place.facts("").absent_folders[1]])
    git(folder, "checkout", "--quiet", "--force", "--detach", commit, "--", seconds=LONG_SECONDS)
