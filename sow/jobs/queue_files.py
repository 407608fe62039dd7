"""The files of a queue on disk: which ones they are, and whether they belong together.

SQLite takes whatever lies beside a file under the name of its write-ahead log
for that log, and would replay it into a file that it knows nothing of. So the
file's header counts our commits (in `application_id`, which nothing else
uses): the log of a file begins with the commit after the last one that the
file itself holds. Copying all files together, or the file while no log is
there, keeps that true; replacing one of them does not.

Owns the count, the look before a file is opened, and in which form a file is. Reads only.
"""

import os
import sqlite3
import stat
import struct
import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from sow.errors import QueueError
from sow.jobs.faults import (
    GONE_ON,
    SUFFIXES,
    QueueChanged,
    QueueDamaged,
    QueueReplaced,
    put_aside_command,
    unusable,
)
from sow.jobs.open_files import Place, are_open_here, is_open_without, place_of

MOST_COMMITS = 2**31 - 1
"""The count goes on from 1 after this; 0 is the count of a file that never had one."""
LOOKS = 10
"""How often a pair that does not match is looked at while others write it."""
CHECKPOINT_SECONDS = 1.0
"""How long a file may look damaged because a checkpoint is writing it."""
CHECKPOINT_LOOK_SECONDS = 0.005

HEADER = struct.Struct(">8I")
FRAME = struct.Struct(">6I")
COUNT_AT = 68
"""Where a database's first page holds `application_id` (sqlite.org/fileformat2.html)."""
BIG_ENDIAN_SUMS = 0x377F0683


class Marks(NamedTuple):
    """Which files a connection has opened, and how they were last written (time, size)."""

    file: Place
    log: Place | None
    wal_index: Place | None
    file_written: Place
    log_written: Place


class Pair(NamedTuple):
    """What the header of a file and the log beside it say of each other."""

    commits: int
    """The commits that the file itself has."""
    first: int
    """The count in the log's first header page."""
    frames: int
    """How many pages the log has, at the most."""
    salts: tuple[int, int]
    is_counted: bool = True
    """Whether the log's first commit has counted itself, as each does but the first sow's."""

    @property
    def match(self) -> bool:
        """Whether the log goes on from the file."""
        return (
            self.is_counted and (self.commits - (self.first - 1)) % MOST_COMMITS <= self.frames + 1
        )


