"""Bells instead of polling: a FIFO per listener, rung by whoever commits something for it.

A bell is a hint, never the message: who is rung looks at the records again.
A byte that gets lost costs the listener's slow fallback, nothing more. The
listener holds a `flock` on its FIFO, so the kernel tells whether it lives.
"""

import errno
import os
import select
import stat
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from sow.errors import QueueError
from sow.files.flock import lock_within, try_lock
from sow.ids import BatchId
from sow.paths import Workspace

if TYPE_CHECKING:
    from sow.jobs.store import Ear

PROBE_SECONDS = 1.0
"""How long a look whether anybody listens may hold the lock of a bell."""
NO_LOCK = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENXIO, errno.ENODEV})
"""Errors of a name where nothing lies that a process of ours could have locked."""


class Bell:
    """A FIFO that this process listens to, and what it hears from elsewhere (`store.Ear`)."""

    def __init__(self, path: Path, ear: "Ear | None" = None) -> None:
        """`ear` is closed with the bell. Raises OSError, with it still open."""
        self.path = path
        self._ear = ear
        with suppress(FileExistsError):
            os.mkfifo(path, 0o600)
        # Opened for writing too: with no writer left, a FIFO would be readable for ever.
        self.fd = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        if not lock_within(self.fd, PROBE_SECONDS, every=0.005):
            os.close(self.fd)
            raise BlockingIOError(errno.EWOULDBLOCK, "another process listens", str(path))

    def wait(self, seconds: float) -> bool:
        """Wait until rung, at most `seconds`; return whether it was."""
        deadline = time.monotonic() + seconds
        while ready := self._ready(deadline):
            if self.fd in ready:
                with suppress(BlockingIOError):
                    while os.read(self.fd, 4096):
                        pass
                return True
            if self._ear is not None and self._ear.heard():
                return True
        return False

    def _ready(self, deadline: float) -> set[int]:
        """Sleep until somebody has rung; return by which descriptors; none when time is up."""
        poller = select.poll()
        poller.register(self.fd, select.POLLIN)
        elsewhere = self._ear.fileno() if self._ear is not None else None
        if elsewhere is not None:
            poller.register(elsewhere, select.POLLIN)
        seconds = max(0.0, deadline - time.monotonic())
        return {descriptor for descriptor, _ in poller.poll(seconds * 1000)}

    def close(self) -> None:
        """Stop listening and remove the FIFO."""
        if self._ear is not None:
            self._ear.close()
        with suppress(OSError):  # its folder may be gone, with the queue
            self.path.unlink(missing_ok=True)
        os.close(self.fd)


def ring(path: Path | str) -> None:
    """Ring one bell; nobody listening is no error."""
    with suppress(OSError):
        fd = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            if stat.S_ISFIFO(
                os.fstat(fd).st_mode
            ):  # in a regular file it would write over what is there
                os.write(fd, b"!")
        finally:
            os.close(fd)


def ring_all(folder: Path, suffix: str) -> None:
    """Ring every bell in a folder whose name ends so."""
    with suppress(OSError):
        for entry in os.scandir(folder):
            if entry.name.endswith(suffix):
                ring(entry.path)


def is_held(path: Path) -> bool:
    """Whether a living process holds the lock on a file: a worker's life, a bell's listener.

    Raises QueueError where the file may not be opened: nobody can tell then.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    except OSError as error:
        if error.errno in NO_LOCK:
            return False
        raise QueueError(
            f"{path} cannot be opened, so sow cannot see whether its process still runs:"
            f" {(error.strerror or str(error)).lower()}",
            hint="Make it readable. If neither a worker nor another `sow` command runs"
            " here, remove it.",
        ) from error
    try:
        return not try_lock(fd, shared=True)
    finally:
        os.close(fd)


def batch_bell_path(workspace: Workspace, batch_id: BatchId, name: str) -> Path:
    """Return where a bell hangs that rings for a batch; `name` tells it from others."""
    return workspace.waiters / f"{name}{_batch_suffix(batch_id)}"


def ring_batch(workspace: Workspace, batch_id: BatchId) -> None:
    """Wake everyone who waits for a batch; call it after the commit."""
    ring_all(workspace.waiters, _batch_suffix(batch_id))


def _batch_suffix(batch_id: BatchId) -> str:
    return f".batch{batch_id}.bell"
