"""Cancelling, and ending a task from outside (DESIGN, "The call" and "Jobs and the queue")."""

from pathlib import Path

import pytest
from journeys.callers import (
    HANG,
    all_jobs,
    await_end,
    await_runs,
    await_state,
    await_waiters,
    cancelled_without_a_word,
    end,
    exists,
    gate,
    good,
    open_gate,
    queue,
    report,
)
from journeys.site import Site, wait_until
from journeys.staff import nothing_is_taken
from standins import read_runs

from sow.schema.job import JobState

SPAWN = ("agent", "spawn", "implementer")
CANCEL = ("agent", "cancel")
ONE_AT_A_TIME = {"worker": {"concurrency": 1}}


def fill_the_queue(site: Site, *tasks: str) -> None:
    """Have 010 run on the only slot, so that every other job waits."""
    site.project("010", *tasks)
    site.configure(ONE_AT_A_TIME)
    site.script([good(gate("go"))], "010")
    site.script([good()])


def test_a_queued_job_is_cancelled_at_once(site: Site) -> None:
    """… or the earlier status if it never ran; exit 7 for who waits for it."""
    fill_the_queue(site, "020")
    site.sow(*SPAWN, "010", "--detach")
    await_runs(site)
    caller = site.start(*SPAWN, "020")
    await_waiters(site, "020")
    cancelled = site.sow(*CANCEL, "020")
    out, _ = caller.communicate(timeout=240)
    assert cancelled.out.startswith("020 cancelled, left pending (")
    assert (caller.returncode, out.startswith("020 cancelled, left pending (")) == (7, True)
    task = site.task("020")
    assert (task["status"], "started_at" in task) == ("pending", False)
    assert queue(site).rows("select * from task") == []
    open_gate(site, "go")
    await_end(site, "010")
    assert [run.task for run in read_runs(site.root)] == ["010"]


def test_a_cancelled_queued_resume_does_not_count_as_an_iteration(site: Site) -> None:
    fill_the_queue(site, "020")
    site.sow(*SPAWN, "020")
    session = site.task("020")["session_id"]
    site.sow(*SPAWN, "010", "--detach")
    await_runs(site, 2)
    site.sow("agent", "resume", "020", "Again.", "--detach")
    assert site.task("020")["iteration"] == 2
    site.sow(*CANCEL, "020")
    task = site.task("020")
    assert (task["status"], task["iteration"]) == ("needs_review", 1)
    assert task["session_id"] == session
    open_gate(site, "go")
    await_end(site, "010")
    site.sow("agent", "resume", "020", "Again.")
    assert site.task("020")["iteration"] == 2


def test_a_cancelled_queued_spawn_can_be_spawned_again(site: Site) -> None:
    fill_the_queue(site, "020")
    site.sow(*SPAWN, "010", "--detach")
    await_runs(site)
    site.sow(*SPAWN, "020", "--detach")
    site.sow(*CANCEL, "020")
    open_gate(site, "go")
    site.sow(*SPAWN, "020")
    assert [run.verb for run in read_runs(site.root)] == ["spawn", "spawn"]


def test_a_running_job_is_cancelled_with_its_whole_tree(site: Site) -> None:
    """The supervisor ends its tree; paused. A child in a session of its own is in the tree."""
    site.project("010")
    child = "echo $$ > .standin/child.pid; exec sleep 1000"
    site.script([[{"background": child}, {"wait_for": ".standin/child.pid"}, *HANG]])
    caller = site.start(*SPAWN, "010")
    (run,) = await_runs(site)
    pid_file = Path(site.root, ".standin/child.pid")
    child_pid = int(wait_until(lambda: pid_file.exists() and pid_file.read_text().strip()))
    assert exists(child_pid)
    cancelled = site.sow(*CANCEL, "010")
    out, _ = caller.communicate(timeout=240)
    assert not exists(child_pid)
    assert not exists(run.pid)
    assert cancelled.out.startswith("010 cancelled, left paused (")
    assert (caller.returncode, out) == (7, cancelled.out)
    assert site.task("010")["status"] == "paused"


def test_a_cancelled_task_is_resumed_in_its_session(site: Site) -> None:
    site.project("010")
    site.script([[{"say": "working"}, *HANG], good()])
    site.sow(*SPAWN, "010", "--detach")
    await_runs(site)
    site.sow(*CANCEL, "010")
    site.sow("agent", "resume", "010", "Go on.")
    first, second = read_runs(site.root)
    assert (second.verb, second.session_id) == ("resume", first.session_id)
    assert site.task("010")["iteration"] == 1


