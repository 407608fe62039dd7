"""Files of a clone that git would open and wait for: pipes and devices in the place of its own.

Git reads its lists of patterns and its objects without a look at what they are.
A named pipe in such a place would keep a git of ours waiting until its time is up.
"""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from sow.git.inert_refs import UnsafeClone

READ_BY_GIT = frozenset({".gitignore", ".gitattributes", ".gitmodules", ".lfsconfig"})
"""What is read of a working tree, at any depth, whoever has put it there."""
GIT_DIR = ".git"


def refuse_special_files(objects: Path, top: Path | None) -> None:
    """Raise UnsafeClone where git would wait for a file that it reads of a working tree."""
    for path in (*special_objects(objects), *(special_lists(top) if top else ())):
        raise UnsafeClone(path, "is neither a file nor a link")


def special_objects(objects: Path) -> Iterator[Path]:
    """Yield what is no file in the folders of objects, wherever it leads."""
    for folder in _entries(objects):
        if folder.is_dir(follow_symlinks=False):
            for entry in _entries(folder.path):
                if not entry.is_file() and _is_special(entry):
                    yield Path(entry.path)


def special_lists(top: Path) -> Iterator[Path]:
    """Yield the special files that bear the name of a list; git follows no link to one."""
    folders = [os.fspath(top)]
    while folders:
        for entry in _entries(folders.pop()):
            if entry.is_dir(follow_symlinks=False):
                if entry.name != GIT_DIR:
                    folders.append(entry.path)
            elif entry.name in READ_BY_GIT and not (
                entry.is_file(follow_symlinks=False) or entry.is_symlink()
            ):
                yield Path(entry.path)


def _entries(folder: str | Path) -> list["os.DirEntry[str]"]:
    """Return what a folder holds; nothing of one that cannot be read: git cannot either."""
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []


def _is_special(entry: "os.DirEntry[str]") -> bool:
    """Whether a pipe or a device is at the end of a path; a link to nowhere is no file to git."""
    try:
        mode = entry.stat().st_mode
    except OSError:
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)
