"""A worker of which no lock tells anything is dead once its deadlines have passed, if it must."""

import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import postgres
import pytest
from watch_cases import WatchSite, dead_process, make_watch_site

from sow.ids import WorkerId
from sow.jobs import jobs, leases, workers
from sow.jobs.server_deadlines import LEASE_SECONDS
from sow.paths import Workspace
from sow.schema.job import Cause, Job, JobState, ProcessIdentity, WorkerRecord
from worker.monitor import Monitor
from worker.recovery import recover

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="the supervisor reads /proc"),
]
SILENT = WorkerId("w9-silent")


@pytest.fixture
def site(
    workspace: Workspace, postgres_server: postgres.Server, poisoned_home: Path
) -> Iterator[WatchSite]:
    configuration = poisoned_home / ".config/sow/config.yaml"
    configuration.parent.mkdir(parents=True)
    configuration.write_text(f"queue:\n  url: {postgres_server.url}\n")
    made = make_watch_site(workspace)
    yield made
    made.database.connection.execute(f'drop schema "{made.database.schema}" cascade')  # type: ignore[attr-defined]
    made.close()


def in_a_container() -> ProcessIdentity:
    """Return a process that was started in another namespace of this kernel, with a free lock."""
    return msgspec.structs.replace(dead_process(), pid_namespace="4026530000")


def silent_job(site: WatchSite) -> Job:
    """Return a job of a worker of which nobody here can tell whether it lives, nor of its agent."""
    job = site.job()
    site.lease(job, SILENT)
    site.attempt(job, supervisor=in_a_container())
    record = WorkerRecord(
        id=SILENT,
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
        site.database.note(LEASE_SECONDS, 120)
    if is_late:
        age(site)
    recover(site.context, Monitor(site.context))
    assert owner(site, job) == SILENT
    assert [each.id for each in workers.registered(site.database)] == [SILENT]


def test_after_its_deadline_its_job_goes_on_without_a_person(site: WatchSite) -> None:
    job = silent_job(site)
    site.database.note(LEASE_SECONDS, 120)
    age(site)
    monitor = site.start_monitor()
    recover(site.context, monitor)
    assert monitor.wait_until_idle(60.0)
    monitor.stop()
    assert workers.registered(site.database) == []
    assert site.get(job).state in (JobState.QUEUED, JobState.BACKOFF)
    assert jobs.attempts(site.database, job.id)[-1].cause is Cause.WORKER_DIED
