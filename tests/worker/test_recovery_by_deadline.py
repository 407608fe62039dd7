"""A worker of which no lock tells anything is dead once its deadlines have passed, if it must.

So it is with every worker of another host: of that nothing here is looked at.
"""

import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import postgres
import pytest
from watch_cases import WatchSite, dead_process, make_watch_site

from sow.ids import WorkerId
from sow.jobs import attempt_evidence, jobs, leases, workers
from sow.jobs.unverifiable import is_in_doubt
from sow.paths import Workspace
from sow.processes.life import Life
from sow.schema.job import Cause, Job, JobState, ProcessIdentity, WorkerRecord
from worker.monitor import Monitor
from worker.recovery import recover
from worker.registration import register, register_again

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="the supervisor reads /proc"),
]
SILENT = WorkerId("w9-silent")
ELSEWHERE = WorkerId("w9-silent@0123456789ab")
"""The same, of another host."""


@pytest.fixture
def site(
    workspace: Workspace, postgres_server: postgres.Server, poisoned_home: Path
) -> Iterator[WatchSite]:
    configuration = poisoned_home / ".config/sow/config.yaml"
    configuration.parent.mkdir(parents=True)
    configuration.write_text(f"queue:\n  url: {postgres_server.url}\n")
    made = make_watch_site(workspace)
    database: Any = made.database
    yield made
    database.connection.execute(f'drop schema "{database.schema}" cascade')
    for group in ("callers", "hosts"):
        database.connection.execute(f'drop role if exists "{database.schema}_{group}"')
    made.close()


def in_a_container() -> ProcessIdentity:
    """Return a process that was started in another namespace of this kernel, with a free lock."""
    return msgspec.structs.replace(dead_process(), pid_namespace="4026530000")


def silent_job(site: WatchSite, worker: WorkerId = SILENT) -> Job:
    """Return a job of a worker of which nobody here can tell whether it lives, nor of its agent."""
    job = site.job()
    site.lease(job, worker)
    site.attempt(job, supervisor=in_a_container())
    site.database.run("update attempt set worker_id = ?", (worker,))
    record = WorkerRecord(
        id=worker,
        process=in_a_container(),
        concurrency=1,
        version="0",
        background=False,
        started_at=0.0,
    )
    workers.register(site.database, record)
    return job


def age(site: WatchSite) -> None:
    site.database.run("update lease set deadline = deadline - 500")
    site.database.run("update worker set beat_at = beat_at - 500")


def shared(site: WatchSite) -> Any:
    """Share the queue of a site, and return it."""
    from sow.jobs.server_rights import Joining, share

    database: Any = site.database
    share(database, Joining(), lease_seconds=120)
    return database


def owner(site: WatchSite, job: Job) -> WorkerId:
    lease = leases.lease_of(site.database, job.id)
    assert lease is not None
    return lease.worker_id


@pytest.mark.parametrize(("is_shared", "is_late"), [(False, True), (True, False)])
def test_it_is_left_alone_in_time_and_where_deadlines_decide_nothing(
    site: WatchSite, is_shared: bool, is_late: bool
) -> None:
    job = silent_job(site)
    if is_shared:
        shared(site)
    if is_late:
        age(site)
    recover(site.context, Monitor(site.context))
    assert owner(site, job) == SILENT
    assert [each.id for each in workers.registered(site.database)] == [SILENT]


def test_after_its_deadline_its_job_goes_on_without_a_person(site: WatchSite) -> None:
    job = silent_job(site)
    shared(site)
    age(site)
    monitor = site.start_monitor()
    recover(site.context, monitor)
    assert monitor.wait_until_idle(60.0)
    monitor.stop()
    assert workers.registered(site.database) == []
    assert site.get(job).state in (JobState.QUEUED, JobState.BACKOFF)
    assert jobs.attempts(site.database, job.id)[-1].cause is Cause.WORKER_DIED


def test_another_host_s_worker_lives_while_the_server_hears_it(site: WatchSite) -> None:
    """Its process would be dead here, and its lock is nowhere."""
    database = shared(site)
    job = silent_job(site, ELSEWHERE)
    recover(site.context, Monitor(site.context))
    assert owner(site, job) == ELSEWHERE
    (record,) = workers.living(database, site.workspace)
    assert record.id == ELSEWHERE
    assert workers.living(database, site.workspace, everywhere=False) == []
    assert workers.life_of(database, site.workspace, ELSEWHERE, record) is Life.ALIVE
    assert not is_in_doubt(site.workspace, database, site.get(job))
    age(site)
    assert workers.living(database, site.workspace) == []
    assert workers.life_of(database, site.workspace, ELSEWHERE, record) is Life.DEAD
    assert not is_in_doubt(site.workspace, database, site.get(job)), "its deadline tells"


def test_another_host_s_job_goes_on_after_its_deadline_and_no_file_of_it_is_looked_at(
    site: WatchSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder that has the name of that attempt here is of something else, and stays."""
    database = shared(site)
    job = silent_job(site, ELSEWHERE)
    folder = site.attempts[0].paths.folder
    before = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    age(site)

    def refuse(*_: object, **__: object) -> bool:
        raise AssertionError("an attempt of another host was looked at")

    for name in ("is_locked", "has_exit", "is_given_up", "declare_void", "is_in_doubt"):
        monkeypatch.setattr(attempt_evidence, name, refuse)
    monitor = Monitor(site.context)
    recover(site.context, monitor)
    assert monitor.count == 0
    assert leases.lease_of(database, job.id) is None
    assert workers.registered(database) == []
    (attempt,) = jobs.attempts(database, job.id)
    assert attempt.cause is Cause.WORKER_DIED
    assert "its host was not heard for too long; it does not count" in attempt.reason
    found = site.get(job)
    assert (found.state, found.settled, found.worker_deaths) == (JobState.QUEUED, 1, 0)
    assert database.value("select count(*) from spending where ended_at is null") == 0
    assert {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()} == before


def test_a_cancelled_job_of_another_host_ends_after_its_deadline(site: WatchSite) -> None:
    database = shared(site)
    job = silent_job(site, ELSEWHERE)
    jobs.change_job(database, job.id, cancel_requested_at=1.0)
    age(site)
    recover(site.context, Monitor(site.context))
    assert site.get(job).state is JobState.CANCELLED


def test_what_was_queued_from_another_host_is_for_that_to_undo(site: WatchSite) -> None:
    database = shared(site)
    job = site.job(caller=dead_process())
    database.run("update job set host_id = '0123456789ab'")
    recover(site.context, Monitor(site.context))
    assert site.get(job).state is JobState.PREPARING
    database.run("update job set host_id = ?", (database.host_id,))
    recover(site.context, Monitor(site.context))
    assert site.get(job).state is not JobState.PREPARING


def test_who_was_struck_off_in_a_silence_learns_of_it_and_goes_on_record_again_once(
    site: WatchSite,
) -> None:
    """A host that was cut off or asleep; else no command would show its worker, nor stop it."""
    database = shared(site)
    me = site.context.worker_id
    register(site.context, concurrency=2, background=False)
    with closing(database.beats(me)) as beats:
        assert beats.beat().is_on_record
        workers.unregister(database, me)
        assert not beats.beat().is_on_record
        for _ in range(2):
            site.context.hearing.is_on_record = False
            register_again(site.context, concurrency=2, background=False)
            assert site.context.hearing.is_on_record
        assert beats.beat().is_on_record
    assert [each.id for each in workers.registered(database)] == [me]
