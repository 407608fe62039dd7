"""The beats of a worker: again after one that failed; its agents end where none is answered."""

import os
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from attempt_cases import is_running, wait_until
from watch_cases import WatchSite

from sow.errors import QueueError
from sow.ids import WorkerId
from sow.jobs import jobs
from sow.jobs.faults import QueueChanged
from sow.jobs.store import Beat, Beats, Database
from sow.schema.job import Cause, JobState
from worker.context import WorkerContext
from worker.hearing import Hearing
from worker.heartbeat import Heartbeat
from worker.monitor import Monitor
from worker.supervisor.lease_end import boot_seconds

AWAY = QueueError("the queue on db cannot be used: no route", hint="")
HEARD = Beat(frozenset(), None)
SHARED = Beat(frozenset(), 120.0)
SHORT = Beat(frozenset(), 0.06)
"""Of a shared queue whose leases end very soon."""


class Scripted(Beats):
    """Beats, each of which goes as it is scripted, the last one again and again."""

    def __init__(self, *script: Exception | Beat | threading.Event) -> None:
        self.script = list(script)
        self.count = 0
        self.is_closed = False

    def beat(self) -> Beat:
        self.count += 1
        answer = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, threading.Event):
            answer.wait(60.0)
            raise AWAY
        return answer

    def close(self) -> None:
        self.is_closed = True


class Elsewhere(Database):
    """A queue whose workers beat."""

    def __init__(self, site: WatchSite, beats: Beats) -> None:
        super().__init__(site.workspace.run)
        self._beats = beats

    def beats(self, worker_id: WorkerId) -> Beats:
        return self._beats


Begin = Callable[..., Heartbeat]


@pytest.fixture
def begin(site: WatchSite, request: pytest.FixtureRequest) -> Begin:
    """Begin beats that are quick, and give their agents up soon."""

    def begin(
        beats: Beats,
        monitor: Monitor | None = None,
        on_heard: Callable[[], None] = lambda: None,
        heard_ago: float = 0.0,
    ) -> Heartbeat:
        known = site.context
        queue = Elsewhere(site, beats)
        context = WorkerContext(
            known.workspace, queue, known.worker_id, known.configuration, known.environ
        )
        context.hearing.heard(boot_seconds() - heard_ago, None)
        made = Heartbeat(
            context,
            monitor or Monitor(site.context),
            on_heard,
            retry_seconds=0.01,
        )
        made.start()
        request.addfinalizer(lambda: made.stop(60.0))
        return made

    return begin


def test_it_beats_again_and_again_and_leaves_the_store_at_its_end(begin: Begin) -> None:
    beats = Scripted(SHORT)
    made = begin(beats)
    wait_until(lambda: beats.count > 2, "it beats again")
    made.stop(60.0)
    assert beats.is_closed


