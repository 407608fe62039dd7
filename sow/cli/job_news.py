"""What happens to jobs while a call waits for them, a line each on standard error.

Owns which changes are told there: not what the call says by itself, such as how a job
ended. They are read from the record of changes, so that none is missed between two looks;
what no record tells, that requests fail, `FailingRequests` finds.
"""

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress

from sow.cli import late_click as click
from sow.cli.happenings import FailingRequests, Happening, happening_on_record
from sow.ids import BatchId, JobId
from sow.jobs import changes
from sow.jobs.database import Database, Row
from sow.jobs.records import DamagedRecord
from sow.paths import Workspace
from sow.schema.change import ChangeKind
from sow.schema.job import Job

TOLD_BY_CALL = frozenset(
    {
        *(ChangeKind.PLACED, ChangeKind.HELD, ChangeKind.WARNING),
        *(ChangeKind.SHORT, ChangeKind.ROOMY, ChangeKind.STATUS),
        *(ChangeKind.DONE, ChangeKind.FAILED, ChangeKind.CANCELLED),
    }
)
"""What a call for jobs tells in its notes and its outcomes."""
TOLD_BY_BATCH = frozenset({ChangeKind.PLACED, ChangeKind.SHORT, ChangeKind.ROOMY})
"""What a call for a batch leaves out; it prints no outcome before all have come to rest."""


class JobNews:
    """Tells what has happened since the last time."""

    def __init__(self, workspace: Workspace, database: Database, *, since: float) -> None:
        """`since`: from when on, in seconds since the epoch."""
        self.workspace = workspace
        self.database = database
        self._failing = FailingRequests()
        self._seq = changes.first_since(database, since) - 1
        self._jobs: set[JobId] = set()

    def tell_of(self, job_ids: Iterable[JobId]) -> None:
        """Print what has become of these jobs, and of all that were named before."""
        self._jobs.update(job_ids)
        self._tell(
            lambda row: row["job"] in self._jobs and row["kind"] not in TOLD_BY_CALL,
            lambda job: job.id in self._jobs,
        )

    def tell_of_batch(self, batch: BatchId) -> None:
        """Print what has happened in a batch."""
        self._tell(
            lambda row: row["batch"] == batch and row["kind"] not in TOLD_BY_BATCH,
            lambda job: job.batch == batch,
        )

    def _tell(self, is_wanted: Callable[[Row], bool], is_shown: Callable[[Job], bool]) -> None:
        """Print the changes whose rows are wanted, and what fails of the jobs that are shown."""
        with self.database.reading():
            happenings = [
                *self._read(is_wanted),
                *self._failing.read(self.workspace, self.database, is_shown, time.time()),
            ]
        for happening in happenings:
            click.echo(happening.line(time.time()), err=True)
        sys.stderr.flush()

    def _read(self, is_wanted: Callable[[Row], bool]) -> Iterator[Happening]:
        while rows := changes.rows_after(self.database, self._seq):
            self._seq = rows[-1]["seq"]
            for row in filter(is_wanted, rows):
                with suppress(DamagedRecord):  # it hides no other; `sow changes` names it
                    happening = happening_on_record(changes.change_of(row), self.database)
                    if happening is not None:
                        yield happening
            if len(rows) < changes.AT_ONCE:
                return
