"""The disk of a shared queue's server is full: nothing is lost, and all goes on later."""

import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import postgres
import psycopg
import pytest
from journeys.callers import good
from journeys.site import wait_until
from journeys.staff import start_worker
from journeys.two_checkouts import Pair, pair_at

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        os.geteuid() != 0 or shutil.which("unshare") is None, reason="only root can mount a disk"
    ),
]
SPAWN = ("agent", "spawn", "implementer")
DISK_MB = 120
ON_SMALL_DISK = (
    *("unshare", "--mount", "sh", "-ec"),
    f"cp -a data saved && mount -t tmpfs -o size={DISK_MB}m,mode=700 none data"
    ' && cp -a saved/. data/ && chown --reference=saved data && exec "$@"',
    "sh",
)
"""What goes before the server's command, so that its data has a disk of its own."""
SMALL_LOG = ("max_wal_size=32MB", "min_wal_size=32MB", "wal_keep_size=0")
TASKS = [f"{number:03}" for number in range(20, 320, 10)]
FULL = "its disk is full"


@pytest.fixture
def hosts(tmp_path: Path) -> Iterator[Pair]:
    settings = (*postgres.UNSAFE, *SMALL_LOG)
    with (
        postgres.running(*settings, enter=ON_SMALL_DISK) as server,
        pair_at(tmp_path, server) as made,
    ):
        made.begin("010", *TASKS, script=[good(made.gate("{task}"))])
        yield made


def fill(hosts: Pair) -> None:
    """Fill the disk with rows that are in no log, to its last page."""
    with hosts.connected() as connection:
        connection.execute("create unlogged table ballast (data text)")
        connection.execute("alter table ballast alter column data set storage external")
        for size in (1_000_000, 7_000):
            with suppress(psycopg.errors.DiskFull):
                while True:
                    connection.execute(f"insert into ballast values (repeat('x', {size}))")


def test_what_cannot_be_written_is_refused_or_written_later(hosts: Pair) -> None:
    owner, other = hosts.owner, hosts.host
    there = start_worker(other)
    owner.sow(*SPAWN, "010", "--detach")
    hosts.await_runs(other, 1)
    fill(hosts)
    queued = []
    for task in TASKS:
        result = owner.sow(*SPAWN, task, "--detach", "--prompt", "word " * 1500, expect=None)
        if result.code:
            break
        queued.append(task)
    assert (result.code, FULL in result.err) == (6, True), result
    assert "Make room on the server's disk" in result.err
    assert owner.task(task)["status"] == "pending", "as before"
    for each in ("010", *queued):
        hosts.open_gate(each)
    wait_until(lambda: FULL in there.log_text or owner.job(1)["state"] == "done", "it ends")
    hosts.ask("drop table public.ballast")
    for each in ("010", *queued):
        assert owner.sow("agent", "wait", each, expect=None).out.startswith(f"{each} needs_review")
    hosts.open_gate(task)
    assert owner.sow(*SPAWN, task).out.startswith(f"{task} needs_review")