def test_a_beat_that_fails_is_tried_again_and_told_once(
    begin: Begin, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    heard: list[bool] = []
    begin(Scripted(AWAY, AWAY, NameError("a bug"), HEARD), on_heard=lambda: heard.append(True))
    wait_until(lambda: heard, "a beat is answered")
    assert "the queue's server hears this worker again" in caplog.text
    assert caplog.text.count("does not hear this worker: the queue on db cannot be used") == 1


def test_after_an_answer_that_took_long_it_beats_again_soon(begin: Begin) -> None:
    """What was sent long ago says little of now: no job could be taken until the next beat."""
    made = begin(Scripted(SHARED))
    made.stop(60.0)
    assert made._pause() == 20.0
    made._hearing.heard(boot_seconds() - 21, 120.0)
    assert made._pause() == 0.01


def test_a_silence_that_ends_wakes_the_claim(begin: Begin) -> None:
    heard: list[bool] = []
    made = begin(Scripted(SHARED), on_heard=lambda: heard.append(True))
    made.stop(60.0)
    assert heard == []
    made._hearing.heard(boot_seconds() - 50, 120.0)
    made._beat(Scripted(SHARED))
    assert heard == [True]


def test_who_is_not_on_record_any_more_is_woken_to_see_to_it(begin: Begin) -> None:
    heard: list[bool] = []
    made = begin(Scripted(SHARED), on_heard=lambda: heard.append(True))
    made.stop(60.0)
    made._beat(Scripted(Beat(frozenset(), 120.0, is_on_record=False)))
    assert (heard, made._hearing.is_on_record) == ([True], False)
    made._beat(Scripted(SHARED))
    assert (heard, made._hearing.is_on_record) == ([True], True)


def test_without_its_queue_it_ends(begin: Begin) -> None:
    beats = Scripted(SHORT, QueueChanged("the queue was removed", hint=""))
    begin(beats)
    wait_until(lambda: beats.is_closed, "it ends")
    assert beats.count == 2


def test_a_queue_in_a_file_needs_no_thread(site: WatchSite) -> None:
    made = Heartbeat(site.context, Monitor(site.context))
    made.start()
    assert made._threads == []
    made.stop(0.0)


reads_proc = pytest.mark.skipif(sys.platform != "linux", reason="the supervisor reads /proc")


@reads_proc
@pytest.mark.slow
@pytest.mark.parametrize("has_supervisor", [True, False])
def test_a_worker_that_is_not_heard_ends_its_agents_and_their_jobs_go_on_later(
    site: WatchSite, begin: Begin, has_supervisor: bool
) -> None:
    job = site.job()
    site.lease(job)
    attempt = site.run(job, "exec sleep 600")
    agent = attempt.agent_pid()
    if not has_supervisor:
        os.kill(attempt.started[0].pid, signal.SIGKILL)
        attempt.started[0].wait()
    monitor = site.start_monitor()
    monitor.watch(site.adopt(job))
    begin(Scripted(SHORT, AWAY), monitor)
    wait_until(lambda: not is_running(agent), "the agent ends")
    wait_until(lambda: site.get(job).state is not JobState.RUNNING, "its job is queued again")
    monitor.stop()
    ended = jobs.attempts(site.database, job.id)[-1]
    assert ended.cause is Cause.WORKER_STOPPED
    assert ended.reason == "its worker was cut off from the queue's server"
    assert site.get(job).state in (JobState.QUEUED, JobState.BACKOFF)


@reads_proc
@pytest.mark.slow
def test_a_beat_that_never_returns_keeps_no_agent_from_its_end(
    site: WatchSite, begin: Begin
) -> None:
    """As to a server that is stopped, and whose system goes on."""
    job = site.job()
    site.lease(job)
    attempt = site.run(job, "exec sleep 600")
    monitor = Monitor(site.context)
    monitor.watch(site.adopt(job))
    goes_on = threading.Event()
    begin(Scripted(SHORT, goes_on), monitor)
    try:
        wait_until(lambda: not is_running(attempt.agent_pid()), "the agent ends")
    finally:
        goes_on.set()


@reads_proc
@pytest.mark.slow
def test_an_agent_that_ended_by_itself_meanwhile_keeps_its_own_cause(
    site: WatchSite, begin: Begin
) -> None:
    """Its worker could not settle it: the queue was away."""
    job = site.job()
    site.lease(job)
    attempt = site.run(job, "exit 3")
    assert attempt.started[0].wait(60.0) == 0
    monitor = Monitor(site.context)
    monitor.watch(site.adopt(job))
    begin(Scripted(SHORT, AWAY), monitor)
    (running,) = monitor.running()
    wait_until(lambda: running.asked_to_end, "what may be left is ended")
    assert running.ended_for is None


@reads_proc
@pytest.mark.slow
def test_where_nobody_may_take_over_the_agents_go_on(
    site: WatchSite, begin: Begin, caplog: pytest.LogCaptureFixture
) -> None:
    job = site.job()
    site.lease(job)
    attempt = site.run(job, "exec sleep 600")
    monitor = Monitor(site.context)
    monitor.watch(site.adopt(job))
    beats = Scripted(AWAY)
    begin(beats, monitor, heard_ago=500.0)
    wait_until(lambda: beats.count > 20, "it would be time")
    assert not monitor.running()[0].asked_to_end
    assert is_running(attempt.agent_pid())


def test_an_answer_renews_the_leases_that_are_still_ours(site: WatchSite, begin: Begin) -> None:
    monitor = Monitor(site.context)
    kept, lost = site.job("010"), site.job("020")
    for job in (kept, lost):
        site.lease(job)
        site.attempt(job)
        monitor.watch(site.adopt(job))
    begin(Scripted(Beat(frozenset({kept.id}), 120.0)), monitor)
    ours, others = (site.workspace.attempt(job.id, 1).folder / "lease" for job in (kept, lost))
    assert float(ours.read_text()) == pytest.approx(boot_seconds() + 110, abs=30)
    assert not others.exists()


@reads_proc
@pytest.mark.slow
def test_an_answer_ends_what_somebody_has_cancelled(site: WatchSite, begin: Begin) -> None:
    """The monitor may wait for the queue meanwhile: nothing but the answer tells it here."""
    monitor = Monitor(site.context)
    agents = {}
    for task in ("010", "020"):
        job = site.job(task)
        site.lease(job)
        agents[job.id] = site.run(job, "exec sleep 600").agent_pid()
        monitor.watch(site.adopt(job))
    ending, going_on = agents
    begin(Scripted(Beat(frozenset(agents), None, frozenset({ending}))), monitor)
    wait_until(lambda: not is_running(agents[ending]), "the agent ends")
    assert is_running(agents[going_on])
    assert [running.asked_to_end for running in monitor.running()] == [True, False]


def test_who_adopts_an_attempt_renews_its_lease_at_once(site: WatchSite) -> None:
    """Its next beat may come too late for a supervisor whose worker is dead for long."""
    job = site.job()
    site.lease(job)
    attempt = site.attempt(job)
    site.context.hearing.heard(boot_seconds(), 120.0)
    site.adopt(job)
    assert (attempt.paths.folder / "lease").exists()


def test_a_worker_that_was_not_heard_lately_takes_no_job_of_a_shared_queue() -> None:
    known = Hearing()
    known.heard(boot_seconds() - 50, None)
    assert known.allows_another
    known.heard(boot_seconds() - 50, 120.0)
    assert not known.allows_another
    known.heard(boot_seconds(), 120.0)
    assert known.allows_another


def test_only_in_a_shared_queue_a_supervisor_hears_of_an_end(tmp_path: Path) -> None:
    known = Hearing()
    known.renew_lease(str(tmp_path))
    assert (known.lease_orders, list(tmp_path.iterdir())) == ([], [])
    known.heard(1000.0, 120.0)
    known.renew_lease(str(tmp_path))
    end, grace = known.lease_orders
    assert (end, (tmp_path / "lease").read_text()) == ("1110.0", "1110.0")
    assert float(grace) == pytest.approx(2.0), "its guard leaves it so long"
