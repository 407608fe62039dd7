"""All logs of a project as a single story: the project's own and those of its tasks.

Owns the order in which entries of several logs are read: by their time; of one
second, the project's first, then by task, each log's as they stand in it.
"""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from sow.files import NotAFile
from sow.ids import TaskId
from sow.paths import Workspace
from sow.state.log_writing import LOG_FILE, LogEntry
from sow.state.places import all_places, find_task
from sow.state.task_log import read_entries


class Logged(NamedTuple):
    """An entry, and the task in whose log it stands; None for the project's own."""

    task: TaskId | None
    entry: LogEntry


class Wanted(NamedTuple):
    """Which entries a reader asks for; what is None leaves out nothing."""

    task: TaskId | None = None
    agent: str | None = None
    """A role: what it has written, and what sow tells of its jobs."""
    since: str | None = None
    """A time in the form of the entries' own."""

    def has(self, entry: LogEntry) -> bool:
        """Whether an entry is asked for; its log is."""
        if self.agent is not None and self.agent not in (entry.agent, entry.role):
            return False
        return self.since is None or entry.timestamp >= self.since


Tell = Callable[[NotAFile], None]
"""Hears of a log that cannot be read: it hides no other."""


def read_logs(workspace: Workspace, wanted: Wanted, tell: Tell) -> list[Logged]:
    """Return the entries of all logs that are asked for, oldest first.

    Raises NoProject, UnknownTask.
    """
    return in_order(
        Logged(task, entry)
        for task, path in logs_of(workspace, wanted.task)
        for entry in _readable(path, tell)
        if wanted.has(entry)
    )


def _readable(path: Path, tell: Tell) -> list[LogEntry]:
    try:
        return read_entries(path)
    except NotAFile as error:
        tell(error)
        return []


def in_order(entries: Iterable[Logged]) -> list[Logged]:
    """Return entries by their time; those of one second keep their order."""
    return sorted(entries, key=lambda logged: logged.entry.timestamp)


def logs_of(workspace: Workspace, task: TaskId | None) -> list[tuple[TaskId | None, Path]]:
    """Return the logs there are, or that of one task. Raises NoProject, UnknownTask."""
    if task is not None:
        return [(task, find_task(workspace, task).log)]
    places = all_places(workspace)
    return [
        (None, workspace.project / LOG_FILE),
        *((place.task_id, place.log) for place in places),
    ]


class LogFollower:
    """The entries that all logs gain from now on, each told once.

    A log that has the size it had is not read again. Git may put entries of
    another branch before those that were told already: an entry is known by
    what it is, not by its place.
    """

    def __init__(self, workspace: Workspace, wanted: Wanted, tell: Tell) -> None:
        self._workspace = workspace
        self._tell = tell
        self._wanted = wanted
        self._sizes: dict[Path, int] = {}
        self._shown: set[Logged] = set()

    def new(self) -> list[Logged]:
        """Return what was added since the last call, oldest first; at first, all."""
        found = [
            Logged(task, entry)
            for task, path in logs_of(self._workspace, self._wanted.task)
            if self._has_grown(path)
            for entry in _readable(path, self._tell)
            if self._wanted.has(entry)
        ]
        fresh = [logged for logged in found if logged not in self._shown]
        self._shown.update(fresh)
        return in_order(fresh)

    def _has_grown(self, path: Path) -> bool:
        try:
            size = path.stat().st_size
        except OSError:
            size = -1
        if self._sizes.get(path) == size:
            return False
        self._sizes[path] = size
        return True
