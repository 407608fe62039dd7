"""Which jobs have changed since a reader looked last, as the record of changes tells it.

Owns the reader's place: of a thousand jobs of which one has changed, that one is read again. All
of them are read where the record cannot tell, and now and then, for what was pruned. What changes
neither a job's state nor its attempts is on no record (why it is held, what it has cost): whoever
shows that reads it again where it is shown.
"""

import math
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager

from sow.ids import JobId
from sow.jobs import changes, jobs
from sow.jobs.changes import AT_ONCE, Cursor
from sow.jobs.database import Database
from sow.jobs.jobs import UnknownJob
from sow.schema.job import Job

WHOLE_SECONDS = 60.0
"""How long records are read on before all of them are read again."""


class ChangedJobs:
    """How far one reader of jobs' records has come."""

    def __init__(self) -> None:
        self._cursor: Cursor | None = None
        self._whole_at = -math.inf

    @contextmanager
    def up_to(
        self, database: Database, newest: Cursor, *, at: float
    ) -> Iterator[Collection[JobId] | None]:
        """Give the jobs that have changed up to `newest`, to be read; None where all are.

        `at` counts seconds and never goes back. Raises QueueError; then, and where the reader
        fails, the same are to be read the next time.
        """
        changed = self._changed(database, newest, at)
        yield changed
        if changed is None:
            self._whole_at = at
        self._cursor = newest

    def forget(self) -> None:
        """Have all be read the next time."""
        self._cursor = None

    def _changed(self, database: Database, newest: Cursor, at: float) -> Collection[JobId] | None:
        before = self._cursor
        if before is None or before.file != newest.file or before.seq > newest.seq:
            return None
        if at - self._whole_at >= WHOLE_SECONDS:
            return None
        if before.seq == newest.seq:
            return ()
        if changes.forgotten(database) > before.seq:
            return None
        rows = changes.rows_after(database, before.seq, limit=AT_ONCE)
        if len(rows) == AT_ONCE:
            return None
        return {JobId(row["job"]) for row in rows if row["job"] is not None}


class LiveJobs:
    """Every job that has not ended, read on from change to change."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._changed = ChangedJobs()
        self._jobs: dict[JobId, Job] = {}

    def read(self, *, at: float) -> Sequence[Job]:
        """Return them, oldest first; `at` as in `ChangedJobs.up_to`. Raises QueueError."""
        newest = changes.newest(self._database)
        with self._changed.up_to(self._database, newest, at=at) as changed:
            if changed is None:
                self._jobs = {job.id: job for job in jobs.active_jobs(self._database)}
            for job_id in changed or ():
                self._read_again(job_id)
        return [self._jobs[job_id] for job_id in sorted(self._jobs)]

    def _read_again(self, job_id: JobId) -> None:
        self._jobs.pop(job_id, None)
        try:
            job = jobs.get_job(self._database, job_id)
        except UnknownJob:  # pruned meanwhile
            return
        if not job.state.is_final:
            self._jobs[job_id] = job
