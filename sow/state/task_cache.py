"""The tasks as they were read last: whoever reads many does not parse each file again.

Owns when a task that was read before stands for its file, and the file that holds such tasks:
`tasks.json`, beside the copies of this checkout, branch and project. A task stands for its file as
long as that is the same file, unchanged: the same device, inode, size, and times of change. Both
times come from the file system's clock, which ticks; so a file that had changed within the last
`SETTLED_SECONDS` when it was read is read again. What is read from a cache equals what the
file says (`tests/state/test_task_cache.py`). Another machine, another sow and a file of the cache
that nobody can read make all tasks be read anew. Nothing here is ever waited for or missed.
"""

import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import msgspec

from sow.errors import StateError
from sow.processes.disks import is_on_shared_disk
from sow.processes.procfs import machine_id
from sow.schema.task import Task
from sow.state.due_entries import settle
from sow.state.kept import copies
from sow.state.kept.store import Kept
from sow.state.places import TaskPlace
from sow.unchanged_files import SETTLED_SECONDS

CACHE = "tasks.json"
RENEWED_AT = 16
"""The cache is written anew when more than one task in so many was not in it."""
READERS = (
    *("schema/task.py", "state/statefiles.py", "state/tasks.py", "state/version.py"),
    *("yamlfile/library.py", "yamlfile/loader.py", "yamlfile/reading.py", "yamlfile/usual.py"),
)
"""Our modules that decide what a file says. With another one of them a cache is another sow's."""

Facts = tuple[int, ...]
"""Which file it is, and when it was changed."""


class Cached(msgspec.Struct, frozen=True, array_like=True):
    """A task, and the file that says so."""

    facts: Facts
    task: Task


class Contents(msgspec.Struct, frozen=True, array_like=True):
    """What the cache's file holds: who has read, and the tasks by their folders below `.sow`."""

    reader: tuple[str, ...]
    tasks: dict[str, Cached]


class TaskCache:
    """The tasks that were read before, for one look at all of them."""

    def __init__(self, kept: Kept) -> None:
        self._kept = kept
        self._path = f"{kept.folder}/{CACHE}"
        self._reader = _reader()
        self._cached = self._load()
        self._fresh: dict[str, Cached] = {}

    def get(self, place: TaskPlace) -> Task | None:
        """Return the task in a place if its file is the one that was read; its log is settled."""
        cached = self._cached.get(self._name(place))
        if cached is None:
            return None
        settle(place.at)
        return cached.task if facts_at(place) == cached.facts else None

    def add(
        self, place: TaskPlace, before: Facts | None, text: bytes, task: Task, *, now: float
    ) -> None:
        """Take in a task that was read from `text` at `now`.

        `before` is what `facts_at` said before that. What differs from its copy is no task to keep:
        once git is at rest, it may have to be put back.
        """
        if before is None or not _is_settled(before, now) or facts_at(place) != before:
            return
        if copies.agrees(self._kept, self._kept.name(place.state), text):
            self._fresh[self._name(place)] = Cached(before, task)

    def save(self, places: Iterable[TaskPlace]) -> None:
        """Write the tasks of all `places` if many of them were not in the cache before."""
        if not self._reader or len(self._fresh) * RENEWED_AT <= len(self._cached):
            return
        if is_on_shared_disk(Path(self._kept.sow)):
            return  # whose clock sets its times, nobody can tell
        fresh = {name: cached for name, cached in self._fresh.items() if _is_exact(cached)}
        whole = {**self._cached, **fresh}
        tasks = {name: whole[name] for name in map(self._name, places) if name in whole}
        data = msgspec.json.encode(Contents(self._reader, tasks))
        if len(data) > copies.LARGEST:
            return  # nobody would read it
        with suppress(OSError):
            copies.write(self._kept, self._path, data)

    def _name(self, place: TaskPlace) -> str:
        return self._kept.name(place.at)

    def _load(self) -> dict[str, Cached]:
        data = copies.read(self._path)
        if not isinstance(data, bytes):
            return {}
        try:
            contents = msgspec.json.decode(data, type=Contents)
        except (msgspec.DecodeError, ValueError, StateError):
            return {}
        return contents.tasks if contents.reader == self._reader else {}


def facts_at(place: TaskPlace) -> Facts | None:
    """Return what tells a task's file from any other and from what it was; None for a link."""
    try:
        facts = os.lstat(f"{place.at}/state.yaml")
    except OSError:
        return None
    if not stat.S_ISREG(facts.st_mode):
        return None
    return facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns


def _is_settled(facts: Facts, now: float) -> bool:
    """Whether a file has not changed for so long that any change from now on has another time."""
    *_, written, changed = facts
    return max(written, changed) / 1e9 < now - SETTLED_SECONDS


def _is_exact(cached: Cached) -> bool:
    """Whether a task is the same after it was written and read: metadata may hold a date, say."""
    try:
        return msgspec.json.decode(msgspec.json.encode(cached), type=Cached) == cached
    except (msgspec.MsgspecError, TypeError, ValueError, OverflowError):
        return False


def _reader() -> tuple[str, ...]:
    """Return which machine and which sow reads; nothing where that cannot be told."""
    folder = Path(__file__).parents[1]
    try:
        found = [(folder / name).stat() for name in READERS]
    except OSError:
        return ()
    return machine_id(), *(f"{facts.st_size}-{facts.st_mtime_ns}" for facts in found)
