"""A start that comes to nothing: who ends the job, and who leaves it alone."""

import json
import os
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import Any, Never

import pytest
from watch_cases import NOW, SESSION, WatchSite

from sow.attempts.homes import folder_of_job
from sow.errors import QueueError, SowError
from sow.faults import passing_fault
from sow.ids import WorkerId
from sow.jobs import jobs, leases
from sow.processes import process_facts
from sow.processes.fork_server import ForkServer, ServersDie, Waiting
from sow.schema.causes import Cause
from sow.schema.executor import ExecutorConfig
from sow.schema.executor_type import ExecutorType, HomeUse
from sow.schema.job import Job, JobState, ProcessIdentity
from sow.schema.task import Task, TaskStatus
from sow.state.tasks import LockedTask, change_task, locked_task
from sow.yamlfile import REMOVE
from worker import launch
from worker.fork_servers import ForkServers
from worker.kinds import worker_kind
from worker.kinds.work import kind

OTHER = WorkerId("w2-bbbbbb")


def scripted(site: WatchSite) -> ExecutorConfig:
    """Have the user's file define an executor; return it."""
    settings = {"type": "command", "settings": {"command": ["/bin/true"]}}
    content = {"agents": {"executors": {"script": settings}}}
    site.context.configuration.path.write_text(json.dumps(content))
    return ExecutorConfig(name="script", type=ExecutorType.COMMAND, command=("/bin/true",))


def alone(server: ForkServer) -> ForkServers:
    """Return a worker's servers where one forks for all."""
    return ForkServers(server, server)


class TakenOver(ForkServer):
    """Another worker takes the job over in this moment, and no supervisor can be started."""

    def __init__(self, site: WatchSite) -> None:
        super().__init__([], {}, makes="supervisor")
        self.site = site

    def forked(self) -> Never:
        context = self.site.context
        leases.take_over(context.database, context.worker_id, OTHER, now=context.now())
        raise SowError("cannot start a supervisor")


def test_a_job_that_cannot_be_started_and_is_anothers_by_now_is_left_to_that_one(
    site: WatchSite,
) -> None:
    job = site.job(executor=scripted(site))
    site.lease(job)
    assert launch.start(site.context, alone(TakenOver(site)), job.id) is None
    lease = leases.lease_of(site.database, job.id)
    assert lease is not None
    assert lease.worker_id == OTHER
    assert site.get(job).state is JobState.RUNNING


class Killed(BaseException):
    """Nobody catches it, as nobody outlives a kill."""


class KilledAtOrders(ForkServer):
    """The worker is killed as it gives its supervisor the orders."""

    def __init__(self, site: WatchSite, job: Job) -> None:
        super().__init__([], {}, makes="supervisor")
        self.site = site
        self.job = job

    @contextmanager
    def forked(self) -> Iterator[Waiting]:
        identity = process_facts.identify(os.getpid())
        assert identity is not None
        yield KilledAtOnce(identity, self)


class KilledAtOnce(Waiting):
    def __init__(self, identity: ProcessIdentity, server: KilledAtOrders) -> None:
        super().__init__(identity, -1)
        self.server = server

    def give(self, orders: bytes) -> None:
        attempt = jobs.last_attempt(self.server.site.database, self.server.job.id)
        raise Killed(attempt and attempt.number, bool(orders))


def test_an_attempt_is_on_record_before_its_supervisor_has_its_orders(site: WatchSite) -> None:
    job = site.job(executor=scripted(site))
    site.lease(job)
    with pytest.raises(Killed) as killed:
        launch.start(site.context, alone(KilledAtOrders(site, job)), job.id)
    assert killed.value.args == (1, True)


def test_a_job_whose_last_attempt_is_settled_begins_the_next_one(site: WatchSite) -> None:
    job = site.job(executor=scripted(site))
    site.attempt(job, cause=Cause.CRASHED)
    jobs.change_job(site.database, job.id, settled=1)
    site.lease(job)
    with pytest.raises(Killed) as killed:
        launch.start(site.context, alone(KilledAtOrders(site, job)), job.id)
    assert killed.value.args == (2, True)


class Ordered(Waiting):
    """A supervisor that notes when it had its orders, on the monotonic clock, and does nothing."""

    given_at = 0.0

    def give(self, orders: bytes) -> None:
        assert orders
        self.given_at = time.monotonic()


class TellsWhen(ForkServer):
    """It has one supervisor."""

    def __init__(self, waiting: Waiting) -> None:
        super().__init__([], {}, makes="supervisor")
        self.waiting = waiting

    @contextmanager
    def forked(self) -> Iterator[Waiting]:
        yield self.waiting


def test_no_process_that_began_after_the_orders_is_taken_to_be_older(site: WatchSite) -> None:
    job = site.job(executor=scripted(site))
    site.lease(job)
    identity = process_facts.identify(os.getpid())
    assert identity is not None
    waiting = Ordered(identity, -1)
    running = launch.start(site.context, alone(TellsWhen(waiting)), job.id)
    assert running is not None
    assert running.ordered_at is not None
    assert running.ordered_at <= waiting.given_at


