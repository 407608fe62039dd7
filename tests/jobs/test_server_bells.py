"""Bells over a server: what is changed on one host is heard on another, without a FIFO between."""

import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import postgres
import pytest
from queue_cases import MANY, NOW, WORKER, insert
from stores import name_server

from sow.ids import JobId
from sow.jobs import control, jobs, leases, waiters
from sow.jobs.database import open_queue
from sow.jobs.doorbell import Bell, ring
from sow.jobs.store import Ring
from sow.paths import Workspace
from sow.schema.job import JobState

pytestmark = pytest.mark.slow
SCHEMA = "sow_bells"


@pytest.fixture
def database(
    workspace: Workspace, postgres_server: postgres.Server, poisoned_home: Path
) -> Iterator[Any]:
    """Return a shared queue."""
    from sow.jobs.server_rights import Joining, share

    name_server(poisoned_home, postgres_server)
    workspace.queue_name.write_text(SCHEMA.removeprefix("sow_"))
    with closing(open_queue(workspace)) as opened:
        found: Any = opened
        try:
            share(found, Joining(), lease_seconds=None)
            yield found
        finally:
            found.connection.execute(f"drop schema {SCHEMA} cascade")
            for group in ("callers", "hosts"):
                found.connection.execute(f"drop role {SCHEMA}_{group}")


Listen = Callable[..., Bell]


@pytest.fixture
def listen(database: Any, tmp_path: Path, request: pytest.FixtureRequest) -> Listen:
    """Hang a bell that also hears the server."""

    def listen(is_for: Callable[[Ring], bool] = lambda _: True) -> Bell:
        ear = database.listen(is_for)
        assert ear is not None
        bell = Bell(tmp_path / f"{len(list(tmp_path.iterdir()))}.bell", ear)
        request.addfinalizer(bell.close)
        return bell

    return listen


def queued(database: Any, task: str = "010") -> JobId:
    job = insert(database, task)
    leases.enqueue(database, job.id, now=NOW)
    return job.id


def test_a_job_that_is_queued_elsewhere_ends_a_wait(database: Any, listen: Listen) -> None:
    bell = listen()
    heard: list[bool] = []
    waiting = threading.Thread(target=lambda: heard.append(bell.wait(60.0)))
    waiting.start()
    queued(database)
    waiting.join(60)
    assert heard == [True]


def test_a_ring_before_the_wait_is_not_lost_and_one_of_the_fifo_is_heard_too(
    database: Any, listen: Listen
) -> None:
    bell = listen()
    with database.transaction():  # each commit rings by itself
        queued(database)
    assert bell.wait(60.0)
    assert not bell.wait(0.0)
    ring(bell.path)
    assert bell.wait(0.0)
    assert not bell.wait(0.05)


def insert_and_fail(database: Any) -> None:
    with database.transaction():
        insert(database)
        raise ZeroDivisionError


def test_nothing_is_heard_before_the_commit_nor_of_what_is_undone(
    database: Any, listen: Listen
) -> None:
    bell = listen()
    with pytest.raises(ZeroDivisionError):
        insert_and_fail(database)
    assert not bell.wait(0.05)
    with database.transaction():
        insert(database)
        assert not bell.wait(0.05)
    assert bell.wait(60.0)


def test_who_waits_for_one_job_sleeps_on_at_what_befalls_another(
    database: Any, listen: Listen
) -> None:
    its, other = queued(database, "010"), queued(database, "020")
    bell = listen(lambda rung: rung.job == its)
    jobs.change_job(database, other, state=JobState.CANCELLED)
    assert not bell.wait(0.1)
    jobs.change_job(database, its, state=JobState.CANCELLED)
    assert bell.wait(60.0)


def test_what_frees_a_slot_or_lets_the_queue_go_on_is_heard(database: Any, listen: Listen) -> None:
    job = queued(database)
    control.pause(database, now=NOW)
    bell = listen()
    waiters.begin(database, "w", job, on_behalf_of=None, now=NOW)
    assert not bell.wait(0.05), "who waits only frees nothing"
    waiters.begin(database, "v", job, on_behalf_of=job, now=NOW)
    assert bell.wait(60.0)
    control.unpause(database)
    assert bell.wait(60.0)
    assert leases.claim(database, WORKER, total=MANY, own=MANY, now=NOW) is not None
    assert bell.wait(60.0)


def test_a_connection_that_was_lost_counts_as_a_ring_and_is_made_anew(
    database: Any, listen: Listen, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sow.jobs import server_bells

    bell = listen()
    pids = "select pid from pg_stat_activity where query like 'listen%' and pid <> pg_backend_pid()"
    for (pid,) in map(tuple, database.rows(pids)):
        database.rows("select pg_terminate_backend(?, 60000)", (pid,))
    assert bell.wait(60.0)
    queued(database, "010")
    assert not bell.wait(0.05), "another one is made later"
    monkeypatch.setattr(server_bells, "AGAIN_SECONDS", 0.0)
    assert not bell.wait(0.0)
    queued(database, "020")
    assert bell.wait(60.0)


def test_words_of_others_are_for_nobody(database: Any, listen: Listen) -> None:
    bell = listen(lambda rung: rung.job > 0)
    for word in ("", "soon", "1", "1 2 3", "0 7"):
        database.rows("select pg_notify(?, ?)", (SCHEMA, word))
    assert not bell.wait(0.1)


def test_a_queue_that_is_not_shared_needs_no_ear(
    workspace: Workspace, postgres_server: postgres.Server, poisoned_home: Path
) -> None:
    with closing(open_queue(workspace)) as in_file:
        assert in_file.listen(lambda _: True) is None
    name_server(poisoned_home, postgres_server)
    with closing(open_queue(workspace)) as opened:
        on_server: Any = opened
        assert on_server.listen(lambda _: True) is None
        on_server.connection.execute(f'drop schema "{on_server.schema}" cascade')
