"""Changing a file of somebody else's: read, changed by a function, written whole, with a backup.

Owns that a write of another program is never lost where it can be seen: the file is read again
before each write, and what has changed meanwhile begins anew. A link is followed and stays;
where the file is a repository's, one that leads out of it is refused.
"""

import os
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from glob import escape
from pathlib import Path

from msgspec import Struct

from sow.config.userfile import copy_beside
from sow.errors import ConfigurationError, SowError, StateError
from sow.files import (
    locked_folder,
    open_folder,
    read_regular,
    refuse_leading_out,
    remove_file,
    sync_folder,
    write_atomically,
)
from sow.files.inside import USUAL
from sow.paths import display_path

LIMIT = 16 << 20
"""The largest such file that is read, in bytes."""
TRIES = 20


class Written(Struct, frozen=True):
    """What has become of a file."""

    before: bytes | None
    after: bytes | None
    """None: there is none."""
    backup: Path | None = None

    @property
    def is_changed(self) -> bool:
        """Whether it is another one now."""
        return self.before != self.after


def read_document(path: Path) -> bytes | None:
    """Return what a file holds; None where there is none. Raises NotAFile."""
    try:
        return read_regular(Path(os.path.realpath(path)), LIMIT)
    except FileNotFoundError:
        return None


def change_document(
    path: Path,
    change: Callable[[bytes | None], bytes | None],
    *,
    dry_run: bool = False,
    keeps_backup: bool | Callable[[bytes], bool] = True,
    kept: Collection[bytes | None] = (),
    root: Path | None = None,
) -> Written:
    """Replace what a file holds by what `change` makes of it, or leave it as it is.

    What is replaced or goes is kept in a backup, unless one of `kept` comes in its place (None
    there: it may go without); `keeps_backup` may be asked of what is there right before the write.

    `change` gets None for a file that is not there, returns None for one that is to go, and may be
    asked more than once; what it raises leaves everything as it was. `root` is the repository
    whose file it is. Raises ConfigurationError, NotAFile, NotWritten, LeadsOut.
    """
    if root is not None:
        refuse_leading_out(path, root=root)
    target = Path(os.path.realpath(path))
    top = None if root is None else Path(os.path.realpath(root))
    if not dry_run and change(read_document(target)) is not None:
        os.close(open_folder(target.parent, root=top, makes=USUAL))
    lock = nullcontext() if not target.parent.is_dir() else _lock_of(target.parent, top)
    with lock:
        for _ in range(TRIES):
            before = read_document(target)
            after = change(before)
            if before == after or dry_run:
                return Written(before, after)
            if before is not None and not _may_be_written(target):
                raise ConfigurationError(
                    f"{display_path(path)} was left as it is: it may not be written",
                    hint=f"If you mean it: chmod u+w {path}. Then run the same again.",
                )
            backup = None
            if before is not None and after not in kept and _is_worth(before, keeps_backup):
                backup = copy_beside(target, before)
            with _needless_unless_written(backup, target, before):
                if _put(target, before, after):
                    return Written(before, after, backup)
            if backup is not None:
                remove_file(backup)
    raise ConfigurationError(
        f"{display_path(path)} was left as it is: another program keeps writing it",
        hint="Close that program (an open session of Claude Code), and run the same again.",
    )


def _lock_of(folder: Path, root: Path | None) -> AbstractContextManager[int]:
    """Return the lock of a folder; all that is written in it goes by the folder it has open."""
    return locked_folder(folder, opening=lambda: open_folder(folder, root=root))


def backups_of(path: Path) -> list[Path]:
    """Return the copies of a file that were kept beside it, links followed."""
    target = Path(os.path.realpath(path))
    return sorted(target.parent.glob(f"{escape(target.name)}.backup*"))


def missing_folders(folder: Path) -> tuple[str, ...]:
    """Return which folders would have to be made for this one to be there, the outermost first."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    return tuple(map(str, reversed(missing)))


def remove_folders(folders: Sequence[str]) -> None:
    """Remove folders, the outermost first in the list, as far as they are empty."""
    for folder in reversed(folders):
        with suppress(OSError):
            Path(folder).rmdir()


@contextmanager
def _needless_unless_written(
    backup: Path | None, target: Path, before: bytes | None
) -> Iterator[None]:
    """Remove a copy again where the file could not be written, and is what the copy says."""
    try:
        yield
    except SowError:
        if backup is not None and read_document(target) == before:
            remove_file(backup)
        raise


def _is_worth(data: bytes, keeps_backup: bool | Callable[[bytes], bool]) -> bool:
    return keeps_backup(data) if callable(keeps_backup) else keeps_backup


def _put(target: Path, before: bytes | None, after: bytes | None) -> bool:
    """Write a file where it is still what it was; return whether it was.

    Another program's write is seen up to the rename, not only up to the draft: to bring a draft
    onto the disk may take long.
    """

    def is_still() -> bool:
        return read_document(target) == before

    if after is not None:
        return write_atomically(target, after, still=is_still)
    if not is_still():
        return False
    remove_file(target)
    sync_folder(target.parent)
    return True


def _may_be_written(path: Path) -> bool:
    """Whether its owner has left it writable; to root, everything is."""
    return bool(path.stat().st_mode & 0o222) and os.access(path, os.W_OK)


class UnfitFile(ConfigurationError):
    """A file is not of the form that its owner reads; it is left as it is."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(
            f"{display_path(path)} was left as it is: {reason}",
            hint="Mend that file, or move it away; then run the same again.",
        )


class EditedByHand(ConfigurationError):
    """What sow would replace is no longer what sow has written."""

    def __init__(self, path: Path, what: str, command: str, difference: str) -> None:
        super().__init__(
            f"{what} in {display_path(path)} has been edited, and was left as it is"
            f"\n\n{difference}",
            hint=f"`{command} --force` replaces it; what is there now is kept in a backup.",
        )


class NothingOnRecord(StateError):
    """There is nothing that sow could take away again."""

    def __init__(self, what: str, where: Path) -> None:
        super().__init__(
            f"{what} is not on record in {display_path(where)}",
            hint="`sow install status` shows what is installed, and where.",
        )
