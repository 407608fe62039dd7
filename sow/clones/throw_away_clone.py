"""A throw-away clone of one commit, in which a reviewer or a check may do what it likes.

Owns its making and its end. It lies beside the tasks' clones, has no branch
that anybody takes anything from, and borrows the objects of the main
repository: it costs a checkout. Whoever is killed while making one leaves a
draft, which the next sweep deletes.
"""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from msgspec.structs import replace

from sow.clones.copying import copy_files
from sow.clones.deleting import NotDeleted, delete_clone, delete_folder
from sow.clones.locks import (
    DRAFT,
    FOLDER_MODE,
    GONE,
    LinkedFolder,
    draft_path,
    locked_place,
    refuse_links_above,
)
from sow.clones.main_checkout import MainCheckout
from sow.clones.make import drafted, leave_out, sweep
from sow.clones.mark import Stage, mark_for, own_mark, write_mark
from sow.clones.place import Place
from sow.clones.steps import no_step
from sow.clones.taken_over import copy_settings, keep_out_of_commits
from sow.git.inert_refs import UnsafeClone
from sow.git.repository import Repository, format_of
from sow.git.run import LONG_SECONDS, git

PREFIX = ".review-"
OURS = re.compile(
    rf"(?:{re.escape(DRAFT)}|{re.escape(GONE)})?{re.escape(PREFIX)}([0-9]+)(?:-[0-9a-f]+)?"
)


def review_place(place: Place, job: int) -> Place:
    """Return where the throw-away clone of a review lies: beside the clone of its task."""
    return replace(place, path=place.path.with_name(f"{PREFIX}{job}"))


def make_review_clone(
    place: Place,
    main: Repository,
    commit: str,
    *,
    copy: Sequence[str] = (),
    without: Sequence[str] = (),
    step: Callable[[str], None] = no_step,
) -> Path:
    """Return the folder for the workspace's root in a clone of `commit` at a review's place.

    One that is whole is kept: its reviewer goes on in it. Who makes it ready for
    work says that it is (`finish_clone`). `without` are files
    of the commit that are not checked out, besides the project's state. The
    clone is put in place in one piece; what a killed try has left beside it goes.
    Raises GitRefused, NotWritten, UnsafeClone.
    """
    mark = own_mark(place)
    if mark is None or mark.stage != Stage.WHOLE:
        delete_clone(place.path)
        sweep(place.path)
        _make(place, main, commit, copy, without, step)
    meant = Path(os.path.realpath(place.path)) / place.inside
    if Path(os.path.realpath(place.root)) != meant:
        raise UnsafeClone(place.root, "is a symbolic link in the reviewed commit")
    place.root.mkdir(parents=True, exist_ok=True)  # a commit need not know the workspace's folder
    return place.root


def _make(
    place: Place,
    main: Repository,
    commit: str,
    copy: Sequence[str],
    without: Sequence[str],
    step: Callable[[str], None],
) -> None:
    with drafted(place.path) as draft:
        _check_out(draft, main, commit, (*place.absent_folders, *without), step)
        copied = copy_files(place.workspace, draft, place.inside, copy)
        keep_out_of_commits(draft, main, copied.paths)
        write_mark(draft, mark_for(place, commit)._replace(copied=copied.paths))
        step("files copied")
        draft.rename(place.path)
        step("put in place")


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
            _check_out(folder, main.repository, commit, place.absent_folders[1:], no_step)
            copy_files(place.workspace, folder, place.inside, main.settings.copy)
            yield folder / place.inside
        finally:
            with suppress(NotDeleted):
                delete_folder(folder)


def _check_out(
    folder: Path,
    main: Repository,
    commit: str,
    without: Sequence[str],
    step: Callable[[str], None],
) -> None:
    """Make a repository that reads the objects of the main one, and has none of its names.

    All of a commit is checked out but what is left out. The user's own filters act, as in
    every clone.
    """
    folder.mkdir(mode=FOLDER_MODE, parents=True)
    step("draft begun")
    form = f"--object-format={format_of(commit)}"
    git(folder, "init", "--quiet", "--template=", form, ".")
    info = folder / ".git" / "objects" / "info"
    info.mkdir(parents=True, exist_ok=True)
    (info / "alternates").write_bytes(os.fsencode(main.common_dir / "objects") + b"\n")
    if main.is_shallow:
        shallow = (main.common_dir / "shallow").read_bytes()
        (folder / ".git" / "shallow").write_bytes(shallow)
    step("objects borrowed")
    copy_settings(folder, main)
    step("settings taken")
    leave_out(folder, without)
    git(folder, "checkout", "--quiet", "--force", "--detach", commit, "--", seconds=LONG_SECONDS)
    step("checked out")


def remove_review_clone(place: Place) -> None:
    """Delete the throw-away clone of a review, if it is there. Raises NotDeleted."""
    delete_clone(place.path)


def sweep_reviews(
    folder: Path, is_live: Callable[[int], bool], *, dry_run: bool = False
) -> list[Path]:
    """Delete what reviews that are over have left in a folder of clones; return it.

    `is_live` tells whether a job still lives. What cannot be deleted now is
    left for the next sweep. With `dry_run` nothing is deleted.
    """
    swept = []
    with suppress(OSError, LinkedFolder):
        refuse_links_above(folder / PREFIX)
        for path in sorted(folder.iterdir()):
            found = OURS.fullmatch(path.name)
            if found is not None and not is_live(int(found[1])):
                with suppress(NotDeleted):
                    if not dry_run:
                        delete_folder(path)
                    swept.append(path)
    return swept
