"""`sow worker stop` where the queue's file cannot be written."""

import os
import sqlite3
import subprocess
from contextlib import closing

import pytest

from sow.files.flock import open_lock_file, try_lock
from sow.ids import WorkerId
from sow.jobs import workers
from sow.jobs.database import open_queue
from sow.paths import Workspace
from sow.processes import process_facts
from sow.schema.job import WorkerRecord

SLEEPER = WorkerId("w1-sleeps")


@pytest.fixture
def sleeper(begun, tmp_path):
    """A process that is on record as a worker and holds its lock; it leaves at SIGTERM."""
    workspace = Workspace(tmp_path)
    with closing(open_queue(workspace)) as database:
        lock = open_lock_file(workspace.worker_lock(SLEEPER))
        assert try_lock(lock)
        with subprocess.Popen(["sleep", "600"], pass_fds=[lock]) as process:
            os.close(lock)
            identity = process_facts.identify(process.pid)
            assert identity is not None
            record = WorkerRecord(
                id=SLEEPER,
                process=identity,
                concurrency=4,
                version="0",
                background=True,
                started_at=0.0,
            )
            workers.register(database, record)
            yield workspace
            process.kill()


def test_a_worker_is_signalled_though_the_queue_is_locked(begun, sleeper, monkeypatch):
    monkeypatch.setattr(workers, "SAY_SECONDS", 0.05)
    with closing(sqlite3.connect(sleeper.queue_db, isolation_level=None)) as other:
        other.execute("begin immediate")
        assert begun("worker", "stop").out == f"stopped {SLEEPER}\n"
    assert not workers.is_alive(sleeper, SLEEPER)
