"""What workers are short of: told once however many find it, and over with the last of them."""

import os

from queue_cases import OTHER_WORKER, WORKER
from recorded_changes import read_after

from sow.ids import WorkerId
from sow.jobs import workers
from sow.jobs.database import Database
from sow.processes import process_facts
from sow.schema.job import WorkerRecord

DISK, MEMORY = "too little disk space is free", "too little memory is free"


def hire(database: Database, *names: WorkerId) -> None:
    identity = process_facts.identify(os.getpid())
    assert identity is not None
    for name in names:
        workers.register(
            database,
            WorkerRecord(
                id=name,
                process=identity,
                concurrency=4,
                version="0",
                background=False,
                started_at=1.0,
            ),
        )


def of_room(database: Database) -> list[tuple[str, str | None]]:
    return [(row.kind, row.data.reason) for row in read_after(database, 0)]


def test_two_workers_of_one_machine_make_one_change_of_it(database: Database) -> None:
    hire(database, WORKER, OTHER_WORKER)
    workers.say_short(database, WORKER, DISK)
    workers.say_short(database, WORKER, DISK)
    workers.say_short(database, OTHER_WORKER, DISK)
    assert of_room(database) == [("short", DISK)]
    workers.say_short(database, WORKER, "")
    assert of_room(database) == [("short", DISK)], "the other one still takes nothing"
    workers.say_short(database, OTHER_WORKER, "")
    assert of_room(database) == [("short", DISK), ("roomy", DISK)]


def test_another_shortage_is_another_change(database: Database) -> None:
    hire(database, WORKER)
    workers.say_short(database, WORKER, DISK)
    workers.say_short(database, WORKER, MEMORY)
    assert of_room(database) == [("short", DISK), ("short", MEMORY)]


def test_it_is_over_when_the_last_that_tells_of_it_is_struck_off(database: Database) -> None:
    hire(database, WORKER, OTHER_WORKER)
    workers.say_short(database, WORKER, DISK)
    workers.unregister(database, OTHER_WORKER)
    assert of_room(database) == [("short", DISK)]
    workers.unregister(database, WORKER)
    assert of_room(database)[1:] == [("roomy", DISK)]


def test_only_where_every_worker_is_short_nobody_takes_a_job(database: Database) -> None:
    hire(database, WORKER, OTHER_WORKER)
    workers.say_short(database, WORKER, DISK)
    assert workers.shortage_of(workers.registered(database)) == ""
    workers.say_short(database, OTHER_WORKER, DISK)
    assert workers.shortage_of(workers.registered(database)) == DISK
    assert workers.shortage_of([]) == ""
