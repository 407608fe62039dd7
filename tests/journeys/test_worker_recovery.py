"""Workers, supervisors and agents die at every moment; nothing is lost and nothing stays taken."""

import fcntl
import json
import os
import random
import signal
from contextlib import closing
from typing import Any

import pytest
from journeys.callers import (
    await_end,
    await_runs,
    await_state,
    await_waiters,
    exists,
    gate,
    good,
    job_of,
    open_gate,
    queue,
)
from journeys.site import Site, wait_until
from journeys.staff import (
    QUICK,
    attempt_of,
    await_supervisor,
    drain,
    kill,
    nothing_is_taken,
    start_worker,
)
from standins import overlapping, read_runs

from sow.ids import WorkerId
from sow.jobs import leases, workers
from sow.paths import Workspace
from sow.schema.job import Cause, JobState


@pytest.fixture
def by_hand(site: Site) -> Site:
    """A project with one task, and workers started by the test alone."""
    site.configure({"worker": QUICK})
    site.project("010")
    return site


def queue_one(site: Site, *runs: list[dict[str, Any]]) -> None:
    """Queue a spawn of task 010 whose agents play these runs."""
    if runs:
        site.script(runs)
    site.sow("agent", "spawn", "implementer", "010", "--detach")


def is_delivered(site: Site, status: str = "needs_review", *, attempts: int = 1) -> None:
    """Fail unless the one job has ended well, after so many attempts, and nothing is held."""
    job = await_end(site, "010")
    assert (job.state, job.outcome_status) == (JobState.DONE, status), site.worker_logs()
    assert attempt_of(site, job.id).number == attempts
    assert site.task("010")["status"] == status
    nothing_is_taken(site)


def test_a_worker_killed_between_jobs_costs_nothing(by_hand: Site) -> None:
    first = start_worker(by_hand)
    first.kill()
    (dead,) = by_hand.workers()
    assert (dead["worker"], dead["alive"]) == (first.name, False)
    queue_one(by_hand)
    second = drain(by_hand)
    assert f"worker {first.name} is dead; took over 0 of its jobs" in second.log_text
    assert by_hand.workers() == []
    is_delivered(by_hand)


def test_an_agent_survives_its_worker_and_its_outcome_is_delivered(site: Site) -> None:
    """§1: "a call that survives its caller, an agent that survives its worker": the waiting call
    starts another worker, which adopts the agent."""
    site.project("010")
    site.script([good(gate("go"))])
    caller = site.start("agent", "spawn", "implementer", "010", "--json")
    await_waiters(site, "010")
    (run,) = await_runs(site)
    job = await_state(site, "010", JobState.RUNNING)
    await_supervisor(site, job.id)
    (worker,) = site.workers()
    kill(worker["pid"])
    wait_until(lambda: any(each["alive"] for each in site.workers()), "another worker")
    open_gate(site, "go")
    out, err = caller.communicate(timeout=240)
    assert caller.returncode == 0, err
    record = json.loads(out)
    assert (record["status"], record["attempt_count"]) == ("needs_review", 1)
    assert [each.pid for each in read_runs(site.root)] == [run.pid]
    assert "adopted: attempt 1" in site.worker_logs()


def test_an_agent_that_ended_while_no_worker_lived_is_settled_by_the_next(by_hand: Site) -> None:
    """§6: "The worker can die …: it adopts what still runs and collects what has ended"."""
    queue_one(by_hand, good(gate("go")))
    worker = start_worker(by_hand)
    (run,) = await_runs(by_hand)
    worker.kill()
    open_gate(by_hand, "go")
    wait_until(lambda: not exists(run.pid), "the agent has ended")
    drain(by_hand)
    is_delivered(by_hand)
    assert len(read_runs(by_hand.root)) == 1


def test_a_worker_killed_right_after_its_claim(by_hand: Site) -> None:
    """The lease is there and no attempt: the very next record would have been its first."""
    queue_one(by_hand)
    with closing(queue(by_hand)) as database:
        leases.claim(database, WorkerId("w9-killed"), total=9, own=9, now=0.0)
    drain(by_hand)
    is_delivered(by_hand)
    assert len(read_runs(by_hand.root)) == 1
    job = job_of(by_hand, "010")
    assert job is not None
    assert job.worker_deaths == 1


