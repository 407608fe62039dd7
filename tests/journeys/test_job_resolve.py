"""Jobs of which nobody here can tell whether they run: shown, left alone, resolved by hand
(DESIGN, "The agent process": "another namespace is `unverifiable`")."""

import json
import signal
from collections.abc import Iterator
from contextlib import closing

import pytest
from journeys.callers import (
    all_jobs,
    await_end,
    await_runs,
    await_state,
    gate,
    good,
    job_of,
    queue,
    stopped_before_queueing,
)
from journeys.json_contract import hold
from journeys.site import Site, wait_until
from journeys.staff import QUICK, attempt_of, await_supervisor, drain, kill, start_worker
from standins import read_runs

from sow.ids import JobId
from sow.jobs import attempt_evidence
from sow.paths import Workspace
from sow.schema.job import JobState

RESOLVE = ("job", "resolve", "1", "--gone")


@pytest.fixture
def by_hand(site: Site) -> Site:
    site.configure({"worker": QUICK})
    site.project("010")
    site.script([good({"say": "working"}, gate("never")), good()])
    return site


def of_another_namespace(site: Site, table: str, column: str) -> None:
    """Have the records tell that a process was started in another pid namespace."""
    with closing(queue(site)) as database:
        row = database.row(f"select {column} from {table}")
        assert row is not None
        identity = {**json.loads(row[column]), "pid_namespace": "4026530000"}
        database.run(f"update {table} set {column} = ?", (json.dumps(identity),))


@pytest.fixture
def doubtful(by_hand: Site) -> Iterator[Site]:
    """A job whose agent, supervisor and worker are gone with their container, as it seems.

    Its lock is free. But something has the agent's output open, so it may be there still.
    """
    by_hand.sow("agent", "spawn", "implementer", "010", "--detach")
    worker = start_worker(by_hand)
    (run,) = await_runs(by_hand)
    supervisor = await_supervisor(by_hand, 1)
    wait_until(lambda: by_hand.task("010").get("session", {}).get("started"), "a session")
    worker.kill()
    kill(supervisor, run.pid)
    of_another_namespace(by_hand, "attempt", "supervisor")
    with Workspace(by_hand.root).attempt(JobId(1), 1).output.open("a"):
        yield by_hand


def test_it_is_shown_and_left_alone(doubtful: Site) -> None:
    worker = start_worker(doubtful)
    worker.wait_for("adopted: attempt 1")
    worker.wait_for("it cannot be told from here whether its agent still runs")
    assert doubtful.job(1)["unverifiable"] is True
    assert doubtful.sow("job", "list", "--json").json["unverifiable"] is True
    assert "unverifiable: see `sow job explain 1`" in doubtful.sow("job", "list").out
    assert "unverifiable" in doubtful.sow("job", "show", "1").out
    story = doubtful.sow("job", "explain", "1").out
    assert "another pid namespace" in story
    assert "`sow job resolve 1 --gone`" in story
    refusal = doubtful.sow("agent", "cancel", "010", expect=4).err
    assert "`sow job resolve 1 --gone`" in refusal
    assert job_of(doubtful, "010") == all_jobs(doubtful)[0]
    assert all_jobs(doubtful)[0].state is JobState.RUNNING
    assert len(read_runs(doubtful.root)) == 1


def test_resolved_it_goes_on_in_its_session(doubtful: Site) -> None:
    ended = doubtful.sow(*RESOLVE)
    assert ended.out == "Job 1 counts as ended; a worker continues from there.\n"
    assert "no worker runs" in ended.err
    drain(doubtful)
    assert await_end(doubtful, "010").state is JobState.DONE
    first, second = read_runs(doubtful.root)
    assert (second.verb, second.session_id) == ("resume", first.session_id)
    assert [each["cause"] for each in doubtful.job(1)["attempts"]] == ["worker_died", "reported"]
    assert "nothing to resolve" in doubtful.sow(*RESOLVE, expect=4).err


def test_resolving_starts_a_worker(doubtful: Site) -> None:
    doubtful.configure({"worker": {"idle_exit": "1s"}})
    record = doubtful.sow(*RESOLVE, "--json").json
    hold("job resolve", [record])
    assert (record["job"], record["unverifiable"]) == (1, False)
    assert await_end(doubtful, "010").state is JobState.DONE


def test_a_worker_that_watches_it_hears_of_it(doubtful: Site) -> None:
    worker = start_worker(doubtful, "--drain")
    worker.wait_for("adopted: attempt 1")
    doubtful.sow(*RESOLVE)
    assert worker.wait() == 0
    assert await_end(doubtful, "010").state is JobState.DONE


def test_what_was_to_be_cancelled_is_cancelled_once_it_is_resolved(doubtful: Site) -> None:
    doubtful.sow("agent", "cancel", "010", expect=4)
    doubtful.sow(*RESOLVE)
    drain(doubtful)
    assert await_end(doubtful, "010").state is JobState.CANCELLED
    assert doubtful.task("010")["status"] == "paused"
    assert len(read_runs(doubtful.root)) == 1


def test_a_held_lock_proves_life(by_hand: Site) -> None:
    by_hand.sow("agent", "spawn", "implementer", "010", "--detach")
    start_worker(by_hand)
    await_runs(by_hand)
    await_supervisor(by_hand, 1)
    of_another_namespace(by_hand, "attempt", "supervisor")
    assert by_hand.job(1)["unverifiable"] is False
    assert "nothing to resolve" in by_hand.sow(*RESOLVE, expect=4).err


def test_what_sow_can_tell_is_not_for_a_person_to_say(by_hand: Site) -> None:
    by_hand.sow("agent", "spawn", "implementer", "010", "--detach")
    assert "sow can see by itself" in by_hand.sow(*RESOLVE, expect=4).err
    assert "--gone" in by_hand.sow("job", "resolve", "1", expect=2).err
    assert "no job 7" in by_hand.sow("job", "resolve", "7", "--gone", expect=4).err
    drained = start_worker(by_hand)
    (run,) = await_runs(by_hand)
    assert "sow can see by itself" in by_hand.sow(*RESOLVE, expect=4).err
    kill(await_supervisor(by_hand, 1), run.pid, drained.pid)


def test_an_end_that_was_written_down_leaves_no_doubt(doubtful: Site) -> None:
    paths = Workspace(doubtful.root).attempt(all_jobs(doubtful)[0].id, 1)
    record = {"attempt": attempt_of(doubtful, 1).id, "code": 0, "signal": None}
    paths.exit.write_text(json.dumps(record))
    assert doubtful.job(1)["unverifiable"] is False
    assert "sow can see by itself" in doubtful.sow(*RESOLVE, expect=4).err
    assert not attempt_evidence.is_locked(paths)


def test_a_call_that_died_elsewhere_while_it_placed_its_job(by_hand: Site) -> None:
    words = ("agent", "spawn", "implementer", "010", "--fresh", "--detach")
    stopped_before_queueing(by_hand, signal.SIGKILL, *words)
    of_another_namespace(by_hand, "job", "caller")
    assert by_hand.job(1)["unverifiable"] is True
    by_hand.sow(*RESOLVE)
    assert await_state(by_hand, "010", JobState.QUEUED)


def test_the_job_of_one_that_waited_goes_on_by_itself(by_hand: Site) -> None:
    """Its bell tells, which it held."""
    words = ("agent", "spawn", "implementer", "010", "--fresh")
    stopped_before_queueing(by_hand, signal.SIGKILL, *words)
    of_another_namespace(by_hand, "job", "caller")
    assert by_hand.job(1)["unverifiable"] is False
    start_worker(by_hand)
    assert await_runs(by_hand)
