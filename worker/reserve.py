"""The disk space and memory that a worker leaves free: with less, it takes no job.

Owns the look, and how it is told: in the worker's log, and on its record, from
which commands and the record of changes tell it. What runs goes on. A machine
that did run short in the middle of a start is `room`'s.
"""

from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from pathlib import Path

from sow.clones.place import clones_folder
from sow.config.units import round_size, write_size
from sow.errors import QueueError, SowError
from sow.git.repository import repository_of
from sow.jobs import leases, workers
from sow.jobs.faults import QueueChanged
from sow.processes.free import free_disk, free_memory
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

    def allows_another(self) -> bool:
        """Whether a job may be taken now. Raises QueueChanged.

        Nothing is looked at, or told, while nothing waits.
        """
        if not self._short_of and not leases.is_anything_queued(self._context.database):
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
            words = "nothing is started: %s; %s is free"
            logger.warning(words, self._short_of, round_size(free))
        else:
            logger.info("there is room again; jobs are started")

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
