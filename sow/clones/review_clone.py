"""A throw-away clone of one commit, in which a reviewer may run what it likes and change nothing.

Owns its making and its end. It lies beside the tasks' clones, has no branch
that anybody takes anything from, and borrows the objects of the main
repository: it costs a checkout. Whoever is killed while making one leaves a
draft, which the next sweep deletes.
"""

import os
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from sow.clones.copying import copy_files
from sow.clones.deleting import NotDeleted, delete_clone, delete_folder
from sow.clones.locks import DRAFT, FOLDER_MODE, GONE, LinkedFolder, draft_path, refuse_links_above
from sow.clones.make import leave_out, sweep
from sow.clones.mark import Stage, mark_for, own_mark, write_mark
from sow.clones.place import Place
from sow.clones.steps import no_step
from sow.clones.taken_over import copy_settings, keep_out_of_commits
from sow.files import NotWritten
from sow.git.inert_refs import UnsafeClone
from sow.git.repository import Repository
from sow.git.run import LONG_SECONDS, git

PREFIX = ".review-"
OURS = re.compile(
    rf"(?:{re.escape(DRAFT)}|{re.escape(GONE)})?{re.escape(PREFIX)}([0-9]+)(?:-[0-9a-f]+)?"
)


def review_place(place: Place, job: int) -> Place:
    """Return where the throw-away clone of a review lies: beside the clone of its task."""
    return replace(place, path=place.path.with_name(f"{PREFIX}{job}"))


class Making(Struct, frozen=True):
    """A throw-away clone on its way."""

    draft: Path
    place: Place
    main: Repository
    commit: str
    copy: Sequence[str]
    without: Sequence[str]
    """Files of the commit that are not checked out, besides the project's state."""


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
        _make(Making(draft_path(place.path), place, main, commit, copy, without), step)
    meant = Path(os.path.realpath(place.path)) / place.inside
    if Path(os.path.realpath(place.root)) != meant:
        raise UnsafeClone(place.root, "is a symbolic link in the reviewed commit")
    place.root.mkdir(parents=True, exist_ok=True)  # a commit need not know the workspace's folder
    return place.root


def _make(making: Making, step: Callable[[str], None]) -> None:
    try:
        for name, act in STEPS.items():
            act(making)
            step(name)
    except BaseException as error:
        with suppress(NotDeleted):
            delete_folder(making.draft)
        if isinstance(error, OSError):
            raise NotWritten(making.place.path, error) from error
        raise


def _begin(making: Making) -> None:
    making.draft.mkdir(mode=FOLDER_MODE, parents=True)


def _borrow(making: Making) -> None:
    """Begin a repository that reads the objects of the main one, and has none of its names."""
    main = making.main
    form = "sha256" if len(making.commit) == 64 else "sha1"
    git(making.draft, "init", "--quiet", "--template=", f"--object-format={form}", ".")
    info = making.draft / ".git" / "objects" / "info"
    info.mkdir(parents=True, exist_ok=True)
    (info / "alternates").write_bytes(os.fsencode(main.common_dir / "objects") + b"\n")
    if main.is_shallow:
        shallow = (main.common_dir / "shallow").read_bytes()
        (making.draft / ".git" / "shallow").write_bytes(shallow)


def _copy_settings(making: Making) -> None:
    copy_settings(making.draft, making.main)


def _check_out(making: Making) -> None:
    """Check out all but what is left out. The user's own filters act, as in every clone."""
    leave_out(making.draft, (*making.place.facts("").absent_folders, *making.without))
    words = ("checkout", "--quiet", "--force", "--detach", making.commit)
    git(making.draft, *words, seconds=LONG_SECONDS)


def _copy(making: Making) -> None:
    """Copy the user's own files and write whose it is: what makes it ready for work comes after."""
    place = making.place
    copied = copy_files(place.workspace, making.draft, place.inside, making.copy)
    keep_out_of_commits(making.draft, making.main, copied.paths)
    mark = mark_for(place, making.commit)
    write_mark(making.draft, mark._replace(copied=copied.paths))


def _put_in_place(making: Making) -> None:
    making.draft.rename(making.place.path)


STEPS: dict[str, Callable[[Making], None]] = {
    "draft begun": _begin,
    "objects borrowed": _borrow,
    "settings taken": _copy_settings,
    "checked out": _check_out,
    "files copied": _copy,
    "put in place": _put_in_place,
}
"""What is done, in this order. Whoever is killed after one of them has done it whole."""


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
