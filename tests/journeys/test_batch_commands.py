"""What a person does with a batch: pause, resume, cancel, add, remove; and what may befall it."""

import shutil
from contextlib import closing

from journeys.batch_site import COMPLETES, YOLO, accept_by_check, diamond, of_batch
from journeys.callers import all_jobs, await_end, await_runs, gate, open_gate, queue, report
from journeys.site import Site, wait_until
from journeys.staff import shell_executor
from standins import read_runs

from sow.jobs import batch_news
from sow.schema.job import JobState


def test_a_paused_batch_begins_nothing_until_it_is_resumed(site: Site) -> None:
    site.configure({"worker": {"concurrency": 1}})
    site.project("010", "020")
    accept_by_check(site)
    site.script([[gate("go"), report("completed")]])
    site.sow("batch", "run", "--name", "night", "--detach")
    await_runs(site)
    paused = site.sow("batch", "pause", "night", "--json").json
    assert paused["state"] == "paused"
    open_gate(site, "go")
    shown = site.sow("batch", "wait", "night", expect=1)
    assert "Batch 1 night is paused (a person has paused it)" in shown.out
    assert "To continue it: sow batch resume night" in shown.out
    assert len(read_runs(site.root)) == 1
    assert site.task("010")["status"] == "needs_review", "an author's word is no verdict here too"
    site.sow("batch", "resume", "night")
    assert site.sow("batch", "wait", "--json").json["counts"] == {"done": 2}
    refused = site.sow("batch", "resume", "night", expect=4)
    assert "batch 1 is over" in refused.err


def test_a_detached_batch_that_waits_for_a_person_is_no_failure(site: Site) -> None:
    site.project("010")
    for status in ("in_progress", "needs_review"):
        site.sow("task", "set", "010", "status", status)
    assert "1 needs_person" in site.sow("batch", "run", "--detach", expect=0).out
    site.sow("batch", "wait", expect=1)
    site.sow("batch", "pause")
    site.sow("batch", "run", "--detach", expect=1)


def test_a_cancelled_batch_ends_its_jobs_and_no_other(site: Site) -> None:
    site.project("010", "020", "030")
    accept_by_check(site)
    site.script([[{"hang": True}]], "010")
    site.script([[gate("go"), report("completed")]], "030")
    site.script([COMPLETES], "020")
    site.sow("batch", "run", "010", "020", "--max-parallel", "1", "--detach")
    site.sow("agent", "spawn", "030", "--detach")
    await_runs(site, 2)
    assert "Batch 1 is cancelled" in site.sow("batch", "cancel").out
    assert [job.state for job in of_batch(site)] == [JobState.CANCELLED]
    assert site.sow("batch", "wait", "--json", expect=7).json["state"] == "cancelled"
    open_gate(site, "go")
    site.sow("agent", "wait", "030")
    assert site.task("020")["status"] == "pending"
    new = site.sow("batch", "run", "020", "--json").json
    assert (new["batch"], new["counts"]) == (2, {"done": 1})


def test_a_new_batch_goes_on_with_what_was_cancelled_and_leaves_a_question_to_a_person(
    site: Site,
) -> None:
    site.project("010", "020", "030")
    accept_by_check(site)
    asks = {"sow": ["agent", "log", "Which of the two?"]}
    site.script([[{"hang": True}], COMPLETES], "010")
    site.script([[asks, report("paused")], [{"hang": True}], COMPLETES], "020")
    site.script([[asks, report("paused")]], "030")
    site.sow("batch", "run", "--name", "first", "--detach")
    await_runs(site, 3)
    assert site.sow("batch", "wait", "first", "--wait", "1ms", expect=75)
    await_end(site, "020")
    site.sow("agent", "resume", "020", "The first.", "--detach")
    await_runs(site, 4)
    site.sow("batch", "cancel", "first")
    assert [site.task(task)["status"] for task in ("010", "020", "030")] == ["paused"] * 3
    done = site.sow("batch", "run", "--json", expect=1).json
    assert [item["state"] for item in done["items"]] == ["done", "done", "needs_person"]
    assert done["items"][2]["question"] == "Which of the two?"


def test_what_was_cancelled_in_a_batch_says_so_and_goes_on_when_that_is_resumed(
    site: Site,
) -> None:
    site.project("010")
    accept_by_check(site)
    site.script([[{"hang": True}], COMPLETES])
    site.sow("batch", "run", "--name", "night", "--detach")
    await_runs(site)
    site.sow("agent", "cancel", "010")
    (item,) = site.sow("batch", "wait", "night", "--json", expect=1).json["items"]
    assert (item["state"], item["question"]) == ("needs_person", "")
    assert item["reason"] == "job 1 was cancelled"
    site.sow("batch", "resume", "night")
    assert site.sow("batch", "wait", "night", "--json").json["counts"] == {"done": 1}


def test_what_an_author_writes_by_hand_when_its_batch_is_cancelled_is_no_verdict(
    site: Site,
) -> None:
    script = """
        state=$1/state.yaml
        claim() { sed -i 's/status: in_progress/status: completed/' "$state"; exit 0; }
        trap claim INT
        touch up
        sleep 1000 & wait
    """
    executor = shell_executor(site, "claims", script)
    bound = {"executors": {"claims": executor}, "bindings": {"implementer": "claims"}}
    site.configure({"agents": bound})
    site.project("010")
    site.sow("batch", "run", "--detach")
    wait_until((site.root / "up").exists, "its author is at work")
    site.sow("batch", "cancel")
    job = await_end(site, "010")
    assert (job.state, job.outcome_status) == (JobState.CANCELLED, "needs_review")
    assert site.task("010")["status"] == "needs_review"


