"""The power goes before the disk has taken an attempt's record: its folder and what its agent has
left are there, its record is not.

The log of the queue's file is cut after the last commit in which nobody has a lease: that of a
claim is not waited for, nor is the next one.
"""

import os
import sqlite3
import struct
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from journeys.callers import Step, gate, good, job_of, ledger
from journeys.site import Site, wait_until
from journeys.staff import drain, nothing_is_taken, start_worker
from journeys.test_power_loss import kill_everything
from standins import read_runs

from sow.paths import Workspace
from sow.schema.job import JobState

LOG_HEADER, FRAME_HEADER = 32, 24
"""Bytes of the log before its first frame, and of a frame before its page."""


def lose_the_attempt(site: Site) -> None:
    """Kill all there is, and have the queue's log as the disk has it then."""
    kill_everything(site)
    queue = Workspace(site.root).queue_db
    log = queue.with_name("queue.db-wal")
    length = next(length for length in commits_of(log) if not has_lease(queue, log, length))
    os.truncate(log, length)
    queue.with_name("queue.db-shm").unlink()


def commits_of(log: Path) -> Iterator[int]:
    """Yield how long the log was after each commit, the last one first."""
    data = log.read_bytes()
    (page,) = struct.unpack_from(">I", data, 8)
    size = FRAME_HEADER + page
    starts = range(LOG_HEADER, len(data) - size + 1, size)
    for start in reversed(starts):
        _, is_commit, *salts = struct.unpack_from(">IIII", data, start)
        if is_commit and salts == list(struct.unpack_from(">II", data, 16)):
            yield start + size


def has_lease(queue: Path, log: Path, length: int) -> bool:
    """Whether somebody has a lease in a copy of the queue with so much of its log."""
    copy = queue.with_name("copy.db")
    copy.write_bytes(queue.read_bytes())
    copy.with_name("copy.db-wal").write_bytes(log.read_bytes()[:length])
    try:
        with closing(sqlite3.connect(copy)) as database:
            (count,) = database.execute("select count(*) from lease").fetchone()
        return bool(count)
    finally:
        copy.unlink()


STATE = ".sow/project/phases/*/tasks/010/state.yaml"
TRACES: dict[str, tuple[list[Step], list[str]]] = {
    "nothing": ([{"keep_nothing": True}], ["reported"]),
    "its session": ([{"say": "Begun"}], ["session_in_use", "reported"]),
    "its report": (
        [{"keep_nothing": True}, {"aside": f"sed -i s/in_progress/needs_review/ {STATE}"}],
        ["reported"],
    ),
}
"""What the first agent has left besides its folder, and how the attempts end that are on record."""


@pytest.mark.slow
@pytest.mark.parametrize("left", TRACES)
def test_a_job_whose_attempt_the_disk_never_had_begins_anew(site: Site, left: str) -> None:
    steps, causes = TRACES[left]
    site.project("010")
    site.configure({"worker": {"autostart": False}})
    site.script([[*steps, {"touch": ".standin/cut off"}, gate("never")], good()])
    site.sow("agent", "spawn", "implementer", "010", "--detach")
    start_worker(site)
    wait_until((site.root / ".standin/cut off").exists, "the first agent has left its traces")
    lose_the_attempt(site)
    job = job_of(site, "010")
    assert job is not None
    assert job.state is JobState.QUEUED
    assert site.job(1)["attempts"] == []
    output = site.root / ".sow/run/jobs/1/1/output.jsonl"
    written = output.read_bytes()

    log = drain(site).log_text
    assert "attempt 1" in log
    assert [cause for _, cause in ledger(site)] == causes, log
    assert site.task("010")["status"] == "needs_review"
    assert len(read_runs(site.root)) == 2
    (aside,) = site.root.glob(".sow/run/aside/*/1/output.jsonl")
    assert aside.read_bytes() == written
    assert output.read_bytes() != written
    nothing_is_taken(site)
