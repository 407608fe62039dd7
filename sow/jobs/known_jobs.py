"""The records of the jobs that somebody waits for, read again only where something has changed.

Owns what was read before. A sign of the file tells whether anything at all was written; then the
record of changes tells of which jobs (`changed_jobs`). A call that is over at once needs neither.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING

import msgspec

from sow.ids import JobId
from sow.jobs.database import Database, Sign
from sow.jobs.jobs import get_job
from sow.schema.job import Job, JobState

if TYPE_CHECKING:
    from sow.jobs.changed_jobs import ChangedJobs


class KnownJobs:
    """Some jobs' records, as one reader has read them last."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._sign: Sign | None = None
        self._changed: ChangedJobs | None = None
        self._jobs: dict[JobId, Job] = {}
        self.fresh: Collection[JobId] = ()
        """Those that the last reading has read again."""

    def read(self, job_ids: Iterable[JobId], *, at: float) -> Sequence[Job]:
        """Return how these jobs stand; `at` counts seconds and never goes back.

        Raises UnknownJob, QueueError.
        """
        wanted = list(job_ids)
        sign = self._database.sign()
        if self._sign is None or sign == self._sign:
            self._read(wanted, ())
        else:
            self._read_on(wanted, at)
        self._sign = sign
        return [self._jobs[job_id] for job_id in wanted]

    def _read_on(self, wanted: Sequence[JobId], at: float) -> None:
        # A call that is over at once reads its jobs once, and needs none of these.
        from sow.jobs import changes
        from sow.jobs.changed_jobs import ChangedJobs

        self._changed = self._changed or ChangedJobs()
        newest = changes.newest(self._database)
        with self._changed.up_to(self._database, newest, at=at) as changed:
            # What a job is held for changes without a change of its state.
            held = [job.id for job in self._jobs.values() if job.state is JobState.HELD]
            self._read(wanted, list(self._jobs) if changed is None else [*changed, *held])

    def _read(self, wanted: Sequence[JobId], again: Iterable[JobId]) -> None:
        """Read the wanted jobs that are not known, or not any more; forget all others."""
        stale = set(again)
        self.fresh = {each for each in wanted if each in stale or each not in self._jobs}
        new = {job_id: get_job(self._database, job_id) for job_id in self.fresh}
        self._jobs = {each: new.get(each) or self._jobs[each] for each in wanted}


def warnings_of(database: Database, job_id: JobId) -> list[str]:
    """Return the warnings that a job has caused: little is left of what limits it."""
    rows = database.rows(
        "select data from change where job = ? and kind = 'budget' order by seq", (job_id,)
    )
    if not rows:
        return []
    from sow.schema.change import ChangeData  # few jobs come near a limit

    return [msgspec.json.decode(row["data"], type=ChangeData).reason or "" for row in rows]