def test_a_worker_killed_after_the_fork_before_it_wrote_the_supervisor_down(
    by_hand: Site,
) -> None:
    queue_one(by_hand, good(gate("go")))
    worker = start_worker(by_hand)
    (run,) = await_runs(by_hand)
    await_supervisor(by_hand, 1)
    worker.kill()
    with closing(queue(by_hand)) as database:
        database.run("update attempt set supervisor = null, started_at = null")
    heir = start_worker(by_hand, "--drain")
    heir.wait_for("adopted: attempt 1")
    assert exists(run.pid)
    open_gate(by_hand, "go")
    assert heir.wait() == 0
    is_delivered(by_hand)
    assert len(read_runs(by_hand.root)) == 1


def test_an_agent_survives_its_supervisor(by_hand: Site) -> None:
    """§6: "Supervisor gone but agent alive: left running and watched; its ending is judged by
    state and stream"."""
    queue_one(by_hand, good(gate("go")))
    start_worker(by_hand)
    (run,) = await_runs(by_hand)
    kill(await_supervisor(by_hand, 1))
    assert exists(run.pid)
    assert await_state(by_hand, "010", JobState.RUNNING)
    open_gate(by_hand, "go")
    is_delivered(by_hand)
    assert len(read_runs(by_hand.root)) == 1


def test_an_agent_that_loses_worker_and_supervisor_goes_on(by_hand: Site) -> None:
    queue_one(by_hand, good(gate("go")))
    worker = start_worker(by_hand)
    (run,) = await_runs(by_hand)
    supervisor = await_supervisor(by_hand, 1)
    worker.kill()
    kill(supervisor)
    heir = start_worker(by_hand, "--drain")
    heir.wait_for("adopted: attempt 1")
    assert exists(run.pid)
    open_gate(by_hand, "go")
    assert heir.wait() == 0
    is_delivered(by_hand)
    assert len(read_runs(by_hand.root)) == 1


def test_an_agent_killed_with_its_worker_is_resumed_in_its_session(by_hand: Site) -> None:
    """ "worker died | adopted; if the agent died too, resume; counted apart"."""
    queue_one(by_hand, good({"say": "working"}, gate("never")), good())
    worker = start_worker(by_hand)
    (run,) = await_runs(by_hand)
    supervisor = await_supervisor(by_hand, 1)
    wait_until(lambda: by_hand.task("010").get("session", {}).get("started"), "a session")
    worker.kill()
    kill(supervisor, run.pid)
    drain(by_hand)
    is_delivered(by_hand, attempts=2)
    first, second = read_runs(by_hand.root)
    assert (second.verb, second.session_id) == ("resume", first.session_id)
    job = job_of(by_hand, "010")
    assert job is not None
    assert (job.worker_deaths, job.retries) == (1, 0)


def test_after_a_reboot_nothing_of_before_is_alive(by_hand: Site) -> None:
    """Lock file, lease and records are left, every process is gone, and its pids are others'."""
    queue_one(by_hand, good({"say": "working"}, gate("never")), good())
    worker = start_worker(by_hand)
    (run,) = await_runs(by_hand)
    supervisor = await_supervisor(by_hand, 1)
    wait_until(lambda: by_hand.task("010").get("session", {}).get("started"), "a session")
    worker.kill()
    kill(supervisor, run.pid)
    before_boot = {"pid": os.getpid(), "start_ticks": "77", "boot_id": "of another boot"}
    with closing(queue(by_hand)) as database:
        database.run("update attempt set supervisor = ?", (json.dumps(before_boot),))
        database.run("update worker set process = ?", (json.dumps(before_boot),))
    (shown,) = by_hand.workers()
    assert (shown["alive"], shown["jobs"]) == (False, [1])
    heir = drain(by_hand)
    assert by_hand.workers() == []
    assert heir.name != worker.name
    is_delivered(by_hand, attempts=2)


