"""A batch through the true commands: in dependency order, to its end, whoever is killed."""

from journeys.batch_site import COMPLETES, diamond
from journeys.callers import all_jobs, await_state, gate, good, open_gate, report
from journeys.site import Site

from sow.schema.job import JobState


def test_tasks_are_done_in_the_order_of_their_dependencies(site: Site) -> None:
    diamond(site)
    site.script([COMPLETES])
    done = site.sow("batch", "run")
    assert done.out.startswith("Batch 1 is over: 4 done\n"), done
    assert [site.task(task)["status"] for task in ("010", "020", "030", "040")] == ["completed"] * 4
    order = [job.task_id for job in all_jobs(site)]
    assert order[0] == "010"
    assert sorted(order[1:3]) == ["020", "030"]
    assert order[3:] == ["040"]
    again = site.sow("batch", "run")
    assert again.out == done.out
    assert again.err == "Note: batch 1, which the same call made, has ended\n"


def test_work_that_waits_for_a_verdict_goes_on_with_it(site: Site) -> None:
    diamond(site)
    site.script([good()], "010")
    site.script([COMPLETES])
    first = site.sow("batch", "run", expect=1)
    assert "010 needs_person: its work waits for your verdict: sow review accept 010" in first.out
    site.sow("review", "accept", "010", "--summary", "Good.")
    done = site.sow("batch", "run")
    assert "Batch 1 is over: 4 done" in done.out
    assert "goes on" in done.err


def test_the_batch_goes_on_when_its_worker_is_killed(site: Site) -> None:
    diamond(site)
    site.script([[gate("go"), report("completed")]])
    caller = site.start("batch", "run", "--json")
    await_state(site, "010", JobState.RUNNING)
    (worker,) = site.workers()
    site.kill(caller.pid)
    site.kill(worker["pid"])
    open_gate(site, "go")
    done = site.sow("batch", "run", "--json").json
    assert done["counts"] == {"done": 4}
    assert done["batch"] == 1
    assert len(all_jobs(site)) == 4
