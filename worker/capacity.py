"""How much a worker takes on: no job with too little disk space or memory left free.

Owns that look, and how it is told: in the worker's log, and on its record, from
which commands and the record of changes tell it. What runs goes on. Owns also how many jobs run at
once (fewer for a while after the machine ran short in the middle of a start), and the worker's own
limit of open files.
"""

import resource
from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from pathlib import Path

from sow.clones.place import clones_folder
from sow.config.units import round_size, write_size
from sow.errors import QueueError, SowError
from sow.git.repository import repository_of
from sow.jobs import workers
from sow.jobs.faults import QueueChanged
from sow.processes.free import free_disk, free_memory
from worker.broker import Claims
from worker.context import WorkerContext, logger

MORE = 1.1
"""How many times the least must be free before jobs are taken again: a figure that hovers around
the least is told once."""


class Reserve:
    """Whether enough is free for one more job, as one worker sees it. For one thread."""

    def __init__(self, context: WorkerContext) -> None:
        self._context = context
        self._settings = context.configuration.worker
        self._short_of = ""
        self._on_record = ""

    def allows_another(self, *, may_run: bool) -> bool:
        """Whether a job may be taken now. Raises QueueChanged.

        Nothing is looked at, or told, while no job `may_run`: none waits, or the limits allow none.
        """
        if not self._short_of and not may_run:
            return True
        found, free = next(self._shortages(), ("", 0))
        if found != self._short_of:
            self._short_of = found
            self._say(free)
        self._record()
        return not found

    def _shortages(self) -> Iterator[tuple[str, int]]:
        """Yield each thing of which too little is free, in words, and how much is."""
        more = MORE if self._short_of else 1
        disk, memory = self._settings.min_free_disk_bytes, self._settings.min_free_memory_bytes
        for folder in self._folders if disk else ():
            free = free_disk(folder)
            if free is not None and free < disk * more:
                least = f"worker.min_free_disk: {write_size(disk)}"
                yield f"too little disk space is free in {folder} ({least})", free
        free = free_memory() if memory else None
        if free is not None and free < memory * more:
            yield f"too little memory is free (worker.min_free_memory: {write_size(memory)})", free

    @cached_property
    def _folders(self) -> list[Path]:
        """Where agents and sow write: the queue's folder, the repository, the clones."""
        workspace = self._context.workspace
        folders = [workspace.run, workspace.root]
        with suppress(SowError):  # without a repository there are no clones
            repository = repository_of(workspace.root)
            folders.append(clones_folder(workspace, repository, self._context.configuration.clones))
        return folders

    def _say(self, free: int) -> None:
        if self._short_of:
            words = "sow starts no jobs now: %s; %s is free"
            logger.warning(words, self._short_of, round_size(free))
        else:
            logger.info("enough disk space and memory is free again; sow starts jobs")

    def _record(self) -> None:
        """Have the worker's record say it. What cannot be written now is written later."""
        if self._short_of == self._on_record:
            return
        try:
            workers.say_short(self._context.database, self._context.worker_id, self._short_of)
        except QueueChanged:
            raise
        except QueueError:  # a disk that is full holds no word about it; the log has it
            return
        self._on_record = self._short_of


RELIEF_SECONDS = 60.0
"""How long a worker is modest after the last time that the machine ran short."""
MOST_OPEN_FILES = 8192
"""As many as a worker could ever use; on macOS the hard limit may be none at all."""


class Room:
    """The number of jobs that a worker runs at once, as its claims see it. For one thread."""

    def __init__(self, claims: Claims) -> None:
        self._claims = claims
        self._short_at: float | None = None

    def shrink(self, running: int, what: str, *, now: float) -> None:
        """Take no more than now run, at least one, for the machine is short. `now` is monotonic."""
        if self._short_at is None:
            logger.warning(
                "this machine is short of %s; until that changes, at most %d jobs run at once",
                what,
                max(1, running),
            )
        before = running if self._claims.most is None else self._claims.most
        self._claims.most = max(1, min(running, before))
        self._short_at = now

    def look(self, *, now: float) -> None:
        """Be back at the full number once nothing has been short for a while."""
        if self._short_at is not None and now - self._short_at >= RELIEF_SECONDS:
            self._short_at = None
            self._claims.most = None
            logger.info("running up to %d agents at once again", self._claims.own)


def raise_open_files() -> int:
    """Raise this process's soft limit of open files; return what it was, for the agents."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, MOST_OPEN_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        except (OSError, ValueError):
            logger.info("the limit of open files stays at %d", soft)
    return soft
