"""What dead workers and dead callers left behind is found and put right (§5, §8)."""

import os
import shutil
import sys
import time
from pathlib import Path

import msgspec
import pytest
from attempt_cases import wait_until
from watch_cases import ME, WatchSite, dead_process

from sow.attempts.retry import PATIENT_DEATHS
from sow.calls.caller import Caller
from sow.calls.declare_gone import declare_gone
from sow.config.defaults import DEFAULT_RETRY_WORKER_DEATHS
from sow.errors import QueueError
from sow.ids import WorkerId
from sow.jobs import doorbell, jobs, leases, workers
from sow.jobs.database import Database
from sow.jobs.doorbell import Bell
from sow.paths import Workspace
from sow.processes import process_facts
from sow.schema.job import Attempt, Cause, Job, JobState, Lease, ProcessIdentity, WorkerRecord
from sow.schema.task import TaskStatus
from sow.state.kept.store import kept_at
from worker import recovery
from worker.adopt import adopt
from worker.context import WorkerContext
from worker.monitor import Monitor
from worker.recovery import recover
from worker.running import Running

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the supervisor reads /proc")
DEAD = WorkerId("w9-dead00")
OTHER = WorkerId("w8-dead00")


@pytest.fixture
def monitor(site: WatchSite) -> Monitor:
    """A monitor that is asked what it watches and does nothing about it."""
    return Monitor(site.context)


def recover_once(site: WatchSite, monitor: Monitor) -> None:
    recover(site.context, monitor)


def register_dead(site: WatchSite, *, lock: bool = True, record: bool = True) -> None:
    """Leave what a worker leaves that was killed."""
    if lock:
        site.workspace.worker_lock(DEAD).write_text("1 1\n")
        os.mkfifo(site.workspace.workers / f"{DEAD}{workers.BELL_SUFFIX}")
    if record:
        workers.register(
            site.database,
            WorkerRecord(
                id=DEAD,
                process=dead_process(),
                concurrency=4,
                version="0",
                background=True,
                started_at=0.0,
            ),
        )


@pytest.mark.parametrize(("lock", "record"), [(True, True), (True, False), (False, True)])
def test_a_dead_worker_is_struck_off_with_all_its_files(
    site: WatchSite, monitor: Monitor, lock: bool, record: bool
) -> None:
    register_dead(site, lock=lock, record=record)
    recover_once(site, monitor)
    assert workers.registered(site.database) == []
    assert [path.name for path in site.workspace.workers.iterdir()] == []


def test_a_living_worker_is_left_alone(site: WatchSite, monitor: Monitor) -> None:
    job = site.job()
    register_dead(site, lock=False)
    lease = site.lease(job, DEAD)
    bell = Bell(site.workspace.worker_lock(DEAD))  # any lock will do: it is the proof of life
    recover_once(site, monitor)
    assert [record.id for record in workers.registered(site.database)] == [DEAD]
    assert leases.lease_of(site.database, job.id) == lease
    assert not monitor.watches(job.id)
    bell.close()


def test_a_running_attempt_of_a_dead_worker_is_adopted(site: WatchSite, monitor: Monitor) -> None:
    """ "worker died | adopted"."""
    job = site.job()
    old = site.lease(job, DEAD)
    register_dead(site)
    site.run(job, "exec sleep 600")
    recover_once(site, monitor)
    lease = leases.lease_of(site.database, job.id)
    assert lease is not None
    assert (lease.worker_id, lease.token > old.token) == (ME, True)
    assert monitor.watches(job.id)
    assert site.get(job).state is JobState.RUNNING
    assert site.get(job).worker_deaths == 0


def test_a_lease_of_a_worker_that_left_no_other_trace_is_taken_over(
    site: WatchSite, monitor: Monitor
) -> None:
    """A machine that lost its files: the lease alone is left."""
    job = site.job()
    site.lease(job, DEAD)
    site.attempt(job, supervisor=dead_process())
    recover_once(site, monitor)
    assert monitor.watches(job.id)


def of_another_machine() -> str:
    process = msgspec.structs.replace(dead_process(), boot_id="another", machine="f" * 32)
    return msgspec.json.encode(process).decode()


