"""The queue's records as far as the view shows them, read on from change to change.

Owns what was read before: of a thousand jobs of which one has changed, that one is read again.
All of them are read where the record of changes cannot tell, and now and then, for what was pruned.
"""

import math
from collections.abc import Collection, Sequence

from sow.ids import JobId, ProjectId, TaskId
from sow.jobs import changes, jobs
from sow.jobs.changes import AT_ONCE, Cursor
from sow.jobs.database import Database
from sow.jobs.jobs import UnknownJob
from sow.jobs.overview import attempt_counts
from sow.schema.job import Job

WHOLE_SECONDS = 60.0
"""How long the records are read on before all of them are read again."""


class Records:
    """Live jobs, the newest job of each task, and how many attempts these have had."""

    def __init__(self) -> None:
        self.live: dict[JobId, Job] = {}
        self.last: dict[TaskId, Job] = {}
        self.attempts: dict[JobId, int] = {}
        self._cursor: Cursor | None = None
        self._about: tuple[ProjectId, Collection[TaskId]] | None = None
        self._whole_at = -math.inf

    def read_on(
        self,
        database: Database,
        project: ProjectId,
        tasks: Sequence[TaskId],
        newest: Cursor,
        *,
        at: float,
    ) -> None:
        """Read what has changed up to `newest`; `at` counts seconds and never goes back.

        Raises QueueError; then all is read the next time.
        """
        changed = self._changed(database, (project, tasks), newest, at)
        self._cursor = None
        if changed is None:
            self._read_all(database, project, tasks)
            self._about, self._whole_at = (project, tasks), at
        else:
            self._read(database, project, set(tasks), changed)
        self._cursor = newest

    def _changed(
        self,
        database: Database,
        about: tuple[ProjectId, Collection[TaskId]],
        newest: Cursor,
        at: float,
    ) -> Collection[JobId] | None:
        """Return the jobs that have changed; None where all are to be read."""
        before = self._cursor
        if before is None or before.file != newest.file or before.seq > newest.seq:
            return None
        if about != self._about or at - self._whole_at >= WHOLE_SECONDS:
            return None
        if changes.forgotten(database) > before.seq:
            return None
        rows = changes.rows_after(database, before.seq, limit=AT_ONCE)
        if len(rows) == AT_ONCE:
            return None
        return {JobId(row["job"]) for row in rows if row["job"] is not None}

    def _read_all(self, database: Database, project: ProjectId, tasks: Sequence[TaskId]) -> None:
        self.live = {job.id: job for job in jobs.active_jobs(database)}
        self.last = jobs.last_jobs(database, project, tasks)
        ids = {*self.live, *(job.id for job in self.last.values())}
        self.attempts = attempt_counts(database, sorted(ids))

    def _read(
        self,
        database: Database,
        project: ProjectId,
        tasks: set[TaskId],
        changed: Collection[JobId],
    ) -> None:
        for job_id in changed:
            self.live.pop(job_id, None)
            try:
                job = jobs.get_job(database, job_id)
            except UnknownJob:  # pruned meanwhile
                continue
            if not job.state.is_final:
                self.live[job_id] = job
            for task in tasks.intersection(job.tasks) if job.project_id == project else ():
                last = self.last.get(task)
                if last is None or last.id <= job_id:
                    self.last[task] = job
        self.attempts |= attempt_counts(database, sorted(changed))
