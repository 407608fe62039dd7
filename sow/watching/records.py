"""The queue's records as far as the view shows them, read on from change to change.

Owns what was read before (`changed_jobs` says what is to be read again).
"""

from collections.abc import Collection, Sequence

from sow.ids import JobId, ProjectId, TaskId
from sow.jobs import jobs
from sow.jobs.changed_jobs import ChangedJobs
from sow.jobs.changes import Cursor
from sow.jobs.database import Database
from sow.jobs.jobs import UnknownJob, attempt_counts
from sow.schema.job import Job


class Records:
    """Live jobs, the newest job of each task, and how many attempts these have had."""

    def __init__(self) -> None:
        self.live: dict[JobId, Job] = {}
        self.last: dict[TaskId, Job] = {}
        self.attempts: dict[JobId, int] = {}
        self._changed = ChangedJobs()
        self._about: tuple[ProjectId, Collection[TaskId]] | None = None

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
        if self._about != (project, tasks):
            self._changed.forget()
        self._about = (project, tasks)
        with self._changed.up_to(database, newest, at=at) as changed:
            if changed is None:
                self._read_all(database, project, tasks)
            elif changed:
                self._read(database, project, set(tasks), changed)

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
