"""A batch through the true commands: in dependency order, to its end, whoever is killed."""

from collections import Counter

from journeys.batch_site import COMPLETES, accept_by_check, add, diamond, shell
from journeys.callers import all_jobs, await_state, gate, open_gate, report
from journeys.site import Site
from standins import read_runs

from sow.batches.planning import STOPPED
from sow.schema.job import JobState


def test_tasks_are_done_in_the_order_of_their_dependencies(site: Site) -> None:
    diamond(site)
    accept_by_check(site)
    site.script([COMPLETES])
    done = site.sow("batch", "run")
    assert done.out.startswith("Batch 1 is over: 4 done\n"), done
    assert [site.task(task)["status"] for task in ("010", "020", "030", "040")] == ["completed"] * 4
    order = [job.task_id for job in all_jobs(site) if job.batch_deed == "spawn"]
    assert order[0] == "010"
    assert sorted(order[1:3]) == ["020", "030"]
    assert order[3:] == ["040"]
    again = site.sow("batch", "run")
    assert again.out == done.out
    assert again.err == "Note: batch 1, which the same command made, has ended\n"


def test_an_author_s_own_completed_waits_for_a_person(site: Site) -> None:
    """With no check, no review, no clone and no rule of the repository: a batch is enough.

    However it says so: by the command, or by its own hand in the file.
    """
    site.project("010", "020")
    add(site, {"030": ["010", "020"]})
    state = site.task_folder("020") / "state.yaml"
    site.script([[shell(f"sed -i 's/status: in_progress/status: completed/' '{state}'")]], "020")
    site.script([COMPLETES])
    first = site.sow("batch", "run", expect=1)
    for task in ("010", "020"):
        waits = f"{task} needs_person: its work waits for your review: sow review accept {task}"
        assert waits in first.out
        found = site.task(task)
        assert (found["status"], "completed_at" in found) == ("needs_review", False)
    assert site.task("030")["status"] == "pending"
    site.sow("review", "accept", "010", "--summary", "Good.")
    site.sow("task", "set", "020", "status", "completed")
    second = site.sow("batch", "run", expect=1)
    assert "030 needs_person: its work waits for your review" in second.out
    assert "goes on" in second.err
    site.sow("task", "set", "030", "status", "completed")
    done = site.sow("batch", "run")
    assert "Batch 1 is over: 3 done" in done.out
    assert len(all_jobs(site)) == 3, "a person's own word needs no other"


def test_the_batch_goes_on_when_its_worker_is_killed(site: Site) -> None:
    diamond(site)
    accept_by_check(site)
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
    actions = Counter((job.task_id, job.batch_deed) for job in all_jobs(site))
    assert len(actions) == 8
    assert set(actions.values()) == {1}, "nothing is done twice"


def test_after_the_first_failure_no_task_begins_that_waits_in_the_queue(site: Site) -> None:
    site.configure({"worker": {"concurrency": 1}})
    site.project("010", "020", "030")
    site.script([[report("failed")]], "010")
    site.script([COMPLETES])
    run = ("batch", "run", "--fail-fast", "--json")
    ended = site.sow(*run, expect=1).json
    assert (ended["state"], ended["counts"]) == ("over", {"failed": 1, "blocked": 2})
    assert [run.task for run in read_runs(site.root)] == ["010"]
    assert [site.task(task)["status"] for task in ("020", "030")] == ["pending"] * 2
    last = site.job(3)
    assert (last["state"], last["reason"]) == ("cancelled", STOPPED)
    accept_by_check(site)
    done = site.sow("batch", "run", "020", "030", "--json").json
    assert done["counts"] == {"done": 2}
