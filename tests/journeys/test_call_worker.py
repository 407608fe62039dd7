"""A call without a worker, or whose worker dies (DESIGN, "The call", step 3)."""

from journeys.callers import (
    all_jobs,
    await_end,
    await_runs,
    await_state,
    await_waiters,
    besides_news,
    gate,
    good,
    open_gate,
)
from journeys.site import Site, wait_until
from standins import read_runs

from sow.schema.job import JobState

SPAWN = ("agent", "spawn", "implementer", "010")
OFF = {"worker": {"autostart": False}}


def test_a_call_that_does_not_wait_at_all_still_sees_to_a_worker(site: Site) -> None:
    site.project("010")
    site.script([good()])
    site.sow(*SPAWN, "--wait", "0s", expect=75)
    assert await_end(site, "010").state is JobState.DONE


def test_without_autostart_the_call_says_how_to_start_a_worker(site: Site) -> None:
    """`worker.autostart: false`: 6, and the job waits for the worker that somebody starts."""
    site.project("010")
    site.configure(OFF)
    site.script([good()])
    refused = site.sow(*SPAWN, expect=6)
    assert refused.err == (
        "Error: the job is queued, but no worker runs and worker.autostart is off\n\nStart one"
        " with `sow worker` in another terminal; it then runs the job. Run the same command"
        " again to wait for the job.\n"
    )
    assert [job.state for job in all_jobs(site)] == [JobState.QUEUED]
    assert site.workers() == []
    site.sow("worker", "--drain")
    assert await_end(site, "010").state is JobState.DONE
    assert site.sow(*SPAWN).out.startswith("outcome of job 1")
    assert len(read_runs(site.root)) == 1


def test_without_autostart_detach_queues_and_says_so(site: Site) -> None:
    site.project("010")
    site.configure(OFF)
    site.script([good()])
    queued = site.sow(*SPAWN, "--detach")
    assert queued.out == "010 queued (job 1)\n"
    assert "no worker runs" in queued.err
    site.sow("agent", "wait", "010", expect=6)
    site.sow("worker", "--drain")
    assert site.task("010")["status"] == "needs_review"


def test_a_repository_may_turn_autostart_off(site: Site) -> None:
    """`worker` stands also in .sow/config.yaml; the user's wins."""
    site.project("010")
    site.script([good()])
    (site.root / ".sow/config.yaml").write_text("worker: {autostart: false}\n")
    site.sow(*SPAWN, expect=6)
    site.configure({"worker": {"autostart": True}})
    assert site.sow(*SPAWN).out.startswith("010 needs_review")


def test_without_autostart_a_worker_that_runs_takes_the_job(site: Site) -> None:
    site.project("010")
    site.configure(OFF)
    site.script([good()])
    site.start("worker", stdout=None, stderr=None)
    wait_until(site.workers, "a worker")
    assert site.sow(*SPAWN).out.startswith("010 needs_review")


def test_a_waiting_call_starts_a_worker_where_the_last_has_died(site: Site) -> None:
    """A waiting caller tests again every few seconds, and starts one where the last has died."""
    site.project("010")
    site.script([good(gate("go"))])
    caller = site.start(*SPAWN)
    await_waiters(site, "010")
    await_runs(site)
    await_state(site, "010", JobState.RUNNING)
    (worker,) = site.workers()
    site.kill(worker["pid"])
    wait_until(lambda: [w for w in site.workers() if w["alive"]], "another worker")
    open_gate(site, "go")
    out, err = caller.communicate(timeout=240)
    assert (caller.returncode, besides_news(err)) == (0, "")
    assert out.startswith("010 needs_review")
    assert len(read_runs(site.root)) == 1


def test_a_worker_that_keeps_dying_is_told_with_its_log(site: Site) -> None:
    """The agent goes on; once the fault is mended, its outcome is there."""
    site.project("010")
    site.script([good(gate("go"))])
    caller = site.start(*SPAWN)
    await_runs(site)
    await_state(site, "010", JobState.RUNNING)
    (worker,) = site.workers()
    site.config_file.parent.mkdir(parents=True, exist_ok=True)
    site.config_file.write_text("agents: [\n")
    site.kill(worker["pid"])
    out, err = caller.communicate(timeout=240)
    assert (caller.returncode, out) == (6, "")
    assert "its worker has died 3 times" in err
    (log,) = (line.split()[-1] for line in err.splitlines() if line.endswith(".log"))
    with open(log, encoding="utf-8") as lines:  # noqa: PTH123
        assert "config.yaml" in lines.read()
    site.config_file.unlink()
    open_gate(site, "go")
    again = site.sow(*SPAWN)
    assert "010 needs_review" in again.out
    assert len(read_runs(site.root)) == 1