def test_a_worker_that_was_stopped_and_replaced_cannot_store_a_result(by_hand: Site) -> None:
    """§8: "a lease has owner and fencing token; a write of a fenced owner changes nothing"."""
    queue_one(by_hand, good(gate("go")))
    stopped = start_worker(by_hand)
    (run,) = await_runs(by_hand)
    await_supervisor(by_hand, 1)
    stopped.freeze(by_hand)
    workspace = Workspace(by_hand.root)
    successor = WorkerId("w9-successor")
    lock = os.open(workspace.worker_lock(successor), os.O_RDWR | os.O_CREAT)
    fcntl.flock(lock, fcntl.LOCK_EX)
    with closing(queue(by_hand)) as database:
        (lease,) = leases.take_over(database, WorkerId(stopped.name), successor, now=0.0)
        open_gate(by_hand, "go")
        wait_until(lambda: not exists(run.pid), "the agent has ended")
        wait_until(workspace.attempt(lease.job_id, 1).exit.exists, "its end is written down")
        stopped.signal(signal.SIGCONT)
        stopped.wait_for("was taken over by another worker")
        assert leases.lease_of(database, lease.job_id) == lease
    job = job_of(by_hand, "010")
    assert job is not None
    assert (job.state, job.outcome_status, job.ended_at) == (JobState.RUNNING, None, None)
    assert attempt_of(by_hand, 1).cause is None
    os.close(lock)
    is_delivered_by_whoever_is_left(by_hand)


def is_delivered_by_whoever_is_left(site: Site) -> None:
    """The successor is dead by now: the worker that was stopped takes the job back."""
    job = await_end(site, "010")
    assert (job.state, job.cause) == (JobState.DONE, Cause.REPORTED)
    assert len(read_runs(site.root)) == 1


def test_a_worker_whose_lock_file_is_gone_leaves_its_agents_to_another(by_hand: Site) -> None:
    """Whoever cleaned up there has taken its name: nobody can tell that it lives."""
    queue_one(by_hand, good(gate("go")))
    nameless = start_worker(by_hand)
    (run,) = await_runs(by_hand)
    await_supervisor(by_hand, 1)
    workspace = Workspace(by_hand.root)
    workspace.worker_lock(WorkerId(nameless.name)).unlink()
    workers.wake(workspace)
    assert nameless.wait() == 0
    assert "our lock file was removed" in nameless.log_text
    heir = start_worker(by_hand, "--drain")
    heir.wait_for("adopted: attempt 1")
    assert exists(run.pid)
    open_gate(by_hand, "go")
    assert heir.wait() == 0
    is_delivered(by_hand)
    assert len(read_runs(by_hand.root)) == 1


@pytest.mark.one_of
@pytest.mark.parametrize("seed", range(2))
def test_workers_killed_at_any_moment_lose_no_job_and_run_none_twice_at_once(
    site: Site, seed: int
) -> None:
    """§9: "0 lost, 0 run twice at the same time, 0 processes left" (a short one)."""
    chance = random.Random(seed)
    site.configure({"worker": QUICK, "agents": {"executors": {"claude-code": {"retries": 9}}}})
    tasks = ("010", "020", "030", "040")
    site.project(*tasks)
    site.script([good({"say": "working"})])
    site.sow("agent", "spawn", "implementer", *tasks, "--detach")
    for _ in range(4):
        worker = start_worker(site)
        wait_until(lambda: chance.random() < 0.1)
        worker.kill()
        if chance.random() < 0.5:
            live = [run for run in read_runs(site.root) if run.ended is None and exists(run.pid)]
            kill(*(run.pid for run in live[:1]))
    drain(site)
    for task in tasks:
        job = await_end(site, task)
        assert (task, job.state, job.reason) == (task, JobState.DONE, "")
        mine = [run for run in read_runs(site.root) if run.task == task]
        pairs = [pair for pair in overlapping(mine) if pair[0].ended is not None]
        assert pairs == []
    nothing_is_taken(site)
