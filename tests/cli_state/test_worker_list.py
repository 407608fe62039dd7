"""The workers on record: in one table like all others, and none called dead without a proof."""

import os
from contextlib import closing

import msgspec
import pytest

from sow.ids import WorkerId
from sow.jobs import workers
from sow.jobs.database import open_queue
from sow.jobs.doorbell import Bell
from sow.paths import Workspace
from sow.processes import process_facts
from sow.schema.job import WorkerRecord

ALIVE, DEAD, ELSEWHERE = (WorkerId(name) for name in ("w1-alive", "w2-dead", "w31415926-elsewhere"))


@pytest.fixture
def staffed(begun, tmp_path):
    """Three workers on record: one holds its lock, one left a free one, one left no file here."""
    workspace = Workspace(tmp_path)
    process = process_facts.identify(os.getpid())
    assert process is not None
    with closing(open_queue(workspace)) as database:
        for name in (ALIVE, DEAD, ELSEWHERE):
            there = {"boot_id": "another", "machine": "f" * 32} if name == ELSEWHERE else {}
            record = WorkerRecord(
                id=name,
                process=msgspec.structs.replace(process, **there),
                concurrency=4,
                version="0",
                background=True,
                started_at=0.0,
            )
            workers.register(database, record)
    workspace.worker_lock(DEAD).touch()
    with closing(Bell(workspace.worker_lock(ALIVE))):
        yield begun


def test_nobody_is_called_dead_without_a_proof(staffed):
    shown = {record["worker"]: record for record in staffed("worker", "list", "--json").lines}
    assert [shown[name]["life"] for name in (ALIVE, DEAD, ELSEWHERE)] == [
        "alive",
        "dead",
        "unverifiable",
    ]
    assert [shown[name]["alive"] for name in (ALIVE, DEAD, ELSEWHERE)] == [True, False, False]


def test_the_doctor_tells_them_apart_too(staffed):
    report = staffed("doctor").out
    assert f"Dead workers: {DEAD}\n" in report
    assert f"sow cannot see from here whether these workers still run: {ELSEWHERE}\n" in report


def test_its_columns_are_as_wide_as_what_stands_in_them(staffed):
    header, *rows = staffed("worker", "list").out.splitlines()
    assert header.split() == ["WORKER", "PID", "STATE", "SLOTS", "JOBS", "SINCE"]
    for column in ("PID", "STATE", "SLOTS", "SINCE"):
        at = header.index(column)
        assert {row[at - 1] for row in rows} == {" "}, column
        assert " " not in {row[at] for row in rows}, column