def test_tasks_are_added_and_taken_out_while_it_goes_on(site: Site) -> None:
    site.project("010", "020", "030")
    accept_by_check(site)
    site.script([[gate("go"), report("completed")]], "010")
    site.script([COMPLETES])
    site.sow("batch", "run", "010", "020", "--max-parallel", "1", "--detach")
    await_runs(site)
    site.sow("batch", "remove", "1", "020")
    site.sow("batch", "add", "1", "030")
    other = site.sow("batch", "run", "030", expect=4)
    assert "task 030 is in batch 1" in other.err
    open_gate(site, "go")
    done = site.sow("batch", "wait", "1", "--json").json
    assert [item["task"] for item in done["items"]] == ["010", "030"]
    assert site.task("020")["status"] == "pending"


def test_a_batch_survives_the_agent_that_made_it_unless_it_is_ended_with_it(site: Site) -> None:
    site.configure(YOLO)
    site.project("020")
    accept_by_check(site)
    site.add_tasks("010", agent="orchestrator")
    begin = {"sow": ["batch", "run", "020", "--detach"]}
    site.script([[begin, {"hang": True}]], "010")
    site.script([[gate("go"), report("completed")]], "020")
    site.sow("agent", "spawn", "010", "--detach")
    await_runs(site, 2)
    cancelled = site.sow("agent", "cancel", "010")
    assert "batch 1, which it has made, goes on" in cancelled.err
    open_gate(site, "go")
    assert site.sow("batch", "wait", "1", "--json").json["counts"] == {"done": 1}
    (site.root / ".standin/go.gate").unlink()
    site.sow("task", "reopen", "020")
    site.sow("agent", "resume", "010", "Again.", "--detach")
    wait_until(lambda: len(read_runs(site.root)) == 4, "both run again")
    cancelled = site.sow("agent", "cancel", "010", "--with-batches")
    assert "batch 2, which it has made, is cancelled" in cancelled.err
    assert site.sow("batch", "show", "2", "--json").json["state"] == "cancelled"
    assert not [job for job in all_jobs(site) if not job.state.is_final]


def test_a_batch_waits_while_another_project_is_there_and_says_so(site: Site) -> None:
    diamond(site)
    accept_by_check(site)
    site.script([[gate("go"), report("completed")]], "010")
    site.script([COMPLETES])
    site.sow("batch", "run", "--detach")
    await_runs(site, 1)
    aside = site.base / "aside"
    site.change_branch("other")
    shutil.move(site.root / ".sow/project", aside)
    site.project("900")
    waits = site.sow("batch", "wait", "1", "--wait", "1s", expect=None)
    assert waits.code in (4, 75), waits
    shutil.rmtree(site.root / ".sow/project")
    shutil.move(aside, site.root / ".sow/project")
    site.change_branch("main")
    open_gate(site, "go")
    done = site.sow("batch", "wait", "1", "--json").json
    assert done["counts"] == {"done": 4}


def test_after_the_queue_file_s_loss_the_same_command_skips_what_is_done(site: Site) -> None:
    diamond(site)
    accept_by_check(site)
    site.script([COMPLETES], "010")
    site.script([[gate("go"), report("completed")]])
    site.sow("batch", "run", "--detach")
    await_runs(site, 3)
    site.sow("worker", "stop")
    shutil.rmtree(site.root / ".sow/run")
    open_gate(site, "go")
    wait_until(
        lambda: [site.task(task)["status"] for task in ("020", "030")] == ["completed"] * 2,
        "the agents that nobody knows of report",
    )
    done = site.sow("batch", "run", "--json").json
    assert (done["batch"], done["counts"]) == (1, {"done": 1})
    assert [job.task_id for job in all_jobs(site)] == ["040", "040"], "it is done, and checked"


def test_a_question_is_told_in_full_by_the_batch_that_follows_a_lost_queue(site: Site) -> None:
    site.project("010")
    asks = {"sow": ["agent", "log", "Which of the two?", "--body", "The first is shorter."]}
    site.script([[asks, report("paused")]])
    site.sow("batch", "run", expect=1)
    site.sow("worker", "stop")
    shutil.rmtree(site.root / ".sow/run")
    (item,) = site.sow("batch", "run", "--json", expect=1).json["items"]
    assert item["question"] == "Which of the two?\nThe first is shorter."


def test_a_resume_tries_again_what_was_refused_though_nothing_else_changes(site: Site) -> None:
    program = site.base / "later.sh"
    later = {"type": "command", "settings": {"command": [str(program), "{task_dir}"]}}
    site.configure(
        {"agents": {"executors": {"later": later}, "bindings": {"implementer": "later"}}}
    )
    site.project("010")
    accept_by_check(site)
    refused = site.sow("batch", "run", expect=1).out
    assert "010 needs_person: executor binary not found" in refused
    assert ": sow config edit\n" in refused
    shell_executor(
        site,
        "later",
        "echo done > work; sed -i 's/status: in_progress/status: completed/' \"$1/state.yaml\"",
    )
    with closing(queue(site)) as database:
        wait_until(lambda: not batch_news.pending(database), "its worker has nothing more to do")
    site.sow("batch", "resume")
    assert "1 done" in site.sow("batch", "wait", "--wait", "60s").out
