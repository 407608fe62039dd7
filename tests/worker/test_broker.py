"""Huey over our storage: what wakes a claim, and what huey may not do (§8, facts/huey)."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from watch_cases import ME, WatchSite

from sow.ids import JobId
from sow.jobs import control, jobs, leases, waiters, workers
from sow.jobs.doorbell import Bell
from sow.schema.job import JobState
from worker.broker import FALLBACK_SECONDS, Claims, SowHuey, make_huey


@dataclass
class Listener:
    """A bell that notes how long it was listened to and never rings."""

    waits: list[float] = field(default_factory=list)

    def wait(self, seconds: float) -> bool:
        self.waits.append(seconds)
        return False


def huey_of(site: WatchSite, ran: list[JobId] | None = None, **storage: Any) -> SowHuey:
    heard: list[JobId] = [] if ran is None else ran
    return make_huey(heard.append, database=site.database, workspace=site.workspace, **storage)


def claims() -> Claims:
    return Claims(ME, total=9, own=9)


def test_a_claim_that_waits_is_woken_by_an_enqueue(site: WatchSite) -> None:
    """§8: "a doorbell instead of polling"."""
    job = site.job()
    bell = Bell(site.workspace.workers / f"{ME}{workers.BELL_SUFFIX}")
    huey = huey_of(site, claims=claims(), bell=bell)
    taken: list[Any] = []
    claimant = threading.Thread(target=lambda: taken.append(huey.dequeue()))
    claimant.start()
    huey_of(site).run_job(job.id)
    claimant.join(60)
    bell.close()
    assert [task.args for task in taken] == [[job.id]]


def test_the_stock_api_rings_every_worker(site: WatchSite) -> None:
    """§8: "a doorbell instead of polling", for huey's own enqueue too."""
    bells = [Bell(site.workspace.workers / f"{name}{workers.BELL_SUFFIX}") for name in ("a", "b")]
    huey_of(site).run_job(site.job().id)
    assert [bell.wait(0.0) for bell in bells] == [True, True]
    for bell in bells:
        bell.close()


def test_the_slot_that_a_dead_call_had_lent_counts_again(site: WatchSite) -> None:
    caller, called = site.job(), site.job("020")
    site.lease(caller)
    leases.enqueue(site.database, called.id, now=site.context.now())
    begun = {"on_behalf_of": caller.id, "now": site.context.now()}
    waiters.begin(site.database, "c1-dead", called.id, **begun)
    huey = huey_of(site, claims=Claims(ME, total=1, own=1), bell=Listener())
    assert huey.dequeue() is None


@pytest.mark.parametrize(
    ("due_in", "listened"), [(None, FALLBACK_SECONDS), (2.0, 2.0), (3600.0, FALLBACK_SECONDS)]
)
def test_a_claim_sleeps_until_the_next_retry_time_and_not_for_ever(
    site: WatchSite, due_in: float | None, listened: float
) -> None:
    listener = Listener()
    huey = huey_of(site, claims=claims(), bell=listener)
    if due_in is not None:
        now = site.context.now()
        leases.enqueue(site.database, site.job().id, now=now, retry_at=now + due_in)
    assert huey.dequeue() is None
    (waited,) = listener.waits
    assert waited == pytest.approx(listened, abs=1.0)


def look_into(looks: list[int]) -> Callable[[], float]:
    """Return a look round that is counted, and due again at once."""

    def look() -> float:
        looks.append(1)
        return 0.0

    return look


def test_a_job_that_is_there_is_taken_without_listening(site: WatchSite) -> None:
    listener = Listener()
    huey = huey_of(site, claims=claims(), bell=listener)
    huey.run_job(site.job().id)
    assert huey.dequeue() is not None
    assert listener.waits == []


def test_a_worker_looks_round_each_time_before_it_sleeps(site: WatchSite) -> None:
    looks: list[int] = []
    huey = huey_of(site, claims=claims(), bell=Listener(), look_round=look_into(looks))
    huey.dequeue()
    huey.dequeue()
    assert len(looks) == 2


