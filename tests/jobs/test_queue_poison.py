"""What anyone may have written into huey's table jams nothing and is never run (facts/huey)."""

import pickle

import pytest
from queue_cases import WORKER, Queue, insert, queue_rows

from sow.jobs.database import Database


@pytest.mark.parametrize(
    "data",
    [
        pickle.dumps(print),
        b"",
        b"\xff\x00garbage",
        b"{}",
        b'{"name": "worker.broker.other", "args": []}',
        b'{"name": "worker.broker.run_job", "args": [999]}',
    ],
    ids=str,
)
def test_a_row_that_is_no_job_s_blocks_none(queue: Queue, database: Database, data: bytes) -> None:
    blocks_none(queue, database, data)


@pytest.mark.queue_file
@pytest.mark.parametrize("data", ["text, not bytes", 7, 10**13, 1.5], ids=str)
def test_nor_does_one_of_another_type_which_a_server_does_not_take(
    queue: Queue, database: Database, data: str | float
) -> None:
    blocks_none(queue, database, data)


def blocks_none(queue: Queue, database: Database, data: bytes | str | float) -> None:
    database.run("insert into task (queue, data, priority) values ('sow', ?, 9)", (data,))
    job = insert(database)
    queue.enqueue(job.id)
    assert queue.claim(WORKER) == job.id
    assert queue_rows(database) == []


def test_a_row_of_another_queue_is_left_alone(queue: Queue, database: Database) -> None:
    database.run("insert into task (queue, data) values ('theirs', ?)", (b"\0",))
    assert queue.claim(WORKER) is None
    assert len(queue_rows(database)) == 1
