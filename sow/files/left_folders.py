"""Folders in which a command works by itself, and what a killed command has left of them.

Owns the note about each, in the user's folder of state: which folder it is, and in which
repositories of it agents may run, each with the id of its project. The command holds its note
locked. The lock ends with the process, however that ends: who gets it knows that nobody looks after
the folder any more.

A note is one JSON object a line: the folder first, then what has come to be true of it.
"""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from sow.files.flock import lock_existing, open_lock_file, try_lock
from sow.files.inside import PRIVATE
from sow.user_folders import BaseFolder, user_folder

PREFIX = "sow-"
"""How the name of a folder begins that is removed; any other one stays, whatever its note says."""
SUFFIX = ".json"
LIMIT = 1 << 20
"""No note is longer, in bytes."""
READING = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


class LeftRepository(NamedTuple):
    """A repository in which agents may run."""

    root: Path
    project: str
    """The id of its project. Somebody may have put another repository in its place since."""


class LeftFolder(NamedTuple):
    """What a note says."""

    folder: Path
    is_kept: bool
    """Whether the folder is to stay: only what runs in it has to end."""
    repositories: tuple[LeftRepository, ...]


class FolderNote:
    """The note about a folder, locked by this process."""

    def __init__(self, path: Path, descriptor: int) -> None:
        """`descriptor` is the note, open and locked."""
        self.path = path
        self._descriptor = descriptor

    def add(self, root: Path, project: str) -> None:
        """Note that agents of a project may run in a repository from now on. Raises OSError."""
        _append(self._descriptor, {"repository": str(root), "project": project})

    def keep(self) -> None:
        """Note that the folder is to stay, as far as that can be written now."""
        with suppress(OSError):
            _append(self._descriptor, {"is_kept": True})

    def remove(self) -> None:
        """Remove the note: nothing runs in the folder any more."""
        self.path.unlink(missing_ok=True)

    def close(self) -> None:
        """Unlock the note: if it is still there, another command may take the folder over."""
        os.close(self._descriptor)


def notes_folder() -> Path:
    """Return the folder of the notes. Nothing promises that it is there."""
    return Path(user_folder(BaseFolder.STATE), "left-folders")


def note_folder(folder: Path, *, is_kept: bool) -> FolderNote:
    """Note that this process works in a folder. Raises OSError."""
    notes = notes_folder()
    notes.mkdir(mode=PRIVATE, parents=True, exist_ok=True)
    new = notes / f".{os.urandom(8).hex()}"
    descriptor = open_lock_file(new)
    try_lock(descriptor)  # nobody looks at a name that begins so
    _append(descriptor, {"folder": str(folder), "is_kept": is_kept})
    path = notes / f"{new.name.removeprefix('.')}{SUFFIX}"
    new.rename(path)
    return FolderNote(path, descriptor)


def left_folders() -> list[LeftFolder]:
    """Return the folders that killed commands have left."""
    with _abandoned() as found:
        return [left for _, left in found]


@contextmanager
def taken_folders() -> Iterator[list[tuple[FolderNote, LeftFolder]]]:
    """Take over what killed commands have left, for the length of the block.

    A note that is not removed there is left as before.
    """
    with _abandoned() as found:
        yield found


@contextmanager
def _abandoned() -> Iterator[list[tuple[FolderNote, LeftFolder]]]:
    """Give the notes that nobody held, locked."""
    found: list[tuple[FolderNote, LeftFolder]] = []
    try:
        for path in sorted(notes_folder().glob(f"[!.]*{SUFFIX}")):
            descriptor = _locked(path)
            if descriptor is None:
                continue
            left = _read(descriptor)
            if left is None:
                os.close(descriptor)
            else:
                found.append((FolderNote(path, descriptor), left))
        yield found
    finally:
        for note, _ in found:
            note.close()


def _locked(path: Path) -> int | None:
    """Return a note, open and locked; None where its command lives, or it is gone."""
    try:
        return lock_existing(path, READING)
    except OSError:
        return None


def _append(descriptor: int, value: object) -> None:
    line = json.dumps(value) + "\n"  # in ASCII; a lone surrogate of a path is escaped
    os.write(descriptor, line.encode("ascii"))


def _read(descriptor: int) -> LeftFolder | None:
    """Return what a note says; None where it is none of ours.

    Its last line may be cut: then nothing has begun in that repository.
    """
    try:
        *lines, _ = os.pread(descriptor, LIMIT, 0).decode("ascii", "replace").split("\n")
        records = [json.loads(line) for line in lines]
        folder = Path(records[0]["folder"])
        is_kept = any(record.get("is_kept") for record in records)
        repositories = tuple(
            LeftRepository(Path(record["repository"]), str(record["project"]))
            for record in records
            if "repository" in record
        )
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return None
    return LeftFolder(folder, is_kept or not folder.name.startswith(PREFIX), repositories)