def test_a_job_that_waits_for_its_retry_is_cancelled(site: Site) -> None:
    """Its agent has run, so the task is left paused."""
    site.project("010")
    site.script([[{"say": "working"}, {"crash": 3}], HANG])
    site.sow(*SPAWN, "010", "--detach")
    await_state(site, "010", JobState.BACKOFF)
    site.sow(*CANCEL, "010")
    job = await_end(site, "010")
    assert (job.state, job.outcome_status) == (JobState.CANCELLED, "paused")
    assert site.task("010")["status"] == "paused"


def test_a_job_without_a_worker_is_cancelled(site: Site) -> None:
    """The call starts a worker, which adopts the agent and ends it."""
    site.project("010")
    site.script([HANG])
    site.sow(*SPAWN, "010", "--detach")
    (run,) = await_runs(site)
    await_state(site, "010", JobState.RUNNING)
    for worker in site.workers():
        site.kill(worker["pid"])
    site.sow(*CANCEL, "010")
    assert site.task("010")["status"] == "paused"
    assert not exists(run.pid)


def test_it_is_too_late_once_the_agent_has_reported(site: Site) -> None:
    """If the agent reported first, that stands and cancel says it came too late."""
    site.project("010")
    site.script([[report(), gate("exit")]])
    caller = site.start(*SPAWN, "010")
    wait_until(lambda: site.task("010")["status"] == "needs_review", "the report")
    late = site.sow(*CANCEL, "010", expect=4)
    assert late.err == (
        "Error: too late to cancel job 1 of task 010: its agent has already set the status"
        " needs_review\n\n`sow agent wait 010` waits until it has ended.\n"
    )
    open_gate(site, "exit")
    caller.communicate(timeout=240)
    assert caller.returncode == 0


def test_a_report_that_comes_while_the_agent_is_being_ended_stands(site: Site) -> None:
    """A status other than in_progress is never overwritten; a terminal one ends the session."""
    site.project("010")
    (site.root / ".standin").mkdir()
    script = (
        'trap "sow task set status completed; exit 0" INT; touch .standin/up; sleep 1000 & wait'
    )
    command = ["/bin/sh", "-c", script]
    settings = {"command": [*command, "{session_id}"], "resume": command}
    script_executor = {"type": "command", "settings": settings}
    agents = {"executors": {"script": script_executor}, "bindings": {"implementer": "script"}}
    site.configure({"agents": agents})
    site.sow(*SPAWN, "010", "--detach")
    wait_until((site.root / ".standin/up").exists, "the agent")
    assert "session_id" in site.task("010")
    site.sow(*CANCEL, "010")
    job = await_end(site, "010")
    assert (job.state, job.outcome_status) == (JobState.CANCELLED, "completed")
    task = site.task("010")
    assert task["status"] == "completed"
    assert "session_id" not in task


@pytest.mark.parametrize("before", ["nothing", "an ended job"])
def test_there_is_nothing_to_cancel(site: Site, before: str) -> None:
    site.project("010")
    site.script([good()])
    if before == "an ended job":
        site.sow(*SPAWN, "010")
    refused = site.sow(*CANCEL, "010", expect=4)
    assert refused.err == (
        "Error: nothing to cancel for task 010: it has no running or waiting job\n\n`sow job"
        " list --task 010` shows its past jobs.\n"
    )


@pytest.mark.one_of
@pytest.mark.parametrize(
    "words",
    [
        ("task", "set", "010", "status", "completed"),
        ("task", "set", "--id", "010", "status", "abandoned"),
        ("task", "abandon", "010"),
    ],
)
def test_ending_a_task_from_outside_is_refused_while_its_job_lives(
    site: Site, words: tuple[str, ...]
) -> None:
    """… is refused, naming `--cancel-job`, which ends the job first."""
    site.project("010")
    site.script([HANG])
    caller = site.start(*SPAWN, "010")
    (run,) = await_runs(site)
    await_state(site, "010", JobState.RUNNING)
    refused = site.sow(*words, expect=4)
    assert "job 1 (running)" in refused.err
    assert "--cancel-job" in refused.err
    assert site.task("010")["status"] == "in_progress"
    site.sow(*words, "--cancel-job")
    caller.communicate(timeout=240)
    task = site.task("010")
    assert (caller.returncode, exists(run.pid)) == (7, False)
    assert task["status"] in ("completed", "abandoned")
    assert "session_id" not in task


def test_ending_a_task_whose_job_has_ended_needs_no_option(site: Site) -> None:
    site.project("010")
    site.script([good()])
    site.sow(*SPAWN, "010")
    site.sow("task", "set", "010", "status", "completed")
    assert "session_id" not in site.task("010")