@pytest.mark.parametrize("is_good", [True, False])
def test_an_attempt_reaches_the_disk_while_its_agent_starts(
    site: WatchSite, monkeypatch: pytest.MonkeyPatch, is_good: bool
) -> None:
    """Its agent runs by then, so a bad disk is the next commit's to tell of."""
    job = site.job(executor=scripted(site))
    site.lease(job)
    identity = process_facts.identify(os.getpid())
    assert identity is not None
    waiting = Ordered(identity, -1)
    synced: list[tuple[bool, bool]] = []

    def sync() -> None:
        is_recorded = jobs.last_attempt(site.database, job.id) is not None
        synced.append((waiting.given_at > 0, is_recorded))
        if not is_good:
            raise QueueError("no disk")

    monkeypatch.setattr(site.context.database, "sync", sync)
    assert launch.start(site.context, alone(TellsWhen(waiting)), job.id) is not None
    assert synced == [(True, True)]
    assert site.get(job).state is JobState.RUNNING


@pytest.mark.parametrize("is_apart", [True, False])
def test_an_agent_that_outlives_a_crash_of_its_queue_waits_for_its_record(
    site: WatchSite, monkeypatch: pytest.MonkeyPatch, is_apart: bool
) -> None:
    """A server may lose its last commits; a machine that does has lost the agent as well."""
    job = site.job(executor=scripted(site))
    site.lease(job)
    database, waits = site.context.database, list[bool]()
    transaction = database.transaction

    def noted(*, durable: bool = True) -> AbstractContextManager[None]:
        waits.append(durable)
        return transaction(durable=durable)

    monkeypatch.setattr(database, "transaction", noted)
    monkeypatch.setattr(database, "is_apart", is_apart)
    with pytest.raises(Killed):
        launch.start(site.context, alone(KilledAtOrders(site, job)), job.id)
    assert waits[0] is is_apart


def test_the_home_of_its_session_counts_for_the_disk(site: WatchSite) -> None:
    """Its output does too, which is the attempt's folder, and its clone, which this one lacks."""
    program = site.workspace.root / "bin/claude"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    claude = ExecutorConfig(name="claude-code", type=ExecutorType.CLAUDE, home=HomeUse.PER_SESSION)
    job = site.job(executor=claude, path_variable=str(program.parent))
    paths = site.workspace.attempt(job.id, 1)
    prepared = worker_kind(job).prepare(site.context, job, site.lease(job), (), paths)
    home = folder_of_job(site.workspace, job)
    assert home is not None
    assert home.is_dir()
    assert prepared.own_folders == (home,)


def unmarked(site: WatchSite) -> Job:
    """Return a job that is claimed and whose call died before it marked the task."""
    job = site.job(executor=scripted(site), prior_status=TaskStatus.PENDING)
    site.change_task(status=TaskStatus.PENDING, session_id=REMOVE, session=REMOVE)
    site.lease(job)
    return job


def test_a_task_that_its_call_did_not_live_to_mark_is_marked(
    site: WatchSite, caplog: pytest.LogCaptureFixture
) -> None:
    """Nobody has put it back, and nobody is told so."""
    caplog.set_level("INFO", "sow.worker")
    job = unmarked(site)
    with pytest.raises(Killed):
        launch.start(site.context, alone(KilledAtOrders(site, job)), job.id)
    assert site.task().status is TaskStatus.IN_PROGRESS
    assert "put back" not in caplog.text


def test_a_task_that_is_put_back_after_an_attempt_is_told_of(
    site: WatchSite, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "sow.worker")
    job = unmarked(site)
    site.attempt(job, cause=Cause.CRASHED)
    jobs.change_job(site.database, job.id, settled=1)
    with pytest.raises(Killed):
        launch.start(site.context, alone(KilledAtOrders(site, job)), job.id)
    assert site.task().status is TaskStatus.IN_PROGRESS
    assert "its task had been put back to pending" in caplog.text


