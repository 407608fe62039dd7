"""How much of a queue on a server a checkout has seen: less than that is an older backup.

The changes of a queue have numbers that grow with the commits and never come again. So a process
that finds fewer of them than it, or a process before it in this checkout, has seen knows that the
server was restored. It believes nothing of what it remembers then: its jobs may be on record no
more, or be another host's by now. Owns that rule, and the file in which a checkout notes how much.

Some commits wait for no disk, and a server that crashes loses those of its last moment. That is no
backup: a number counts only once it was seen again a little later.
"""

import time
from contextlib import suppress
from pathlib import Path

from sow.errors import SowError
from sow.files import NotAFile, read_if_there, write_atomically
from sow.jobs.server_faults import ServerRestored

SEEN_NAME = "queue.seen"
"""The note's file, in a checkout's folder `run`."""
SURE_SECONDS = 5.0
"""After so long a commit is on the server's disk: its log is written several times a second."""
NOTE_LIMIT = 256
"""The largest note that is read, in bytes."""


class SeenChanges:
    """What one process knows; begun by `open`. Numbers are those of the newest change."""

    def __init__(self, place: str, note: Path) -> None:
        self._place, self._note = place, note
        self._queue = ""
        self._sure, self._newest, self._newest_at = 0, 0, 0.0
        self._is_restored = False

    @property
    def is_open(self) -> bool:
        """Whether anything was looked at."""
        return bool(self._queue)

    def open(self, queue: str, newest: int) -> None:
        """Begin with what is on record in a queue, which is called by its id.

        Raises ServerRestored where this checkout has seen more of it; once, for it is noted then.
        """
        self._queue = queue
        self._sure, self._newest, self._newest_at = self._read(queue)
        try:
            self.look(newest)
        except ServerRestored:
            self._sure, self._newest, self._newest_at = newest, newest, time.time()
            self._is_restored = False
            self.note()
            raise

    def look(self, newest: int) -> None:
        """Go on with what is on record now. Raises ServerRestored where that is less than before.

        Whoever goes on after that has it raised again (`refuse_restored`).
        """
        self._is_restored = newest < self._sure
        self.refuse_restored()
        now = time.time()
        if newest < self._newest or abs(now - self._newest_at) >= SURE_SECONDS:
            self._sure = min(self._newest, newest)
            self._newest, self._newest_at = newest, now

    def refuse_restored(self) -> None:
        """Raise ServerRestored where the last look, of whichever thread, has found that."""
        if self._is_restored:
            raise ServerRestored(self._place)

    def note(self) -> None:
        """Note it for the processes to come. Where that fails, they know less.

        A process that has found the server restored leaves that for the next one to find.
        """
        if not self.is_open or self._is_restored:
            return
        text = f"{self._queue} {self._sure} {self._newest} {self._newest_at}\n"
        with suppress(SowError, OSError):
            write_atomically(self._note, text.encode(), mode=0o600, durable=False)

    def _read(self, queue: str) -> tuple[int, int, float]:
        """Return what is noted of a queue; zeros where nothing is."""
        with suppress(NotAFile, OSError, ValueError):
            noted = read_if_there(self._note, NOTE_LIMIT) or b""
            name, sure, newest, at = noted.decode().split()
            if name == queue:
                return int(sure), int(newest), float(at)
        return 0, 0, 0.0
