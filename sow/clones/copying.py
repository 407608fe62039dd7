"""The files that git does not know and a clone needs (`clones.copy`), copied into it.

Owns which files a pattern means, and that nothing from outside the workspace's
root is read and nothing outside the clone is written, whatever links lie about.
"""

import os
import shutil
import stat
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

from msgspec import Struct

from sow.clones.mark import is_real_folder
from sow.config.clones import pattern_fault
from sow.files import NotWritten

ANY_DEPTH = "**"
NEVER = frozenset({".git", ".sow"})
"""What belongs to git and to sow is found by no pattern."""


class Copied(Struct, frozen=True):
    """What became of the patterns."""

    paths: tuple[str, ...]
    """The files that were copied, relative to the clone's top."""
    notes: tuple[str, ...]
    """What was left out, in sentences."""


def files_to_copy(root: Path, patterns: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the files that patterns mean, relative to `root`, and what is told of the rest.

    Links are neither followed nor meant. Reads folders only.
    """
    found: dict[str, None] = {}
    notes: list[str] = []
    for pattern in patterns:
        if fault := pattern_fault(pattern):
            notes.append(f"clones.copy: {pattern!r} {fault}, so it was left out")
            continue
        fitting = list(matches(root, "", PurePosixPath(pattern).parts))
        for path, mode in fitting:
            if stat.S_ISLNK(mode):
                notes.append(f"clones.copy: {path} is a symbolic link, so it was not copied")
            elif stat.S_ISREG(mode):
                found[path] = None
            else:
                notes.append(f"clones.copy: {path} is not a regular file, so it was not copied")
        if not fitting:
            notes.append(f"clones.copy: no file matches {pattern!r}")
    return sorted(found), list(dict.fromkeys(notes))


def copy_files(root: Path, top: Path, inside: str, patterns: Sequence[str]) -> Copied:
    """Copy what patterns mean below `root` to the same places below `top`/`inside`.

    Modes are kept. A file that is in the clone already, because git knows it,
    stays as the commit has it. Raises NotWritten.
    """
    paths, notes = files_to_copy(root, patterns)
    copied = []
    for path in paths:
        target = PurePosixPath(inside, path)
        reason = _copy(root / path, top, target)
        if reason:
            notes.append(f"clones.copy: {path} {reason}")
        else:
            copied.append(str(target))
    return Copied(tuple(copied), tuple(notes))


def _copy(source: Path, top: Path, target: PurePosixPath) -> str:
    """Copy one file; return why not, in words, where the clone has no place for it."""
    folder = top
    for part in target.parts[:-1]:
        folder /= part
        if os.path.lexists(folder) and not is_real_folder(folder):
            return f"was not copied: {folder} is not a real folder in the clone"
    path = top / target
    if os.path.lexists(path):
        return "was not copied: git tracks it, so the clone already has it"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _copy_regular(source, path)
    except OSError as error:
        raise NotWritten(path, error) from error
    return ""


def _copy_regular(source: Path, path: Path) -> None:
    """Copy a file with its mode; nobody else may read the copy at any moment before."""
    reading = os.open(source, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(reading, "rb") as data:
        facts = os.fstat(reading)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        writing = os.open(path, flags, 0o600)
        with os.fdopen(writing, "wb") as copy:
            shutil.copyfileobj(data, copy, 1 << 20)
        path.chmod(stat.S_IMODE(facts.st_mode) & 0o777)
        os.utime(path, ns=(facts.st_atime_ns, facts.st_mtime_ns))


def matches(root: Path, folder: str, parts: Sequence[str]) -> Iterator[tuple[str, int]]:
    """Yield what lies below `folder` and fits, with its mode; no link is followed.

    A pattern that names a folder, by a `**` at its end or as it is, means all below it.
    """
    if not parts or tuple(parts) == (ANY_DEPTH,):
        yield from _below(root, folder)
        return
    first, rest = parts[0], parts[1:]
    if first == ANY_DEPTH:
        yield from matches(root, folder, rest)
    for name, mode in _entries(root, folder):
        path = f"{folder}/{name}" if folder else name
        if first == ANY_DEPTH:
            if stat.S_ISDIR(mode):
                yield from matches(root, path, parts)
        elif fnmatchcase(name, first):
            if stat.S_ISDIR(mode):
                yield from matches(root, path, rest)
            elif not rest or stat.S_ISLNK(mode):
                yield path, mode


def _below(root: Path, folder: str) -> Iterator[tuple[str, int]]:
    for name, mode in _entries(root, folder):
        path = f"{folder}/{name}" if folder else name
        if stat.S_ISDIR(mode):
            yield from _below(root, path)
        else:
            yield path, mode


def _entries(root: Path, folder: str) -> list[tuple[str, int]]:
    try:
        with os.scandir(root / folder) as entries:
            found = [(entry.name, entry.stat(follow_symlinks=False).st_mode) for entry in entries]
    except OSError:
        return []
    return sorted(each for each in found if each[0] not in NEVER)
