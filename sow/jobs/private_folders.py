"""The folders below `.sow/run`: for their owner alone, whatever the umask, and whoever made them.

Owns their mode. What agents print and are told lies there. A folder that an
earlier sow, a copying tool or a person has left open is closed when it is next
used; one of another user is left as it is, for that user's files are in it.
"""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sow.errors import QueueError
from sow.files import LeadsOut
from sow.files.inside import PRIVATE as MODE
from sow.files.inside import opened_folder, refuse_leading_out
from sow.jobs.faults import QueueLeadsOut
from sow.paths import Workspace

OTHERS = 0o077


def make_private(folder: Path, *, below: Path) -> None:
    """Make a folder and those between it and `below`, each for its owner alone.

    Raises LeadsOut, OSError.
    """
    with opened_private(folder, below=below):
        pass


@contextmanager
def opened_private(folder: Path, *, below: Path) -> Iterator[int]:
    """Do as `make_private`, and give the folder, open. Raises LeadsOut, OSError."""
    with opened_folder(folder, root=below, makes=MODE) as descriptor:
        _close_to_others(descriptor)
        for part in folder.parents:
            if not str(part).startswith(f"{below}/"):
                break
            if _is_open_to_others(os.stat(part)):  # noqa: PTH116
                with opened_folder(part, root=below) as above:
                    _close_to_others(above)
        yield descriptor


def refuse_foreign_run(workspace: Workspace) -> None:
    """Raise QueueLeadsOut where `.sow/run`, or what sow keeps in it, is a link that leads out.

    What lies there is opened by its path: records, locks, pipes, output. Raises QueueError where it
    is no folder.
    """
    run = workspace.run
    if _kind_of(run) not in (0, stat.S_IFDIR, stat.S_IFLNK):
        # For this refusal alone.
        from shlex import quote

        raise QueueError(
            f"{run} is not a folder, so the queue and the job records in it are lost. A pull or"
            " checkout of a commit with a file of that name deletes them",
            hint="Move the file away, then run the command again; sow creates a new queue:\n   "
            f" mv {quote(str(run))} {quote(str(run))}.old\nIf git tracks it, `git rm"
            " --cached .sow/run` and a commit prevent this next time. The tasks' states"
            " and clones are stored elsewhere and are kept.",
        )
    try:
        refuse_leading_out(workspace.run)
        for path in (workspace.queue_db, workspace.jobs, workspace.workers, workspace.waiters):
            if path.is_symlink():
                refuse_leading_out(path)
    except LeadsOut as error:
        raise QueueLeadsOut(error) from error


def _kind_of(path: Path) -> int:
    """Return what lies at a path, as `stat.S_IFMT` has it; 0 for nothing.

    By one look: between two of them another call may make the folder.
    """
    try:
        return stat.S_IFMT(os.lstat(path).st_mode)
    except OSError:
        return 0


def close_to_others(folder: Path) -> None:
    """Take from others what they may do in a folder of ours. Raises OSError where it is none."""
    facts = os.stat(folder)  # noqa: PTH116
    if not stat.S_ISDIR(facts.st_mode):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder))
    if _is_open_to_others(facts):
        folder.chmod(stat.S_IMODE(facts.st_mode) & ~OTHERS)


def _close_to_others(descriptor: int) -> None:
    facts = os.fstat(descriptor)
    if _is_open_to_others(facts):
        os.fchmod(descriptor, stat.S_IMODE(facts.st_mode) & ~OTHERS)


def _is_open_to_others(facts: os.stat_result) -> bool:
    """Whether a folder is ours, and others may do something in it."""
    return bool(facts.st_mode & OTHERS) and facts.st_uid == os.geteuid()
