"""All that a report is made of, as values: the records, the tasks as they stand, their logs."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from sow.ids import ProjectId
from sow.jobs.report_queries import JobRecords
from sow.jobs.store import HOST_MARK
from sow.schema.batch import Batch
from sow.schema.job import Attempt
from sow.schema.output.report import LogNote
from sow.schema.task import Task


class Log(Struct, frozen=True):
    """The end of a task's log."""

    entries: tuple[LogNote, ...] = ()
    left_out: int = 0


class Facts(Struct, frozen=True):
    """What was found. Times are seconds since the epoch."""

    project_id: ProjectId
    project_name: str
    batch: Batch | None
    items: frozenset[str]
    """The tasks of the batch; empty without one."""
    batches: Mapping[int, float]
    """When each batch of the project was made."""
    tasks: Sequence[Task]
    """Those that can be read; the others are known by their jobs alone."""
    records: JobRecords
    logs: Mapping[str, Log]
    stats: Mapping[str, str]
    """What each task has changed, a line for each file, as far as that is known."""
    notes: tuple[str, ...]
    now: float

    def host_of(self, attempt: Attempt) -> str | None:
        """Return what people call the host of an attempt; None where nobody shares the queue."""
        return self.records.hosts.get(attempt.worker_id.partition(HOST_MARK)[2])
