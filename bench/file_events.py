"""When files in folders change, as inotify(7) tells it."""

import ctypes
import os
import select
import struct
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

MODIFIED, CREATED = 0x2, 0x100
_EVENT = struct.Struct("iIII")
_ROOM = 65_536


class FileEvents:
    """A watch over folders. For one thread."""

    def __init__(self, watched: Sequence[tuple[Path, int]]) -> None:
        """Watch each folder for one kind of events."""
        libc = ctypes.CDLL(None, use_errno=True)
        self.descriptor = libc.inotify_init1(os.O_CLOEXEC)
        for folder, kind in watched:
            if libc.inotify_add_watch(self.descriptor, os.fsencode(folder), kind) < 0:
                raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), str(folder))

    def next(self, seconds: float) -> Iterator[tuple[float, int, str]]:
        """Yield what has come meanwhile, or comes in this time: when, which kind, of what name."""
        if not select.select([self.descriptor], [], [], seconds)[0]:
            return
        now, data, at = time.perf_counter(), os.read(self.descriptor, _ROOM), 0
        while at < len(data):
            _, kind, _, length = _EVENT.unpack_from(data, at)
            at += _EVENT.size
            yield now, kind, data[at : at + length].rstrip(b"\0").decode()
            at += length


@contextmanager
def watching(*watched: tuple[Path, int]) -> Iterator[FileEvents]:
    """Watch folders, each for one kind of events."""
    events = FileEvents(watched)
    try:
        yield events
    finally:
        os.close(events.descriptor)
