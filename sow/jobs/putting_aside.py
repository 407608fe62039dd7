"""Files of a queue that are moved out of the way: never deleted, and never over what lies there.

Owns the move, and the lock on `.sow/run` under which it happens.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from shlex import quote

from sow.errors import QueueError, StateError
from sow.files import LeadsOut, locked_folder
from sow.files.inside import PRIVATE, link, move, open_folder
from sow.jobs.faults import QueueLeadsOut, aside_folder

LOCK_SECONDS = 20.0
UNPROVEN = "unproven"
"""How the folders below `aside` begin that keep what is not this user's own."""


@contextmanager
def locked_run(run: Path) -> Iterator[None]:
    """Hold the lock on `.sow/run`: one process at a time makes, proves or moves a queue's files."""
    try:
        with locked_folder(run, timeout_seconds=LOCK_SECONDS):
            yield
    except LeadsOut as error:
        raise QueueLeadsOut(error) from error
    except StateError as error:
        raise QueueError(error.message, hint=error.hint) from error


def move_aside(queue: Path, files: Iterable[Path], *, kind: str = "") -> Path | None:
    """Move those files that are there into a folder of their own; return it, None for none.

    `kind` is how its name begins. The files move in the order given. Raises LeadsOut, QueueError,
    OSError.
    """
    there = [file for file in files if os.path.lexists(file)]
    if not there:
        return None
    folder = _make_folder(queue, kind)
    for file in there:
        move(file, folder / file.name)
    return folder


def keep_aside(queue: Path, *, kind: str) -> Path:
    """Keep the file under the queue's name aside, and return the folder; it keeps its name, too.

    So the name is never free before another file takes it. A folder cannot have two names: it
    is moved. Raises LeadsOut, QueueError, OSError.
    """
    folder = _make_folder(queue, kind)
    try:
        link(queue, folder / queue.name)
    except OSError:
        move(queue, folder / queue.name)
    return folder


def _make_folder(queue: Path, kind: str) -> Path:
    folder = aside_folder(queue, kind)
    try:
        os.close(open_folder(folder, makes=PRIVATE))
    except OSError as error:
        raise _no_folder(folder.parent, error) from error
    return folder


def _no_folder(aside: Path, error: OSError) -> QueueError:
    """Return the error of a place in which no folder can be made, with what helps."""
    here = quote(str(aside))
    if isinstance(error, NotADirectoryError | FileExistsError):
        why = "it is not a folder"
        helps = f"Move it away, then run the command again:\n    mv {here} {here}.old"
    elif isinstance(error, PermissionError):
        why = "you may not write to it"
        helps = f"Make it writable, then run the command again:\n    chmod u+rwx {here}"
    else:
        why = str(error.strerror)
        helps = "Check the disk's free space, then run the command again."
    return QueueError(f"sow cannot move the queue's files to {aside}: {why}", hint=helps)