def test_a_worker_of_another_machine_whose_file_is_gone_is_left_alone_until_a_person_says_so(
    site: WatchSite, monitor: Monitor, caplog: pytest.LogCaptureFixture
) -> None:
    job = site.job()
    lease = site.lease(job, DEAD)
    register_dead(site, lock=False)
    site.database.run("update worker set process = ?", (of_another_machine(),))
    for _ in range(2):
        recover_once(site, monitor)
    assert leases.lease_of(site.database, job.id) == lease
    assert [each.id for each in workers.registered(site.database)] == [DEAD]
    assert caplog.text.count("sow cannot see whether it still runs") == 1
    caller = Caller(site.workspace, {}, site.workspace.root)
    declare_gone(caller, site.database, site.get(job))
    recover_once(site, monitor)
    assert site.get(job).state is JobState.QUEUED


def test_a_lock_file_that_may_not_be_opened_stops_nobody_s_recovery(
    site: WatchSite, monitor: Monitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    shut, job = WorkerId("w8-shut000"), site.job()
    site.lease(job, DEAD)
    register_dead(site)
    site.workspace.worker_lock(shut).touch()
    truly = doorbell.is_held

    def is_held(path: Path) -> bool:
        if path == site.workspace.worker_lock(shut):
            raise QueueError(f"{path} cannot be opened")
        return truly(path)

    monkeypatch.setattr(doorbell, "is_held", is_held)
    recover_once(site, monitor)
    assert site.get(job).state is JobState.QUEUED
    assert site.workspace.worker_lock(shut).exists()


@pytest.mark.parametrize("state", ["preparing", "queued", "owing"])
def test_a_damaged_record_is_left_aside_and_told_once(
    site: WatchSite, monitor: Monitor, state: str, caplog: pytest.LogCaptureFixture
) -> None:
    damaged, job = site.job("020"), site.job()
    site.lease(job, DEAD)
    register_dead(site)
    changes = {
        "preparing": "state = 'preparing', queue_row = null",
        "queued": "state = 'queued', queue_row = null",
        "owing": "state = 'cancelled', queue_row = null, owes_task = 1",
    }[state]
    site.database.run(f"update job set verb = 'dance', {changes} where id = ?", (damaged.id,))
    for _ in range(2):
        recover_once(site, monitor)
    assert site.get(job).state is JobState.QUEUED
    assert caplog.text.count(f"job with id {damaged.id}: ") == 1


def test_a_damaged_record_of_a_worker_leaves_that_worker_to_a_person(
    site: WatchSite, monitor: Monitor
) -> None:
    register_dead(site)
    site.workspace.worker_lock(OTHER).write_text("1 1\n")
    site.database.run("update worker set process = '{'")
    recover_once(site, monitor)
    assert site.workspace.worker_lock(DEAD).exists()
    assert not site.workspace.worker_lock(OTHER).exists()


def test_a_clock_that_was_set_forward_times_no_adopted_agent_out(site: WatchSite) -> None:
    job = site.job()
    lease = site.lease(job, DEAD)
    mine = process_facts.identify(os.getpid())
    site.attempt(job, supervisor=mine, created_at=site.context.now() - 86_400)
    running = adopt(site.context, lease)
    assert running is not None
    assert time.monotonic() - running.begun_at < 43_200


def test_a_clock_that_was_set_back_keeps_no_job_of_a_dead_worker_waiting(
    site: WatchSite, monitor: Monitor
) -> None:
    job = site.job()
    site.lease(job, DEAD)
    register_dead(site)
    tomorrow = site.context.now() + 86_400
    jobs.change_job(site.database, job.id, retry_at=tomorrow, waits_since=tomorrow - 1.2)
    recover_once(site, monitor)
    assert site.get(job).retry_at < tomorrow - 43_200


def test_a_job_that_was_claimed_and_not_begun_is_queued_again(
    site: WatchSite, monitor: Monitor
) -> None:
    job = site.job()
    site.lease(job, DEAD)
    register_dead(site)
    recover_once(site, monitor)
    assert not monitor.watches(job.id)
    assert (site.get(job).state, site.get(job).worker_deaths) == (JobState.QUEUED, 1)
    assert leases.lease_of(site.database, job.id) is None
    assert site.task().status is TaskStatus.IN_PROGRESS
    assert leases.claim(site.database, ME, total=1, own=1, now=site.context.now()) is not None


def test_a_job_whose_last_attempt_is_settled_is_queued_again(
    site: WatchSite, monitor: Monitor
) -> None:
    """Its worker died after the claim of a retry."""
    job = site.job()
    site.lease(job, DEAD)
    site.attempt(job, cause=Cause.CRASHED)
    jobs.change_job(site.database, job.id, settled=1, retry_at=7.0)
    recover_once(site, monitor)
    assert not monitor.watches(job.id)
    assert (site.get(job).state, site.get(job).retry_at) == (JobState.QUEUED, 7.0)


def test_a_verdict_that_was_written_down_is_carried_out(site: WatchSite) -> None:
    """A worker that died between the cause and its consequences: the next one goes on."""
    job = site.job()
    site.lease(job, DEAD)
    attempt = site.attempt(job, cause=Cause.AUTH, reason="Not logged in")
    attempt.paths.exit.write_text('{"code": 0, "signal": null}')
    monitor = site.start_monitor()
    recover_once(site, monitor)
    ended = site.ended(job)
    assert (ended.state, ended.cause, ended.reason) == (
        JobState.FAILED,
        Cause.AUTH,
        "Not logged in",
    )
    assert site.task().status is TaskStatus.FAILED
    monitor.stop()


def test_a_job_whose_workers_die_again_and_again_is_set_aside(
    site: WatchSite, monitor: Monitor
) -> None:
    """ "counted apart, set aside after 5"."""
    job = site.job()
    for deaths in range(1, DEFAULT_RETRY_WORKER_DEATHS):
        site.lease(job, DEAD)
        recover_once(site, monitor)
        assert (site.get(job).state, site.get(job).worker_deaths) == (JobState.QUEUED, deaths)
    site.lease(job, DEAD)
    recover_once(site, monitor)
    ended = site.get(job)
    assert (ended.state, ended.cause) == (JobState.FAILED, Cause.WORKER_DIED)
    assert "set aside" in ended.reason
    assert site.task().status is TaskStatus.FAILED
    assert "set aside" in (site.state_file().parent / "log.md").read_text()


BEFORE_BOOT = ProcessIdentity(pid=1, start_ticks="1", boot_id="of another boot")


def lost(site: WatchSite, job: Job, **supervisor: str) -> None:
    """Leave an attempt of a dead worker whose supervisor and agent are gone."""
    site.lease(job, DEAD)
    site.attempt(job, supervisor=msgspec.structs.replace(dead_process(), **supervisor))


def died(site: WatchSite, *some: Job) -> list[tuple[int, int, str]]:
    """Recover, and return for each job what was counted, and why its last attempt ended."""
    monitor = site.start_monitor()
    recover_once(site, monitor)
    wait_until(lambda: all(site.get(job).state is not JobState.RUNNING for job in some), "the end")
    monitor.stop()
    found = [(site.get(job), site.last_attempt(job).reason) for job in some]
    return [(job.worker_deaths, job.excused_deaths, reason) for job, reason in found]


def test_an_agent_that_died_alone_with_its_worker_counts(site: WatchSite) -> None:
    job = site.job()
    lost(site, job)
    ((deaths, excused, reason),) = died(site, job)
    assert (deaths, excused) == (1, 0)
    assert "does not count" not in reason


def test_what_died_before_the_machine_was_started_anew_does_not_count(site: WatchSite) -> None:
    job = site.job()
    lost(site, job, boot_id="of another boot")
    ((deaths, excused, reason),) = died(site, job)
    assert (deaths, excused) == (0, 1)
    assert "does not count, since the machine was restarted" in reason


def test_what_died_together_with_other_jobs_does_not_count(site: WatchSite) -> None:
    some = [site.job(), site.job("020")]
    for job in some:
        lost(site, job)
    for deaths, excused, reason in died(site, *some):
        assert (deaths, excused) == (0, 1)
        assert "the agents of other jobs died at the same time" in reason


def test_agents_that_die_together_under_a_living_worker_do_not_count(site: WatchSite) -> None:
    """Something has killed the supervisors of several jobs, and no worker."""
    some = [site.job(), site.job("020")]
    for job in some:
        site.lease(job)
        site.attempt(job, supervisor=dead_process())
    assert [counted[:2] for counted in died(site, *some)] == [(0, 1), (0, 1)]


def test_an_agent_that_works_on_without_its_supervisor_excuses_nobody(site: WatchSite) -> None:
    """Nor does one that has ended and been judged long ago."""
    working, judged, job = site.job("020"), site.job("030"), site.job()
    site.lease(working)
    attempt = site.attempt(working, supervisor=dead_process())
    held = Bell(attempt.paths.alive_lock)
    site.attempt(judged, cause=Cause.WORKER_DIED, ended_at=site.context.now() - 3600)
    lost(site, job)
    monitor = site.start_monitor()
    recover_once(site, monitor)
    wait_until(lambda: site.get(job).state is not JobState.RUNNING, "the end")
    monitor.stop()
    assert (site.get(job).worker_deaths, site.get(job).excused_deaths) == (1, 0)
    held.close()


@pytest.mark.parametrize("by", ["two workers", "boot"])
def test_a_job_that_was_claimed_by_what_died_by_no_fault_of_its_own(
    site: WatchSite, monitor: Monitor, by: str
) -> None:
    job = site.job()
    site.lease(job, DEAD)
    register_dead(site)
    if by == "boot":
        site.database.run(
            "update worker set process = ?", (msgspec.json.encode(BEFORE_BOOT).decode(),)
        )
    else:
        site.workspace.worker_lock(OTHER).write_text("1 1\n")
    recover_once(site, monitor)
    assert (site.get(job).worker_deaths, site.get(job).excused_deaths) == (0, 1)
    assert site.get(job).state is JobState.QUEUED


def test_deaths_that_do_not_count_make_it_wait_and_never_fail_it(
    site: WatchSite, monitor: Monitor
) -> None:
    job = site.job()
    for deaths in range(1, 2 * DEFAULT_RETRY_WORKER_DEATHS):
        jobs.change_job(site.database, job.id, retry_at=0.0)
        site.lease(job, DEAD)
        site.workspace.worker_lock(OTHER).write_text("1 1\n")
        recover_once(site, monitor)
        waits = site.get(job).state is JobState.BACKOFF
        assert (site.get(job).excused_deaths, waits) == (deaths, deaths > PATIENT_DEATHS)


def test_an_attempt_that_ended_otherwise_begins_the_count_anew(site: WatchSite) -> None:
    job = site.job()
    jobs.change_job(site.database, job.id, worker_deaths=4, excused_deaths=2)
    site.lease(job)
    attempt = site.attempt(job)
    attempt.paths.exit.write_text('{"code": 3, "signal": null}')
    ((deaths, excused, _),) = died(site, job)
    assert (deaths, excused) == (0, 0)


@pytest.mark.parametrize("refusal", ["already in use", "No conversation found with session ID: x"])
def test_a_refusal_of_the_cli_does_not_begin_it_anew(site: WatchSite, refusal: str) -> None:
    """No agent has run: one that kills its worker each time must not be forgiven for it."""
    job = site.job()
    jobs.change_job(site.database, job.id, worker_deaths=3)
    site.lease(job)
    attempt = site.attempt(job)
    attempt.paths.exit.write_text('{"code": 1, "signal": null}')
    attempt.paths.stderr.write_text(f"Session ID x is {refusal}")
    ((deaths, _, _),) = died(site, job)
    assert site.last_attempt(job).cause in (Cause.SESSION_IN_USE, Cause.SESSION_UNKNOWN)
    assert deaths == 3


def test_a_lease_of_our_own_that_nobody_watches_is_adopted(
    site: WatchSite, monitor: Monitor
) -> None:
    job = site.job()
    site.lease(job)
    site.attempt(job, supervisor=dead_process())
    recover_once(site, monitor)
    assert monitor.watches(job.id)


@pytest.mark.parametrize("state", [JobState.QUEUED, JobState.BACKOFF, JobState.PARKED])
def test_a_waiting_job_that_lost_its_queue_row_gets_it_again(
    site: WatchSite, monitor: Monitor, state: JobState
) -> None:
    job = site.job()
    later = site.context.now() + 3600
    leases.enqueue(site.database, job.id, now=0.0)
    jobs.change_job(site.database, job.id, state=state, retry_at=later)
    site.database.run("delete from task")
    recover_once(site, monitor)
    rows = site.database.rows("select 1 from task join job on job.queue_row = task.id")
    assert len(rows) == 1
    assert site.get(job).retry_at == later


def test_a_lease_of_our_own_whose_last_attempt_is_settled_is_put_off(
    site: WatchSite, monitor: Monitor
) -> None:
    job = site.job()
    site.attempt(job, cause=Cause.CRASHED)
    jobs.change_job(site.database, job.id, settled=1)
    site.lease(job)
    recover_once(site, monitor)
    waits = site.get(job)
    assert (waits.state, waits.postponements, waits.worker_deaths) == (JobState.BACKOFF, 1, 0)
    assert not monitor.watches(job.id)


def test_a_job_that_another_worker_has_queued_again_in_this_moment_is_queued_once(
    site: WatchSite, monitor: Monitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = site.job()
    leases.enqueue(site.database, job.id, now=0.0)
    monkeypatch.setattr(jobs, "without_row", lambda *_: [site.get(job)])
    recover_once(site, monitor)
    assert site.database.value("select count(*) from task") == 1


def preparing(site: WatchSite, *, caller_lives: bool, marked: bool = True) -> Job:
    """Return a job in the midst of its placing."""
    job = site.job()
    caller = process_facts.identify(os.getpid()) if caller_lives else dead_process()
    jobs.change_job(site.database, job.id, caller=caller)
    if not marked:
        site.change_task(status=TaskStatus.PENDING)
    return msgspec.structs.replace(job, caller=caller)


def test_a_job_that_its_caller_still_prepares_is_left_alone(
    site: WatchSite, monitor: Monitor
) -> None:
    job = preparing(site, caller_lives=True)
    recover_once(site, monitor)
    assert site.get(job).state is JobState.PREPARING


def test_a_job_of_a_dead_caller_is_completed_where_the_state_is_on_disk(
    site: WatchSite, monitor: Monitor
) -> None:
    """§5: "Recovery undoes a `preparing` job whose caller is dead, or completes it"."""
    job = preparing(site, caller_lives=False)
    recover_once(site, monitor)
    assert site.get(job).state is JobState.QUEUED


def test_a_job_of_a_dead_caller_is_undone_where_it_is_not(
    site: WatchSite, monitor: Monitor
) -> None:
    job = preparing(site, caller_lives=False, marked=False)
    recover_once(site, monitor)
    assert site.get(job).state is JobState.CANCELLED
    assert site.task().status is TaskStatus.PENDING


@pytest.mark.parametrize("harm", ["unreadable", "gone"])
def test_one_task_that_cannot_be_read_keeps_nothing_else_from_recovery(
    site: WatchSite, monitor: Monitor, harm: str
) -> None:
    bad = preparing(site, caller_lives=False)
    good = site.job("020")
    site.lease(good, DEAD)
    waiting = site.job("030")
    leases.enqueue(site.database, waiting.id, now=0.0)
    site.database.run("delete from task")
    if harm == "gone":
        site.state_file("010").unlink()
        site.state_file("020").unlink()
    else:
        site.state_file("010").write_text("task: [")
        site.state_file("020").write_text("task: [")
    recover_once(site, monitor)
    assert site.get(bad).state is JobState.PREPARING
    assert site.get(good).state is JobState.QUEUED
    assert site.database.rows("select 1 from task join job on job.queue_row = task.id")


def test_nothing_is_done_twice(site: WatchSite, monitor: Monitor) -> None:
    job = site.job()
    site.lease(job, DEAD)
    register_dead(site)
    recover_once(site, monitor)
    before = site.get(job)
    recover_once(site, monitor)
    assert site.get(job) == before
    assert len(site.database.rows("select 1 from task")) == 1


def test_an_adopted_attempt_knows_job_task_and_place(site: WatchSite) -> None:
    job = site.job()
    lease = site.lease(job)
    attempt = site.attempt(job)
    running = adopt(site.context, lease)
    assert running is not None
    assert isinstance(running.attempt, Attempt)
    assert (running.job.id, running.attempt.number) == (job.id, 1)
    assert running.paths.folder == attempt.paths.folder
    assert running.task == site.task()


def test_an_attempt_whose_task_is_gone_is_adopted_all_the_same(site: WatchSite) -> None:
    job = site.job()
    lease = site.lease(job)
    attempt = site.run(job, "exec sleep 600")
    shutil.rmtree(site.state_file().parent)
    running = adopt(site.context, lease)
    assert running is not None
    assert running.task is None
    monitor = site.start_monitor()
    monitor.watch(running)
    attempt.started[0].terminate()
    assert site.ended(job).state is JobState.FAILED
    wait_until(lambda: leases.lease_of(site.database, job.id) is None)
    monitor.stop()


def test_a_lease_of_our_own_without_an_attempt_is_cancelled_where_that_was_asked_for(
    site: WatchSite, monitor: Monitor
) -> None:
    """The machine kept us from starting it, and from saying so; a person has cancelled it since."""
    job, behind = site.job(), site.job("020")
    site.lease(job)
    site.lease(behind)
    jobs.change_job(site.database, job.id, cancel_requested_at=site.context.now())
    recover_once(site, monitor)
    assert site.get(job).state is JobState.CANCELLED
    assert site.task().status is TaskStatus.PENDING
    assert site.get(behind).state is JobState.BACKOFF


@pytest.mark.parametrize("owner", [ME, DEAD])
def test_one_lease_that_cannot_be_taken_up_keeps_no_other_from_recovery(
    site: WatchSite, monitor: Monitor, monkeypatch: pytest.MonkeyPatch, owner: WorkerId
) -> None:
    """A file of its attempt may not be read, say."""
    bad, good = site.job(), site.job("020")
    for job in (bad, good):
        site.lease(job, owner)
        site.attempt(job, supervisor=dead_process())

    def adopt_one(context: WorkerContext, lease: Lease, **more: str) -> Running | None:
        if lease.job_id == bad.id:
            raise QueueError("alive.lock cannot be opened")
        return adopt(context, lease, **more)

    monkeypatch.setattr(recovery, "adopt", adopt_one)
    recover_once(site, monitor)
    assert monitor.watches(good.id)
    monkeypatch.undo()
    recover_once(site, monitor)
    assert monitor.watches(bad.id)


def test_one_job_of_a_caller_that_nobody_can_tell_of_keeps_no_other_from_recovery(
    site: WatchSite, monitor: Monitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad = preparing(site, caller_lives=False)
    waiting = site.job("020")
    leases.enqueue(site.database, waiting.id, now=0.0)
    site.database.run("delete from task")

    def nobody_can_tell(_: Workspace, __: Database, job: Job, **___: float) -> bool:
        raise QueueError(f"alive.lock of job {job.id} cannot be opened")

    monkeypatch.setattr(recovery, "is_abandoned", nobody_can_tell)
    recover_once(site, monitor)
    assert site.database.rows("select 1 from task join job on job.queue_row = task.id")
    monkeypatch.undo()
    recover_once(site, monitor)
    assert site.get(bad).state is JobState.QUEUED


def test_a_job_half_placed_whose_task_is_gone_ends(site: WatchSite, monitor: Monitor) -> None:
    """Else it would be `preparing` for ever, and keep its worker from leaving."""
    job = preparing(site, caller_lives=False)
    shutil.rmtree(site.state_file().parent)
    kept = Path(str(kept_at(site.workspace.root).folder))  # type: ignore[union-attr]
    shutil.rmtree(kept)
    recover_once(site, monitor)
    assert site.get(job).state is JobState.CANCELLED
    assert not jobs.has_active_jobs(site.database)