def test_a_task_that_its_call_has_still_to_mark_is_waited_for(
    site: WatchSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The call holds the task's lock from before the job is on record until the mark is made."""
    job = unmarked(site)
    comes, is_held = threading.Event(), threading.Event()

    def mark() -> None:
        def change(_: Task) -> Mapping[str, object]:
            is_held.set()
            comes.wait(60)
            return {"status": TaskStatus.IN_PROGRESS, "session_id": SESSION}

        change_task(site.workspace, "010", change, now=NOW)

    @contextmanager
    def come(*words: Any) -> Iterator[LockedTask]:
        comes.set()
        with locked_task(*words) as locked:
            yield locked

    monkeypatch.setattr(kind, "locked_task", come)
    monkeypatch.setattr(kind, "mark_again", None)  # nobody marks it twice
    caller = threading.Thread(target=mark)
    caller.start()
    is_held.wait(60)
    with pytest.raises(Killed):
        launch.start(site.context, alone(KilledAtOrders(site, job)), job.id)
    caller.join()
    assert (site.task().status, site.task().session_id) == (TaskStatus.IN_PROGRESS, SESSION)


def test_a_job_that_cannot_start_and_whose_call_did_not_live_to_mark_its_task_fails_it(
    site: WatchSite,
) -> None:
    """A batch would begin a pending one again and again."""
    job = unmarked(site)
    site.context.configuration.path.unlink()
    assert launch.start(site.context, alone(Refused(AssertionError("begun"))), job.id) is None
    assert (site.get(job).state, site.task().status) == (JobState.FAILED, TaskStatus.FAILED)


class CancelledMeanwhile(KilledAtOrders):
    """Somebody cancels the job while its supervisor is started, if one can be."""

    starts = True

    @contextmanager
    def forked(self) -> Iterator[Waiting]:
        now = self.site.context.now()
        jobs.change_job(self.site.database, self.job.id, cancel_requested_at=now)
        if not self.starts:
            raise SowError("cannot start a supervisor")
        with super().forked() as waiting:
            yield waiting


@pytest.mark.parametrize("starts", [True, False])
def test_a_job_that_is_cancelled_while_it_is_started_is_cancelled(
    site: WatchSite, starts: bool
) -> None:
    job = site.job(executor=scripted(site), prior_status=TaskStatus.PENDING)
    site.lease(job)
    server = CancelledMeanwhile(site, job)
    server.starts = starts
    assert launch.start(site.context, alone(server), job.id) is None
    assert site.get(job).state is JobState.CANCELLED
    assert site.task().status is TaskStatus.PENDING
    assert jobs.last_attempt(site.database, job.id) is None


class Refused(ForkServer):
    """No supervisor can be started, for a reason that quotes a file's name, which is no text."""

    def __init__(self, error: Exception) -> None:
        super().__init__([], {}, makes="supervisor")
        self.error = error

    def forked(self) -> Never:
        raise self.error


def test_a_job_on_which_another_worker_holds_the_lease_is_not_started(site: WatchSite) -> None:
    job = site.job(executor=scripted(site))
    site.lease(job, OTHER)
    nothing = Refused(AssertionError("a supervisor is started"))
    assert launch.start(site.context, alone(nothing), job.id) is None
    assert site.get(job).state is JobState.RUNNING


def begun(site: WatchSite, error: SowError) -> Job:
    """Have a job's start fail by an error."""
    job = site.job(executor=scripted(site))
    site.lease(job)
    assert launch.start(site.context, alone(Refused(error)), job.id) is None
    return site.get(job)


def test_a_job_fails_with_its_reason_also_where_that_quotes_a_name_that_is_no_text(
    site: WatchSite,
) -> None:
    job = begun(site, SowError("git refused caf\udce9"))
    assert (job.state, job.reason) == (JobState.FAILED, "git refused caf\ufffd")
    assert site.task().status is TaskStatus.FAILED


def test_a_job_waits_with_its_reason_also_where_that_quotes_a_name_that_is_no_text(
    site: WatchSite,
) -> None:
    job = site.job(executor=scripted(site))
    site.lease(job)
    launch.try_later(site.context, job.id, SowError("no room for caf\udce9"))
    assert site.get(job).reason == "cannot be started now: no room for caf\ufffd"


def test_a_job_that_is_put_off_again_waits_longer(site: WatchSite) -> None:
    job = site.job(executor=scripted(site))
    site.lease(job)
    context, waits = replace(site.context, clock=lambda: NOW), []
    for number in (1, 2, 3):
        launch.try_later(context, job.id, SowError("no room"))
        assert site.get(job).postponements == number
        waits.append(site.get(job).retry_at - NOW)
        leases.claim(site.database, context.worker_id, total=9, own=9, now=NOW + waits[-1])
    assert waits == [1.0, 2.0, 4.0]


def test_a_job_whose_supervisors_die_is_tried_again_but_not_for_ever(site: WatchSite) -> None:
    job = site.job(executor=scripted(site))
    site.lease(job)
    server = ForkServer(["/bin/false"], {}, makes="supervisor")
    with pytest.raises(ServersDie) as raised:
        launch.start(site.context, alone(server), job.id)
    assert passing_fault(raised.value) is not None
    assert site.get(job).state is JobState.RUNNING
    jobs.change_job(site.database, job.id, postponements=launch.MOST_POSTPONEMENTS)
    assert launch.start(site.context, alone(server), job.id) is None
    assert site.get(job).state is JobState.FAILED
    assert "each one ends before it has begun" in site.get(job).reason


def test_a_job_waits_while_an_agent_that_nobody_has_recorded_works_on_its_task(
    site: WatchSite,
) -> None:
    job = site.job(executor=scripted(site))
    site.lease(job)
    variables = {
        "SOW_TASK_ID": "010",
        "SOW_ROOT": str(site.workspace.root),
        "SOW_ATTEMPT_ID": "7.1.abc",
    }
    command = ["/bin/sh", "-c", "echo up; read end"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, env=variables, stdin=pipe, stdout=pipe) as stray:
        assert stray.stdout is not None
        assert stray.stdout.readline() == b"up\n"
        nothing = Refused(AssertionError("a supervisor is started"))
        assert launch.start(site.context, alone(nothing), job.id) is None
    waiting = site.get(job)
    assert waiting.state is JobState.BACKOFF
    assert "the job waits for its end" in waiting.reason