def test_other_statuses_are_set_from_outside_while_the_job_lives(site: Site) -> None:
    """A person may report for an agent: the job is done once the agent has gone."""
    site.project("010")
    site.script([[gate("go")]])
    site.sow(*SPAWN, "010", "--detach")
    await_runs(site)
    site.sow("task", "set", "010", "status", "needs_review")
    open_gate(site, "go")
    assert await_end(site, "010").outcome_status == "needs_review"
    assert len(read_runs(site.root)) == 1


@pytest.mark.parametrize("status", ["completed", "abandoned"])
def test_the_agent_itself_may_end_its_task_and_keeps_the_session_until_it_exits(
    site: Site, status: str
) -> None:
    """… the agent itself may, and the session is cleared when the job ends."""
    site.project("010")
    site.script([[report(status), gate("exit")]])
    site.sow(*SPAWN, "010", "--detach")
    wait_until(lambda: site.task("010")["status"] == status, "the report")
    during = site.task("010")
    (run,) = read_runs(site.root)
    assert during["session_id"] == run.session_id
    open_gate(site, "exit")
    await_end(site, "010")
    after = site.task("010")
    assert "session_id" not in after
    assert "session" not in after
    assert ("completed_at" in after) is (status == "completed")
    assert all_jobs(site)[0].outcome_status == status


def test_a_task_that_there_is_not_is_no_task_without_a_job(site: Site) -> None:
    site.project("010")
    assert "no task 0010" in site.sow(*CANCEL, "0010", expect=4).err


def test_the_same_cancel_again_says_that_it_is_cancelled_and_that_is_owed_no_more(
    site: Site,
) -> None:
    """The first may have been killed before it said so; a spawn would start nothing then."""
    site.project("010")
    site.configure({"worker": {"autostart": False}})
    caller = site.start(*SPAWN, "010")
    await_state(site, "010", JobState.QUEUED)
    end(caller)
    cancelled_without_a_word(site)
    again = site.sow(*CANCEL, "010", expect=4)
    assert again.err.startswith(
        "Error: nothing to cancel for task 010: job 1 is cancelled already, with the status"
        " pending\n"
    )
    assert site.sow(*SPAWN, "010", "--detach").out == "010 queued (job 2)\n"


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "words",
    [
        ("task", "set", "010", "status", "completed"),
        ("task", "abandon", "010"),
        ("task", "reopen", "010"),
        (*SPAWN, "010", "--fresh"),
    ],
)
def test_nobody_is_sent_to_a_cancel_that_comes_too_late(site: Site, words: tuple[str, ...]) -> None:
    """The agent has reported: what refuses because it is still there says to wait, and no more."""
    site.project("010")
    site.script([[report("completed" if "reopen" in words else "needs_review"), gate("exit")]])
    site.sow(*SPAWN, "010", "--detach")
    wait_until(lambda: site.task("010")["status"] != "in_progress", "the report")
    refused = site.sow(*words, expect=4)
    assert "task 010 has a job that has not ended: job 1" in refused.err
    assert "cancel" not in refused.err
    assert "`sow agent wait 010`" in refused.err
    assert "and ends soon.\n" in refused.err
    open_gate(site, "exit")
    site.sow("agent", "wait", "010")


def test_all_ends_a_check_of_the_project_too(site: Site) -> None:
    site.project("010")
    (site.root / ".sow" / "config.yaml").write_text('checks: {unit: "sleep 1000"}\n')
    site.sow("trust", "--yes")
    site.sow("project", "check", "unit", "--wait", "1s", expect=75)
    cancelled = site.sow("agent", "cancel", "--all", "--json").json_lines
    assert [(each["task"], each["state"]) for each in cancelled] == [(None, "cancelled")]
    nothing_is_taken(site)


def test_all_ends_every_live_job_and_where_none_lives_says_so(site: Site) -> None:
    site.project("010", "020")
    site.script([HANG])
    nothing = site.sow("agent", "cancel", "--all")
    assert (nothing.out, nothing.err) == ("", "No job of this project runs or waits.\n")
    site.sow("agent", "spawn", "implementer", "010", "020", "--detach")
    await_runs(site, 2)
    waited = site.sow("agent", "wait", "--all", "--wait", "1s", "--json", expect=75)
    assert sorted(each["task"] for each in waited.json_lines) == ["010", "020"]
    cancelled = site.sow("agent", "cancel", "--all", "--json").json_lines
    assert sorted((each["task"], each["state"]) for each in cancelled) == [
        ("010", "cancelled"),
        ("020", "cancelled"),
    ]
    assert site.sow("agent", "wait", "--all").err == "No job of this project runs or waits.\n"
    refused = site.sow("agent", "cancel", "010", "020", expect=4)
    assert refused.err.count("nothing to cancel") == 2
    site.sow("agent", "cancel", "--all", "010", expect=2)