def test_a_job_that_is_there_comes_before_all_else(site: WatchSite) -> None:
    looks: list[int] = []
    huey = huey_of(site, claims=claims(), bell=Listener(), look_round=look_into(looks))
    huey.run_job(site.job().id)
    assert huey.dequeue() is not None
    assert looks == []


def test_the_stock_api_takes_priorities(site: WatchSite) -> None:
    huey = huey_of(site, claims=claims(), bell=Listener())
    first, second = site.job("010"), site.job("020")
    huey.enqueue(huey.run_job.s(first.id))
    huey.enqueue(huey.run_job.s(second.id, priority=7))
    assert [huey.dequeue().args for _ in range(2)] == [[second.id], [first.id]]


def test_huey_runs_the_body_of_what_it_dequeued(site: WatchSite) -> None:
    ran: list[JobId] = []
    huey = huey_of(site, ran, claims=claims(), bell=Listener())
    job = site.job()
    huey.enqueue(huey.run_job.s(job.id))
    assert jobs.get_job(site.database, job.id).state is JobState.QUEUED
    huey.execute(huey.dequeue())
    assert ran == [job.id]


def test_huey_stores_no_results(site: WatchSite) -> None:
    """§8: "Not used for jobs: huey's retry, schedule, result and `lock_task`"."""
    huey = huey_of(site, claims=claims(), bell=Listener())
    assert huey.run_job(site.job().id) is None
    huey.execute(huey.dequeue())
    assert site.database.rows("select * from kv") == []


def test_a_body_that_fails_is_not_retried_by_huey(site: WatchSite) -> None:
    def fail(job_id: JobId) -> None:
        raise RuntimeError(job_id)

    huey = make_huey(
        fail, database=site.database, workspace=site.workspace, claims=claims(), bell=Listener()
    )
    huey.run_job(site.job().id)
    huey.execute(huey.dequeue())
    assert site.database.rows("select * from task") == []
    assert site.database.rows("select * from schedule") == []


def test_huey_makes_no_table_and_closes_nothing(site: WatchSite) -> None:
    """ "tables made only where the file is made"."""
    site.database.run("drop table counter")
    huey = huey_of(site)
    assert huey.storage.close() is False
    names = {row["name"] for row in site.database.rows("select name from sqlite_master")}
    assert "counter" not in names
    assert huey.storage.blocking is True


@pytest.mark.parametrize("is_paused", [False, True])
def test_the_machine_is_looked_at_only_for_a_job_that_the_limits_allow(
    site: WatchSite, is_paused: bool
) -> None:
    asked: list[bool] = []

    def may_take(may_run: bool, _: bool) -> bool:
        asked.append(may_run)
        return True

    now, limits = site.context.now(), Claims(ME, total=1, own=1)
    for task in ("010", "020"):
        leases.enqueue(site.database, site.job(task).id, now=now)
    if is_paused:
        control.pause(site.database, now=now)
    huey = huey_of(site, claims=limits, bell=Listener(), may_take=may_take)
    assert (huey.dequeue() is None) == is_paused
    assert huey.dequeue() is None
    assert asked[0] != is_paused
    assert not any(asked[1:])


def test_a_job_that_the_machine_has_no_room_for_is_not_taken(site: WatchSite) -> None:
    leases.enqueue(site.database, site.job().id, now=site.context.now())
    huey = huey_of(site, claims=claims(), bell=Listener(), may_take=lambda *_: False)
    assert huey.dequeue() is None


def test_huey_asks_for_no_mark_of_a_job_that_it_runs(site: WatchSite) -> None:
    """Nothing is revoked by it, and it keeps no results: each question would cost each job."""
    asked: list[str] = []
    huey = huey_of(site, claims=claims(), bell=Listener())
    huey.run_job(site.job().id)
    task = huey.dequeue()
    site.database.connection.set_trace_callback(asked.append)
    huey.execute(task)
    site.database.connection.set_trace_callback(None)
    assert asked == []
