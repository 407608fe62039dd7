"""A repository that lies inside a clone, seen through a git folder of our own.

A submodule, a linked working tree, or a repository that an agent has made or
cloned there. As in `private_view`, the git that runs here sees the objects of
it alone: no setting, hook, filter or monitor of that repository acts. Reads only.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from sow.files.scratch import scratch_folder
from sow.git.inert_refs import UnsafeClone, read_text
from sow.git.private_view import LIST_LIMIT, own_view
from sow.git.repository import Repository, format_of
from sow.git.special_files import refuse_special_files
from sow.git.view import View

GIT_FILE_LIMIT = 1 << 16
TAKEN = ("info/exclude", "shallow")
LINK = "gitdir:"


class InnerRepository(Struct, frozen=True):
    """A repository that lies inside a clone."""

    path: str
    """Where it lies, relative to the clone's top: its working tree, or the git folder itself."""
    git_dir: Path
    """The folder with its HEAD."""
    common_dir: Path
    """The folder with its objects and refs: another one for a linked working tree."""
    work_tree: Path | None
    """None for one that has no files checked out."""
    module: str | None = None
    """The name that git keeps it by as a submodule of the clone."""

    @property
    def is_linked(self) -> bool:
        """Whether it is a second working tree of another repository."""
        return self.git_dir != self.common_dir


def inner_repository(clone: Path, path: str) -> InnerRepository:
    """Return the repository whose working tree is `path` in a clone; it has a `.git` there.

    Raises UnsafeClone where its git folder is not a real folder inside of the clone.
    """
    work_tree = clone / path
    entry = work_tree / ".git"
    if entry.is_symlink():
        raise UnsafeClone(entry, "is a symbolic link to another place")
    if entry.is_dir():
        return InnerRepository(path, entry, entry, work_tree)
    text = read_text(work_tree, ".git", GIT_FILE_LIMIT) or ""
    if not text.startswith(LINK):
        raise UnsafeClone(entry, "names no git folder")
    git_dir = _inside(clone, entry, work_tree / text.removeprefix(LINK).strip())
    common = (read_text(git_dir, "commondir", GIT_FILE_LIMIT) or "").strip()
    common_dir = _inside(clone, entry, git_dir / common) if common else git_dir
    return InnerRepository(path, git_dir, common_dir, work_tree, _module(clone, common_dir))


def _inside(clone: Path, entry: Path, target: Path) -> Path:
    """Return a git folder that a `.git` names; UnsafeClone where it lies outside the clone."""
    found = Path(os.path.realpath(target))
    if Path(os.path.realpath(clone)) not in found.parents:
        raise UnsafeClone(entry, f"names a git folder elsewhere ({found})")
    if not found.is_dir():
        raise UnsafeClone(entry, f"names a git folder that is not there ({found})")
    return found


def _module(clone: Path, common_dir: Path) -> str | None:
    modules = Path(os.path.realpath(clone)) / ".git" / "modules"
    return common_dir.relative_to(modules).as_posix() if modules in common_dir.parents else None


@contextmanager
def inner_view(found: InnerRepository, main: Repository, commit: str | None) -> Iterator[View]:
    """Give a view of a repository inside a clone. It ends with the block.

    `commit` is one of that repository's, and tells how it names its objects. Raises
    UnsafeClone where it borrows objects, or where git would wait for a pipe.
    """
    objects = found.common_dir / "objects"
    _refuse_borrowing(found)
    refuse_special_files(objects, found.work_tree)
    files: dict[str, bytes] = {}
    for name in TAKEN:
        if text := read_text(found.common_dir, name, LIST_LIMIT):
            files[name] = text.encode("utf-8", "surrogateescape")
    with scratch_folder("git") as folder:
        work_tree = found.work_tree or folder
        yield own_view(folder, work_tree, objects, files, main, format_of(commit or ""))


def _refuse_borrowing(found: InnerRepository) -> None:
    borrowed = read_text(found.common_dir, "objects/info/alternates", LIST_LIMIT) or ""
    if borrowed.strip():
        path = found.common_dir / "objects" / "info" / "alternates"
        raise UnsafeClone(path, f"borrows objects from {borrowed.split()[0]}")
