"""The files of a clone that no commit takes: ignored ones, and changes in what setup has made.

They go with a clone, so they are told by name. Owns which of them are nobody's
but the setup's. Reads only.
"""

import os
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from msgspec import Struct

from sow.clones.gitlinks import files_below
from sow.clones.record import SetupMade

MOST_FILES = 10_000
"""So many files of one folder are counted."""
CACHES = frozenset(
    {"__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis", "node_modules"}
)
"""Made anew by whoever needs them: named after everything else."""


class Ignored(Struct, frozen=True):
    """A file that no commit takes, or a folder of such files."""

    path: str
    """Relative to the clone's top; a folder ends with a slash."""
    count: int = 1
    """How many files it is."""

    @property
    def words(self) -> str:
        """The path, and of a folder how many files it holds."""
        if not self.path.endswith("/"):
            return self.path
        more = " or more" if self.count >= MOST_FILES else ""
        return f"{self.path} ({self.count}{more} file{'s' * (self.count != 1)})"


def ignored_files(
    clone: Path, ignored: Collection[str], withheld: Iterable[str], made: SetupMade
) -> tuple[Ignored, ...]:
    """Return what is told of the files that go with a clone, results first.

    `ignored` are files, and folders with a slash; `withheld` is what sow and
    the setup have put there: of those only what was written since counts.
    """
    theirs = {*made.ignored, *withheld}
    paths = [path for path in sorted(ignored) if not _is_within(path, theirs)]
    for path in sorted(theirs):
        paths += _written_since(clone, path.rstrip("/"), made.at)
    return still_there(clone, sorted(set(paths), key=lambda path: (_is_cache(path), path)))


def still_there(clone: Path, paths: Iterable[str]) -> tuple[Ignored, ...]:
    """Return files and folders as they lie in a clone now; what is gone or empty is left out."""
    found = (Ignored(path, _count(clone, path)) for path in paths)
    return tuple(each for each in found if each.count)


def _count(clone: Path, path: str) -> int:
    if path.endswith("/"):
        return len(files_below(clone, path.rstrip("/"), MOST_FILES))
    return int(os.path.lexists(clone / path))


def _is_within(path: str, folders: Collection[str]) -> bool:
    return any(
        path.rstrip("/") == f.rstrip("/") or path.startswith(f"{f.rstrip('/')}/") for f in folders
    )


def _is_cache(path: str) -> bool:
    return not CACHES.isdisjoint(path.split("/"))


def _written_since(clone: Path, path: str, at: int) -> Iterator[str]:
    """Yield the files that were written after the setup, compiled ones left out."""
    if not at:
        return
    place = clone / path
    is_folder = place.is_dir() and not place.is_symlink()
    for file in files_below(clone, path, MOST_FILES) if is_folder else [path]:
        try:
            is_newer = os.lstat(clone / file).st_ctime_ns >= at
        except OSError:
            continue
        if is_newer and not file.endswith(".pyc"):
            yield file
