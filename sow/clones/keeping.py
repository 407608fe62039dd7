"""Results that no commit takes and that somebody wants (`clones.keep`), moved out of a clone.

They come into the folder `kept/<task>` beside the clone, each at its path, by a
rename: nothing is overwritten, and no link is followed. Done again after a kill
it moves the rest.
"""

import os
import stat
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath

from msgspec import Struct

from sow.clones.copying import matches
from sow.clones.locks import LinkedFolder
from sow.clones.mark import is_real_folder
from sow.clones.place import Place
from sow.files import NotWritten
from sow.git.inert_refs import read_head
from sow.git.private_view import private_view, real_git_dir
from sow.git.repository import Repository
from sow.git.run import LONG_SECONDS

FOLDER = "kept"


class Kept(Struct, frozen=True):
    """What was moved out of a clone, or would be."""

    folder: Path
    files: tuple[str, ...]
    """Relative to the clone's top, and to the folder."""


def results_of(place: Place, main: Repository, patterns: Sequence[str]) -> tuple[str, ...]:
    """Return the files of a clone that patterns mean and its commit has not. Raises GitRefused.

    Patterns are relative to what stands for the workspace's root. Raises UnsafeClone.
    """
    found = set()
    for pattern in patterns:
        for path, mode in matches(place.root, "", PurePosixPath(pattern).parts):
            if stat.S_ISREG(mode) or stat.S_ISLNK(mode):
                found.add(str(PurePosixPath(place.inside, path)))
    if not found:
        return ()
    head = read_head(real_git_dir(place.path)).commit
    with private_view(place.path, main) as view:
        words = ("ls-tree", "-r", "-z", "--name-only", head or "HEAD")
        return tuple(sorted(found - set(view.records(*words, seconds=LONG_SECONDS))))


def keep(place: Place, files: Sequence[str]) -> Kept | None:
    """Move files out of a clone; None where there are none. Raises NotWritten, LinkedFolder."""
    if not files:
        return None
    folder = kept_folder(place, files)
    for path in files:
        target = folder / path
        _refuse_links(target, place.path.parent)
        try:
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            (place.path / path).rename(target)
        except OSError as error:
            raise NotWritten(target, error) from error
    return Kept(folder, tuple(files))


def _refuse_links(target: Path, top: Path) -> None:
    """Raise LinkedFolder where a link, which agents can make there, would lead a file elsewhere."""
    for folder in target.parents:
        if folder == top:
            return
        if folder.is_symlink():
            raise LinkedFolder(folder)


def kept_folder(place: Place, files: Iterable[str] = ()) -> Path:
    """Return the folder for a task's results: one in which nothing is in the way of the files."""
    above = place.path.with_name(FOLDER)
    folder, number = above / place.path.name, 1
    while any(_is_in_the_way(folder, path) for path in files):
        number += 1
        folder = above / f"{place.path.name}.{number}"
    return folder


def _is_in_the_way(folder: Path, path: str) -> bool:
    """Whether something lies at a file's place, or where a folder above it would have to be."""
    folders = (folder / above for above in PurePosixPath(path).parents)
    return os.path.lexists(folder / path) or any(
        os.path.lexists(above) and not is_real_folder(above) for above in folders
    )
