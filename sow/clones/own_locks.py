"""The lock files that a git of ours has left in the main repository when it was killed.

A git that is killed leaves its `….lock` for ever, and every later git is refused. Nothing in
such a file says whose it is, so before a git of ours takes locks there, their names are noted;
who finds a note whose writer works no more knows that a lock of that name was that git's.
Another git's lock is never removed.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from msgspec import Struct

from sow.clones.deleting import delete_folder
from sow.clones.steps import read_json, write_json
from sow.errors import StateError
from sow.files import locked_folder
from sow.git.git_errors import GitKilled, GitTookTooLong
from sow.git.repository import Repository

FOLDER = "sow/locks"
"""Below the git folder: a folder for each git of ours that takes locks, locked while it runs."""
NOTE = "note.json"
STILL_SECONDS = 1.0
"""How long a lock has to be as it is: a git that lives keeps one of a branch for milliseconds."""
WINDOW_SECONDS = 30.0
"""A lock that came so long after its note is another git's: ours are ended earlier."""


class Note(Struct, frozen=True):
    """The locks that a git was about to take, and when."""

    locks: tuple[str, ...] = ()
    at: float = 0.0


@contextmanager
def own_locks(main: Repository, *locks: Path) -> Iterator[None]:
    """Note that the block's git takes these locks, so that they are known should it be killed.

    Locks that an earlier one has left are removed first. Raises NotWritten, StateLocked.
    """
    clear_own_locks(main)
    folder = main.common_dir / FOLDER / os.urandom(16).hex()
    folder.mkdir(parents=True)
    with locked_folder(folder):
        note = Note(tuple(map(str, locks)), time.time())
        write_json(folder / NOTE, note)
        try:
            yield
        except (GitKilled, GitTookTooLong):
            raise  # what it has left is told by the note
        except BaseException:
            delete_folder(folder)
            raise
        delete_folder(folder)


def locks_of_branch(main: Repository, branch: str) -> tuple[Path, ...]:
    """Return the locks that a git takes which moves a branch; HEAD's where that names it.

    Where git keeps references in another form, they are those of its lists of tables.
    """
    tables = (folder / "reftable/tables.list.lock" for folder in (main.common_dir, main.git_dir))
    branch_lock = main.common_dir / "refs" / "heads" / f"{branch}.lock"
    return branch_lock, main.git_dir / "HEAD.lock", *tables


def clear_own_locks(main: Repository) -> None:
    """Remove the locks that gits of ours have left which were killed."""
    folder = main.common_dir / FOLDER
    with suppress(FileNotFoundError, NotADirectoryError):
        for writer in list(folder.iterdir()):
            with suppress(StateError), locked_folder(writer, timeout_seconds=0.0):
                _clear(main, writer)


def _clear(main: Repository, folder: Path) -> None:
    note = read_json(folder / NOTE, Note) or Note()  # a damaged one names nothing
    for lock in map(Path, note.locks):
        if _is_gits(main, lock) and _is_left(lock, note.at):
            lock.unlink(missing_ok=True)
    delete_folder(folder)


def _is_gits(main: Repository, lock: Path) -> bool:
    """Whether a noted name is a lock's in a git folder of the repository."""
    folder = os.path.realpath(lock.parent)
    tops = map(os.path.realpath, (main.common_dir, main.git_dir))
    return lock.suffix == ".lock" and any(Path(folder).is_relative_to(top) for top in tops)


def _is_left(lock: Path, noted_at: float) -> bool:
    """Whether a lock came right after its note, and does not change any more."""
    before = _changed_at(lock)
    if before is None or not noted_at - STILL_SECONDS <= before <= noted_at + WINDOW_SECONDS:
        return False
    time.sleep(max(0.0, min(STILL_SECONDS, before + STILL_SECONDS - time.time())))
    return _changed_at(lock) == before


def _changed_at(path: Path) -> float | None:
    try:
        return path.lstat().st_mtime
    except OSError:
        return None
