"""Every query over what grows has an index: jobs on record, jobs queued, attempts, waiters."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from queue_cases import make_job

from sow.ids import BatchId, JobId, ProjectId, TaskId, WorkerId
from sow.jobs import (
    batch_news,
    batch_summaries,
    batches,
    changes,
    jobs,
    known_jobs,
    leases,
    live,
    records,
    waiters,
)
from sow.jobs.database import ACTIVE, Database, QueueFile
from sow.jobs.queue_files import marks_of
from sow.paths import Workspace
from sow.schema.job import HeldFor, JobState

pytestmark = pytest.mark.queue_file

GROWING = ("job", "attempt", "task", "waiter", "change", "batch_item", "spending")
PROJECT = ProjectId("11111111-1111-4111-8111-111111111111")
TASK, JOB, WORKER = TaskId("010"), JobId(1), WorkerId("w1")


class Noting(QueueFile):
    """The database, with every statement asked."""

    def __init__(self, other: QueueFile) -> None:
        super().__init__(other.path, other.connection, marks_of(other.path), other._name)
        self.asked: list[tuple[str, Any]] = []

    def rows(self, sql: str, parameters: Sequence[Any] = ()) -> list[Any]:
        self.asked.append((sql, parameters))
        return super().rows(sql, parameters)

    def row(self, sql: str, parameters: Sequence[Any] = ()) -> Any:
        self.asked.append((sql, parameters))
        return super().row(sql, parameters)

    def run(self, sql: str, parameters: Sequence[Any] = ()) -> Any:
        self.asked.append((sql, parameters))
        return super().run(sql, parameters)

    def plans(self) -> Iterator[tuple[str, str]]:
        """Return each asked statement with each step of its plan."""
        for sql, parameters in self.asked:
            if re.match(r"\s*(select|update|delete|with)", sql):
                for row in super().rows(f"explain query plan {sql}", parameters):
                    yield sql, row["detail"]


QUERIES: dict[str, Callable[[Noting, Workspace], object]] = {
    "claim": lambda db, _: leases.claim(db, WORKER, total=4, own=4, now=1.0),
    "next_retry_at": lambda db, _: leases.next_retry_at(db, now=1.0),
    "get_job": lambda db, _: jobs.get_job(db, JOB),
    "live_job": lambda db, _: jobs.live_job(db, PROJECT, TASK),
    "has_live_job": lambda db, _: live.has_live_job(db, PROJECT, TASK),
    "last_job": lambda db, _: jobs.last_job(db, PROJECT, TASK),
    "tasks_with_jobs": lambda db, _: jobs.tasks_with_jobs(db, PROJECT, [TASK]),
    "active_jobs": lambda db, _: jobs.active_jobs(db),
    "has_active_jobs": lambda db, _: jobs.has_active_jobs(db),
    "active_among": lambda db, _: jobs.active_among(db, [JOB, JobId(2)]),
    "held_by_callers": lambda db, _: jobs.held_by_callers(db),
    "without_row": lambda db, _: jobs.without_row(db),
    "lacks_row": lambda db, _: jobs.lacks_row(db, JOB),
    "held_jobs": lambda db, _: jobs.held_jobs(db, HeldFor.TRUST),
    "is_any_held": lambda db, _: jobs.is_any_held(db, HeldFor.TRUST),
    "are_held": lambda db, _: jobs.are_held(db, [JOB]),
    "is_one_held": lambda db, _: jobs.is_one_held(db),
    "release": lambda db, _: leases.release(db, JOB, now=1.0),
    "newest_change": lambda db, _: changes.newest(db),
    "release_held": lambda db, _: leases.release_held(db, [JobId(1)], now=1.0),
    "attempts": lambda db, _: jobs.attempts(db, JOB),
    "last_attempt": lambda db, _: jobs.last_attempt(db, JOB),
    "descendants": lambda db, _: jobs.descendants(db, JOB),
    "owing": lambda db, _: jobs.owing(db),
    "of_job": lambda db, _: waiters.of_job(db, JOB),
    "is_owed": lambda db, workspace: waiters.is_owed(db, workspace, JOB),
    "unshown": lambda db, _: waiters.unshown(db, PROJECT),
    "forget_detached": lambda db, _: waiters.forget_detached(db, PROJECT),
    "take_detached": lambda db, _: waiters.take_detached(db, JOB),
    "lapse": lambda db, workspace: waiters.lapse(db, workspace, JOB),
    "reclaim_lent": waiters.reclaim_lent,
    "stop_lending": lambda db, _: waiters.stop_lending(db, "c1"),
    "in_escrow": lambda db, _: waiters.in_escrow(db, "m1"),
    "owe_again": lambda db, _: waiters.owe_again(db, "m1", JOB, now=1.0),
    "pending": lambda db, _: batch_news.pending(db, PROJECT),
    "a failure that is pending": lambda db, _: batch_news.has_new_failure(db),
    "jobs_of batch": lambda db, _: batches.jobs_of(db, BatchId(1)),
    "totals_of batch": lambda db, _: batches.totals_of(db, BatchId(1), now=1.0),
    "used_in batch": lambda db, _: batches.used_in(db, BatchId(1)),
    "items_of batch": lambda db, _: batches.items_of(db, BatchId(1)),
    "batch_of_task": lambda db, _: jobs.batch_of_task(db, PROJECT, TASK),
    "under_way": lambda db, _: batches.under_way(db, PROJECT),
    "projects_going_on": lambda db, _: batches.projects_going_on(db),
    "carried_by": lambda db, _: batches.carried_by(db, PROJECT),
    "counts_of batches": lambda db, _: batch_summaries.counts_of(db, [BatchId(1), BatchId(2)]),
    "recent_jobs of task": lambda db, _: jobs.recent_jobs(
        db, limit=20, project_id=PROJECT, task_id=TASK
    ),
    "active recent_jobs": lambda db, _: jobs.recent_jobs(db, limit=20, active_only=True),
    "warnings_of": lambda db, _: known_jobs.warnings_of(db, JOB),
    "live_jobs": lambda db, _: batches.live_jobs(db, PROJECT),
}


@pytest.mark.parametrize("name", QUERIES)
def test_no_query_reads_a_growing_table_whole(
    name: str, database: Database, workspace: Workspace
) -> None:
    for task in ("010", "020"):
        job = jobs.insert_job(database, make_job(task_id=TaskId(task), project_id=PROJECT))
        leases.enqueue(database, job.id, now=1.0)
    noting = Noting(database)
    QUERIES[name](noting, workspace)
    scans = [
        f"{step}: {sql}"
        for sql, step in noting.plans()
        if re.match(rf"SCAN ({'|'.join(GROWING)})\b(?! USING (COVERING )?INDEX)", step)
    ]
    assert noting.asked
    assert scans == []


def test_the_condition_of_live_jobs_is_the_index_s_and_names_every_live_state(
    database: Database,
) -> None:
    (index,) = database.rows("select sql from sqlite_master where name = 'job_live'")
    assert index["sql"].strip().endswith(f"where {ACTIVE}")
    live = [state for state in JobState if not state.is_final]
    assert records.among("state", live) == ACTIVE
