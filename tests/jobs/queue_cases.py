"""Jobs to put into a queue, and the door by which callers and recovery do so.

The worker's door is `huey_queue`. Both keep the same promises, so one suite
runs over both.
"""

import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import msgspec

from sow.ids import JobId, ProjectId, TaskId, WorkerId
from sow.jobs import jobs, leases, messages
from sow.jobs.database import Database
from sow.paths import Workspace
from sow.schema.executor import ExecutorConfig
from sow.schema.executor_type import ExecutorType
from sow.schema.job import Job, JobState, Lease, Verb

PROJECT = ProjectId("11111111-1111-4111-8111-111111111111")
WORKER = WorkerId("w1-aaaaaa")
OTHER_WORKER = WorkerId("w2-bbbbbb")
NOW = time.time()
MANY = 1000
"""A limit that no test reaches."""


def make_job(
    task_id: str = "010",
    *,
    executor: str | ExecutorConfig | None = "claude-code",
    max_parallel: int | None = None,
    **more: Any,
) -> Job:
    """Return a job as a caller would put it on record; `executor` may be just a name."""
    if isinstance(executor, str):
        executor = ExecutorConfig(
            name=executor, type=ExecutorType.CLAUDE, max_parallel=max_parallel
        )
    job = Job(
        id=JobId(0),
        project_id=PROJECT,
        task_id=TaskId(task_id),
        phase="implementation",
        verb=Verb.SPAWN,
        agent="implementer",
        executor=executor,
        prompt="",
        cwd=".",
        path_variable="/usr/bin",
        config_file="",
        created_at=NOW,
    )
    return msgspec.structs.replace(job, **more)


def insert(database: Database, task_id: str = "010", **more: Any) -> Job:
    """Put a job on record, not yet into the queue."""
    return jobs.insert_job(database, make_job(task_id, **more))


def leased_job(
    database: Database, task_id: str = "010", worker: WorkerId = WORKER, **more: Any
) -> Lease:
    """Return the lease on a job that `worker` has claimed."""
    job = insert(database, task_id, **more)
    leases.enqueue(database, job.id, now=NOW)
    assert leases.claim(database, worker, total=MANY, own=MANY, now=NOW) is not None
    lease = leases.lease_of(database, job.id)
    assert lease is not None
    return lease


def state_of(database: Database, job_id: JobId) -> JobState:
    return jobs.get_job(database, job_id).state


def queue_rows(database: Database) -> list[bytes]:
    """Return what stands in huey's queue, in the order in which it was put there."""
    return [bytes(row["data"]) for row in database.rows("select data from task order by id")]


class Queue(Protocol):
    """A door to the queue."""

    def enqueue(self, job_id: JobId) -> None:
        """Put a job into the queue."""

    def claim(self, worker: WorkerId, *, total: int = MANY, own: int = MANY) -> JobId | None:
        """Take a job out of it, without waiting."""


class RecordsQueue:
    """The functions over the records."""

    def __init__(self, database: Database, workspace: Workspace) -> None:
        self.database = database

    def enqueue(self, job_id: JobId) -> None:
        leases.enqueue(self.database, job_id, now=NOW)

    def claim(self, worker: WorkerId, *, total: int = MANY, own: int = MANY) -> JobId | None:
        data = leases.claim(self.database, worker, total=total, own=own, now=time.time())
        return messages.job_of(data) if data is not None else None


def claim_all(queue: Queue, worker: WorkerId = WORKER, **limits: int) -> list[JobId]:
    """Claim until there is nothing to take, and return the jobs in that order."""
    taken = []
    while (job_id := queue.claim(worker, **limits)) is not None:
        taken.append(job_id)
    return taken


def start_python(script: Path, *arguments: object, **popen: Any) -> subprocess.Popen[str]:
    """Start a script of this folder that uses sow's own modules."""
    argv: Sequence[str] = [sys.executable, "-P", str(script), *map(str, arguments)]
    return subprocess.Popen(
        argv,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **popen,
    )
