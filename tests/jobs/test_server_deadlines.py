"""Until when a lease on a server is its worker's alone: what sets a deadline, and what moves it."""

import os
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from queue_cases import MANY, NOW, OTHER_WORKER, WORKER, insert

from sow.errors import QueueError
from sow.ids import JobId, WorkerId
from sow.jobs import jobs, leases, workers
from sow.jobs.database import Database, open_queue
from sow.jobs.server_deadlines import LEASE_SECONDS, seconds_left, silent_seconds
from sow.jobs.store import Beat
from sow.paths import Workspace
from sow.processes import process_facts
from sow.schema.job import WorkerRecord

pytestmark = pytest.mark.slow
LEASE = pytest.approx(120.0, abs=30.0)
"""What is left of a deadline that was set a moment ago, on a machine that may be busy."""


@pytest.fixture
def database(on_server: Any) -> Any:
    return on_server


def leased(database: Database, task: str, worker: WorkerId = WORKER) -> JobId:
    job = insert(database, task)
    leases.enqueue(database, job.id, now=NOW)
    assert leases.claim(database, worker, total=MANY, own=MANY, now=NOW) is not None
    return job.id


def register(database: Database, worker: WorkerId = WORKER) -> None:
    process = process_facts.identify(os.getpid())
    assert process is not None
    record = WorkerRecord(
        id=worker, process=process, concurrency=1, version="1", background=False, started_at=NOW
    )
    workers.register(database, record)


def age(database: Any, seconds: float) -> None:
    """Have so much time gone by on the server since the last beats."""
    database.run("update lease set deadline = deadline - ?", (seconds,))
    database.run("update worker set beat_at = beat_at - ?", (seconds,))


def test_a_claim_sets_a_deadline_by_the_server_s_clock(database: Database) -> None:
    """`now` of the claim is this machine's word, and was long ago."""
    job = insert(database)
    leases.enqueue(database, job.id, now=1.0)
    leases.claim(database, WORKER, total=MANY, own=MANY, now=1.0)
    assert seconds_left(database) == {job.id: LEASE}


def test_a_beat_moves_the_deadlines_of_its_own_worker_alone(database: Database) -> None:
    mine, others = leased(database, "010"), leased(database, "020", OTHER_WORKER)
    register(database)
    age(database, 500)
    with closing(database.beats(WORKER)) as beats:
        assert beats.beat() == Beat(frozenset({mine}), None)
    assert seconds_left(database) == {mine: LEASE, others: pytest.approx(-380, abs=30)}


def test_a_take_over_gives_a_lease_its_whole_time(database: Database) -> None:
    job = leased(database, "010")
    age(database, 500)
    leases.take_over(database, WORKER, OTHER_WORKER, now=NOW)
    assert seconds_left(database) == {job: LEASE}


def test_a_worker_is_heard_when_it_registers_and_when_it_beats(database: Database) -> None:
    assert silent_seconds(database) is None
    register(database)
    age(database, 500)
    assert silent_seconds(database) == pytest.approx(500, abs=30)
    with closing(database.beats(WORKER)) as beats:
        assert beats.beat() == Beat(frozenset(), None)
    assert silent_seconds(database) < 30


def test_a_beat_waits_for_no_writer(database: Database) -> None:
    """A writer has the queue's turn for as long as its transaction lasts."""
    leased(database, "010")
    beaten: list[Beat] = []
    with closing(database.beats(WORKER)) as beats:
        thread = threading.Thread(target=lambda: beaten.append(beats.beat()))
        with database.transaction():
            insert(database, "020")
            thread.start()
            thread.join(timeout=60)
            assert [beat.jobs for beat in beaten] == [{1}]


def share(database: Database, seconds: int = 120) -> None:
    database.note(LEASE_SECONDS, seconds)


def test_a_beat_is_told_whether_others_may_take_over(database: Database) -> None:
    share(database)
    register(database)
    with closing(database.beats(WORKER)) as beats:
        assert beats.beat() == Beat(frozenset(), 120.0)


def test_a_beat_is_told_which_of_its_jobs_are_to_end(database: Database) -> None:
    leased(database, "010")
    ending, others = leased(database, "020"), leased(database, "030", OTHER_WORKER)
    for job in (ending, others):
        jobs.change_job(database, job, cancel_requested_at=NOW)
    with closing(database.beats(WORKER)) as beats:
        assert beats.beat().ending == {ending}


def test_a_shared_queue_says_how_long_a_lease_is(database: Database) -> None:
    share(database, 1000)
    job = leased(database, "010")
    assert seconds_left(database) == {job: pytest.approx(1000, abs=30)}
    age(database, 500)
    with closing(database.beats(WORKER)) as beats:
        beats.beat()
    assert seconds_left(database) == {job: pytest.approx(1000, abs=30)}


def test_only_in_a_shared_queue_a_deadline_lets_others_take_over(database: Database) -> None:
    job = leased(database, "010")
    age(database, 500)
    assert not leases.have_expired(database, WORKER)
    assert leases.take_over(database, WORKER, OTHER_WORKER, now=NOW, if_expired=True) == []
    share(database)
    assert leases.have_expired(database, WORKER)
    taken = leases.take_over(database, WORKER, OTHER_WORKER, now=NOW, if_expired=True)
    assert [lease.job_id for lease in taken] == [job]
    assert not leases.have_expired(database, WORKER), "it holds nothing"
    assert not leases.have_expired(database, OTHER_WORKER)


def test_a_worker_that_holds_one_lease_in_time_has_not_expired(database: Database) -> None:
    share(database)
    leased(database, "010")
    age(database, 500)
    leased(database, "020")
    assert not leases.have_expired(database, WORKER)


def test_a_beat_that_comes_first_keeps_its_lease(database: Database) -> None:
    """Whoever takes over has seen the deadline pass; the beat comes before the change."""
    share(database)
    job = leased(database, "010")
    age(database, 500)
    with closing(database.beats(WORKER)) as beats, database.transaction():
        assert leases.have_expired(database, WORKER)
        assert beats.beat().jobs == {job}
        assert leases.take_over(database, WORKER, OTHER_WORKER, now=NOW, if_expired=True) == []


def test_a_beat_that_comes_late_moves_nothing(database: Database) -> None:
    share(database)
    job = leased(database, "010")
    age(database, 500)
    leases.take_over(database, WORKER, OTHER_WORKER, now=NOW, if_expired=True)
    age(database, 50)
    with closing(database.beats(WORKER)) as beats:
        assert beats.beat().jobs == set()
    assert seconds_left(database) == {job: pytest.approx(70, abs=30)}


def test_who_is_refused_hears_when_a_worker_of_the_other_checkout_was_heard(
    tmp_path: Path, workspace: Workspace, database: Database
) -> None:
    register(database)
    leased(database, "010")
    age(database, 500)
    (tmp_path / "other/.sow").mkdir(parents=True)
    elsewhere = Workspace(tmp_path / "other")
    elsewhere.queue_name.write_text(workspace.queue_name.read_text())
    with pytest.raises(QueueError, match=r"a worker there was heard 8m\d\ds ago"):
        open_queue(elsewhere)


def test_a_queue_in_a_file_has_no_beats(workspace: Workspace) -> None:
    with closing(open_queue(workspace)) as in_file:
        assert in_file.beats(WORKER) is None
        leased(in_file, "010")
        assert not leases.have_expired(in_file, WORKER)
        assert leases.take_over(in_file, WORKER, OTHER_WORKER, now=NOW, if_expired=True) == []
