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
from dataclasses import replace
from pathlib import Path

from sow.clones.copying import copy_files
from sow.clones.deleting import NotDeleted, delete_clone, delete_folder
from sow.clones.locks import DRAFT, FOLDER_MODE, GONE, LinkedFolder, draft_path, refuse_links_above
from sow.clones.make import escaped
from sow.clones.mark import Stage, mark_for, own_mark, write_mark
from sow.clones.place import Place
from sow.clones.surroundings import (
    keep_out_of_commits,
    link_large_files,
    point_at_remote,
    take_settings,
)
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


def make_review_clone(
    place: Place,
    main: Repository,
    commit: str,
    *,
    copy: Sequence[str] = (),
    without: Sequence[str] = (),
) -> Path:
    """Return the folder for the workspace's root in a clone of `commit` at a review's place.

    One that is there is kept: its reviewer goes on in it. `without` are files
    of the commit that are not checked out, besides the project's state. The
    clone is put in place whole. Raises GitRefused, NotWritten, UnsafeClone.
    """
    if own_mark(place) is None:
        delete_clone(place.path)
        _make(place, main, commit, copy, without)
    meant = Path(os.path.realpath(place.path)) / place.inside
    if Path(os.path.realpath(place.root)) != meant:
        raise UnsafeClone(place.root, "is a link in the commit that is reviewed")
    place.root.mkdir(parents=True, exist_ok=True)  # a commit need not know the workspace's folder
    return place.root


def _make(
    place: Place, main: Repository, commit: str, copy: Sequence[str], without: Sequence[str]
) -> None:
    draft = draft_path(place.path)
    try:
        draft.mkdir(mode=FOLDER_MODE, parents=True)
    except OSError as error:
        raise NotWritten(draft, error) from error
    try:
        _borrow(draft, main, commit)
        point_at_remote(draft, main)
        take_settings(draft, main)
        link_large_files(draft, main)
        _check_out(draft, place, commit, without)
        copied = copy_files(place.workspace, draft, place.inside, copy)
        keep_out_of_commits(draft, main, copied.paths)
        mark = mark_for(place, commit)
        write_mark(draft, mark._replace(stage=str(Stage.WHOLE), copied=copied.paths))
        draft.rename(place.path)
    except BaseException as error:
        with suppress(NotDeleted):
            delete_folder(draft)
        if isinstance(error, OSError):
            raise NotWritten(place.path, error) from error
        raise


def _borrow(draft: Path, main: Repository, commit: str) -> None:
    """Begin a repository that reads the objects of the main one, and has none of its names."""
    form = "sha256" if len(commit) == 64 else "sha1"
    git(draft, "init", "--quiet", "--template=", f"--object-format={form}", ".")
    info = draft / ".git" / "objects" / "info"
    info.mkdir(parents=True, exist_ok=True)
    (info / "alternates").write_bytes(os.fsencode(main.common_dir / "objects") + b"\n")
    if main.is_shallow:
        shallow = (main.common_dir / "shallow").read_bytes()
        (draft / ".git" / "shallow").write_bytes(shallow)


def _check_out(draft: Path, place: Place, commit: str, without: Sequence[str]) -> None:
    """Check out all but what is left out. The user's own filters act, as in every clone."""
    left_out = [f"{place.facts('').project_folder}/", *without]
    patterns = "/*\n" + "".join(f"!/{escaped(path)}\n" for path in left_out)
    (draft / ".git" / "info").mkdir(exist_ok=True)
    encoded = patterns.encode("utf-8", "surrogateescape")
    (draft / ".git" / "info" / "sparse-checkout").write_bytes(encoded)
    git(draft, "config", "core.sparseCheckout", "true")
    git(draft, "config", "core.sparseCheckoutCone", "false")
    git(draft, "checkout", "--quiet", "--force", "--detach", commit, seconds=LONG_SECONDS)


def remove_review_clone(place: Place) -> None:
    """Delete the throw-away clone of a review, if it is there. Raises NotDeleted."""
    delete_clone(place.path)


def sweep_reviews(folder: Path, is_live: Callable[[int], bool]) -> list[Path]:
    """Delete what reviews that are over have left in a folder of clones; return it.

    `is_live` tells whether a job still lives. What cannot be deleted now is
    left for the next sweep.
    """
    swept = []
    with suppress(OSError, LinkedFolder):
        refuse_links_above(folder / PREFIX)
        for path in sorted(folder.iterdir()):
            found = OURS.fullmatch(path.name)
            if found is not None and not is_live(int(found[1])):
                with suppress(NotDeleted):
                    delete_folder(path)
                    swept.append(path)
    return swept
