"""A worker's name: it is taken whole, and what a start that was killed leaves goes."""

import fcntl
import os
import sqlite3
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest
from watch_cases import WatchSite

from sow.jobs import workers
from sow.jobs.doorbell import is_held
from worker import registration
from worker.monitor import Monitor
from worker.recovery import recover
from worker.registration import register, say_leaving, strike_off, take_name

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="an identity is read from /proc")


@pytest.fixture
def held() -> Iterator[list[int]]:
    """Locks to free at the end."""
    descriptors: list[int] = []
    yield descriptors
    for descriptor in descriptors:
        with suppress(OSError):
            os.close(descriptor)


def drafts(site: WatchSite) -> list[str]:
    return sorted(path.name for path in site.workspace.workers.glob(".w*"))


def test_the_draft_of_a_worker_that_was_killed_goes(site: WatchSite) -> None:
    (site.workspace.workers / ".w9-dead00.lock.new").write_text("")
    recover(site.context, Monitor(site.context))
    assert drafts(site) == []


def test_the_draft_of_one_that_is_starting_stays(site: WatchSite, held: list[int]) -> None:
    draft = site.workspace.workers / ".w9-alive0.lock.new"
    draft.write_text("")
    held.append(os.open(draft, os.O_RDWR))
    fcntl.flock(held[0], fcntl.LOCK_EX)
    recover(site.context, Monitor(site.context))
    assert drafts(site) == [draft.name]


@pytest.mark.parametrize("fault", [FileNotFoundError, BlockingIOError])
def test_one_whose_draft_another_looks_at_or_clears_takes_another_name(
    site: WatchSite, held: list[int], monkeypatch: pytest.MonkeyPatch, fault: type[OSError]
) -> None:
    """Between the making of the file and its lock it looks like one that is left behind."""
    true_flock, seen = fcntl.flock, []

    def disturbed(descriptor: int, how: int) -> None:
        seen.append(Path(f"/proc/self/fd/{descriptor}").readlink())
        if len(seen) == 1 and fault is BlockingIOError:
            raise BlockingIOError
        if len(seen) == 1:
            seen[0].unlink()
        true_flock(descriptor, how)

    monkeypatch.setattr(fcntl, "flock", disturbed)
    worker_id, lock = take_name(site.workspace)
    held.append(lock)
    monkeypatch.undo()
    assert is_held(site.workspace.worker_lock(worker_id))
    assert workers.is_alive(site.workspace, worker_id)
    assert drafts(site) == []
    assert worker_id not in str(seen[0])


@pytest.mark.parametrize("holder", ["another process", "a thread of ours"])
def test_a_locked_queue_keeps_no_worker_from_leaving(
    site: WatchSite, monkeypatch: pytest.MonkeyPatch, holder: str
) -> None:
    """Whoever stops it waits for 30 seconds; calls wait for a locked queue for 20."""
    register(site.context, concurrency=1, background=True)
    monkeypatch.setattr(workers, "SAY_SECONDS", 0.05)
    monkeypatch.setattr(registration, "STRIKE_SECONDS", 0.05)

    def leave() -> None:
        say_leaving(site.context)
        strike_off(site.context)

    leaving, begun = threading.Thread(target=leave), time.monotonic()
    with closing(sqlite3.connect(site.database.path, isolation_level=None)) as other:
        if holder == "another process":
            other.execute("begin immediate")
            leaving.start()
            leaving.join()
        else:
            with site.database.lock:
                leaving.start()
                leaving.join(timeout=30)
                assert not leaving.is_alive()
    assert time.monotonic() - begun < 15
    assert workers.find(site.database, site.context.worker_id) is not None
    leave()
    assert workers.find(site.database, site.context.worker_id) is None
    assert site.database.value("pragma busy_timeout") == 20_000