PLAIN = frozenset("/_.-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
"""What stands in a URI as it is."""


def _uri(path: Path) -> str:
    """Do as `Path.as_uri`, which imports a library for it; a usual path has nothing to quote."""
    return f"file://{path}" if PLAIN.issuperset(str(path)) else path.as_uri()


def connect(
    path: Path, *, seconds: float, immutable: bool = False, read_only: bool = False
) -> sqlite3.Connection:
    """Open a file that is there; never make one. `seconds`: how long to wait for its lock.

    `immutable` reads the file itself, without its log and without a lock.
    """
    mode = "mode=ro&immutable=1" if immutable else "mode=ro" if read_only else "mode=rw"
    connection = sqlite3.connect(
        f"{_uri(path.absolute())}?{mode}",
        uri=True,
        timeout=seconds,
        isolation_level=None,
        check_same_thread=False,
    )
    connection.row_factory = sqlite3.Row
    return connection


def marks_of(path: Path) -> Marks:
    """Return the marks of the files that lie there now. Raises FileNotFoundError."""
    name = str(path)
    file = os.stat(name)  # noqa: PTH116 - three looks for every statement
    log, index = _stat(name + "-wal"), _stat(name + "-shm")
    return Marks(
        (file.st_dev, file.st_ino),
        None if log is None else (log.st_dev, log.st_ino),
        None if index is None else (index.st_dev, index.st_ino),
        (file.st_mtime_ns, file.st_size),
        (0, 0) if log is None else (log.st_mtime_ns, log.st_size),
    )


def _stat(name: str) -> os.stat_result | None:
    try:
        return os.stat(name)  # noqa: PTH116
    except OSError:
        return None


def are_same(before: Marks, after: Marks) -> bool:
    """Whether SQLite has opened the file that was there, and no log or index of two different ones.

    Both are new where the last one who had the file open has closed it meanwhile. A new log may
    have the inode of the last one; SQLite makes none shorter that it goes on with.
    """
    if None in (before.log, before.wal_index):
        return before.file == after.file
    is_shorter = after.log_written[1] < before.log_written[1]
    same_log = before.log == after.log and not is_shorter
    return before.file == after.file and same_log == (before.wal_index == after.wal_index)


def has_opened(marks: Marks) -> bool:
    """Whether SQLite has opened the very log and index that lie there after it has read the file.

    Both may have been removed in between, and made anew by another process: what is committed then
    goes into the removed ones, and nobody reads it.
    """
    log, index = marks.log, marks.wal_index
    return log is not None and index is not None and are_open_here((log, index))


def look_again(path: Path, before: Marks) -> Marks:
    """Return the marks anew where the files are still the ones that were opened.

    Raises QueueReplaced or QueueChanged where one of them was removed or
    replaced, under its name or in place.
    """
    try:
        now = marks_of(path)
    except (FileNotFoundError, NotADirectoryError):
        raise QueueReplaced(path) from None
    if now == before:
        return before
    if now[:3] != before[:3]:
        raise QueueReplaced(path)
    if now.file_written != before.file_written:
        refuse_foreign_log(path)
    return now


def refuse_unfit(path: Path) -> None:
    """Refuse what SQLite must not be let near: no file of ours, or one with another's log.

    Raises QueueError.
    """
    found = path.stat()
    for facts in (found, _stat(f"{path}-wal"), _stat(f"{path}-shm")):
        if facts is not None and not stat.S_ISREG(facts.st_mode):  # a FIFO would block for ever
            raise QueueDamaged(
                path, "or what belongs to it is not a regular file; sow did not change it"
            )
    if found.st_size == 0:
        raise QueueDamaged(path, "is empty: it was truncated; sow did not change it")
    _refuse_lost_log(path)
    refuse_foreign_log(path)


def _refuse_lost_log(path: Path) -> None:
    """Raise QueueReplaced where the log was removed, and a process goes on with its index.

    SQLite would take that index for one of the new log, and what it wrote there would be lost. It
    removes the index before the log itself, and one that nobody has open it makes anew.
    """
    for _ in range(LOOKS):  # others may be opening and closing it
        index, log = _stat(f"{path}-shm"), _stat(f"{path}-wal")
        if index is None or (log is not None and log.st_size):
            return
        if log is not None:  # new, or only read so far
            break
        time.sleep(CHECKPOINT_LOOK_SECONDS)
    if index is not None and is_open_without(place_of(index), log and place_of(log)):
        raise QueueReplaced(path)


def refuse_foreign_log(path: Path) -> None:
    """Raise QueueChanged where the write-ahead log beside a file continues another one."""
    before: Pair | None = None
    deadline = time.monotonic() + CHECKPOINT_SECONDS
    for _ in range(LOOKS):  # others may be writing both: only what stands still is believed
        pair = _pair_at_rest(path, deadline)
        if pair is None or pair.match:
            return
        if pair == before:
            raise QueueChanged(
                f"the queue file {path} and the write-ahead log beside it do not belong"
                " together: the file was replaced (for example by a backup), but the log of the"
                " old file was kept",
                repair=put_aside_command(path, SUFFIXES[1:]),
                hint="To use the file without the log, move the log away, then run the command"
                f" again:\n    {put_aside_command(path, SUFFIXES[1:])}\nTo start with an"
                " empty queue instead, move all of these files away:\n   "
                f" {put_aside_command(path)}\n{GONE_ON}",
            )
        before = pair


def _pair_at_rest(path: Path, deadline: float) -> Pair | None:
    """Read both sides; while the file cannot be read, somebody may be writing the log into it.

    Its first page then tells of pages that it is still to get.
    """
    while True:
        try:
            return _pair(path)
        except QueueError:
            if time.monotonic() >= deadline:
                raise
        time.sleep(CHECKPOINT_LOOK_SECONDS)


def _pair(path: Path) -> Pair | None:
    """Read both sides; None where the log holds nothing that would be replayed."""
    try:
        with open(f"{path}-wal", "rb") as log:  # noqa: PTH123
            header = log.read(HEADER.size)
            if len(header) < HEADER.size:
                return None
            count = _count_in_file(path)
            return _read_log(log.fileno(), header, count)
    except OSError:
        return None  # there is none, or SQLite will say why it cannot be read


def _count_in_file(path: Path) -> int:
    """Return the count in the file itself, without its log.

    SQLite reads it: closing a descriptor of our own would free the locks that
    SQLite holds on the file for other connections of this process (POSIX). It
    reads also a file whose first page tells of pages that it is still to get
    from the log, as on a disk that was full when the log was to be written into
    it: `writable_schema` has it go by the file's length (sqlite 3.40, btree.c).
    """
    try:
        connection = connect(path, seconds=0, immutable=True)
        try:
            connection.execute("pragma writable_schema = on")
            return int(connection.execute("pragma application_id").fetchone()[0])
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise unusable(path, error) from error


def _read_log(log: int, header: bytes, count: int) -> Pair | None:
    """Find the first header page among the frames that belong to the log as it stands."""
    magic, _, page, _, *salts, sum_0, sum_1 = HEADER.unpack(header)
    if magic & ~1 != BIG_ENDIAN_SUMS & ~1 or page < COUNT_AT:
        return None
    size = FRAME.size + page
    frames = max(0, os.fstat(log).st_size - HEADER.size) // size
    for index in range(frames):
        frame = os.pread(log, FRAME.size + COUNT_AT + 4, HEADER.size + index * size)
        number, is_commit, *found, _, _ = FRAME.unpack_from(frame)
        if found != salts:
            return None  # left from before the log was begun anew
        if number == 1:
            first = int.from_bytes(frame[-4:], "big")
            pair = Pair(count, first, frames, (salts[0], salts[1]))
            whole = pair.match or _sums_hold(log, magic, (sum_0, sum_1), index + 1, page)
            return pair if whole else None
        if is_commit:  # it would be replayed, and no commit of ours leaves the header page out
            if count == 0 or not _sums_hold(log, magic, (sum_0, sum_1), index + 1, page):
                return None
            return Pair(count, 0, frames, (salts[0], salts[1]), is_counted=False)
    return None


def _sums_hold(log: int, magic: int, sums: tuple[int, int], frames: int, page: int) -> bool:
    """Whether so many frames are whole: a writer that was killed leaves half of one."""
    order = ">" if magic == BIG_ENDIAN_SUMS else "<"
    for index in range(frames):
        frame = os.pread(log, FRAME.size + page, HEADER.size + index * (FRAME.size + page))
        if len(frame) < FRAME.size + page:
            return False
        sums = _add(sums, order, frame[:8])
        sums = _add(sums, order, frame[FRAME.size :])
        if sums != FRAME.unpack_from(frame)[4:6]:
            return False
    return True


def _add(sums: tuple[int, int], order: str, data: bytes) -> tuple[int, int]:
    first, second = sums
    words = struct.unpack(f"{order}{len(data) // 4}I", data)
    for index in range(0, len(words), 2):
        first = (first + words[index] + second) & 0xFFFFFFFF
        second = (second + words[index + 1] + first) & 0xFFFFFFFF
    return first, second


def begin_count(connection: sqlite3.Connection) -> None:
    """Give a new file a count of its own, so that no other file's log goes on from it."""
    connection.execute(
        f"pragma application_id = {1 + int.from_bytes(os.urandom(8)) % MOST_COMMITS}"
    )


def count_commit(connection: sqlite3.Connection) -> None:
    """Count one more commit; call it in the transaction that is about to be committed."""
    count = connection.execute("pragma application_id").fetchone()[0]
    connection.execute(f"pragma application_id = {count % MOST_COMMITS + 1}")


def format_of(connection: sqlite3.Connection) -> int:
    """Return which form a file is in (`pragma user_version`). Raises sqlite3.Error."""
    return int(connection.execute("pragma user_version").fetchone()[0])


def maker_of(connection: sqlite3.Connection) -> str | None:
    """Return which sow has made the file's form, where the file tells it."""
    with suppress(sqlite3.Error):
        row = connection.execute("select value from control where name = 'made_by'").fetchone()
        return str(row[0]) if row is not None else None
    return None
