"""Cancelling an orchestrator ends what its agents have queued, all generations, each by name."""

import json
import os
import signal
import subprocess
import sys
from contextlib import closing

import pytest
from journeys.callers import (
    Step,
    all_jobs,
    await_end,
    await_runs,
    await_state,
    callers_of,
    exists,
    gate,
    good,
    job_of,
    killed_caller,
    open_gate,
    queue,
    report,
    statuses,
)
from journeys.site import Site, wait_until
from journeys.staff import shell_executor, write_program
from standins import read_runs

from sow.ids import JobId
from sow.jobs import jobs
from sow.schema.job import JobState, Verb

CANCEL = ("agent", "cancel", "010")
YOLO = {"agents": {"executors": {"claude-code": {"settings": {"yolo_mode": True}}}}}
TASKS = ("010", "020", "030", "040")


def spawn(task: str, *words: str) -> Step:
    return {"sow": ["agent", "spawn", "orchestrator", task, *words]}


def states(site: Site) -> dict[str, str]:
    return {job.task_id: job.state.value for job in all_jobs(site)}


@pytest.fixture
def three_running(site: Site) -> Site:
    """010, 020 and 030 run, each for the one before; 040 was queued by 020 and waits."""
    site.project(*TASKS, agent="orchestrator")
    site.configure({**YOLO, "worker": {"concurrency": 1}})
    site.script([good(spawn("020"))], "010")
    site.script([good(spawn("030"))], "020")
    site.script([good(spawn("040", "--detach"), gate("go"))], "030")
    site.script([good()], "040")
    site.sow("agent", "spawn", "orchestrator", "010", "--detach")
    await_runs(site, 3)
    await_state(site, "040", JobState.QUEUED)
    return site


def test_what_the_agents_have_queued_is_ended_and_named(three_running: Site) -> None:
    site = three_running
    agents = [run.pid for run in read_runs(site.root)]
    cancelled = site.sow(*CANCEL)
    assert [line.split(" (")[0] for line in cancelled.out.splitlines()] == [
        "010 cancelled, left paused",
        "020 cancelled, left paused",
        "030 cancelled, left paused",
        "040 cancelled, left pending",
    ]
    assert all(f"job {number}" in cancelled.out for number in (1, 2, 3, 4))
    assert set(states(site).values()) == {"cancelled"}
    assert statuses(site, TASKS) == ["paused", "paused", "paused", "pending"]
    assert not any(exists(pid) for pid in agents)


def test_they_are_a_list_in_json(three_running: Site) -> None:
    record = three_running.sow(*CANCEL, "--json").json
    assert (record["task"], record["job"], record["state"]) == ("010", 1, "cancelled")
    children = [
        (each["task"], each["job"], each["state"], each["status"]) for each in record["children"]
    ]
    assert children == [
        ("020", 2, "cancelled", "paused"),
        ("030", 3, "cancelled", "paused"),
        ("040", 4, "cancelled", "pending"),
    ]
    assert record["kept"] == []


def test_children_are_kept_when_asked_for(three_running: Site) -> None:
    site = three_running
    cancelled = site.sow(*CANCEL, "--keep-children")
    first, *kept = cancelled.out.splitlines()
    assert first.startswith("010 cancelled, left paused (")
    assert [line.split(",")[0] for line in kept] == [
        "020 goes on (job 2",
        "030 goes on (job 3",
        "040 goes on (job 4",
    ]
    open_gate(site, "go")
    for task in TASKS[1:]:
        assert await_end(site, task).state is JobState.DONE


def test_a_child_is_cancelled_alone(three_running: Site) -> None:
    """Those above it go on; those below go with it."""
    site = three_running
    record = site.sow("job", "cancel", "3", "--json").json
    assert [each["task"] for each in record["children"]] == ["040"]
    assert await_end(site, "010").state is JobState.DONE
    assert statuses(site, TASKS) == ["needs_review", "needs_review", "paused", "pending"]


def test_ending_a_task_with_its_job_ends_what_that_has_queued(three_running: Site) -> None:
    site = three_running
    ended = site.sow("task", "abandon", "010", "--cancel-job")
    assert ended.err.splitlines() == [
        f"Note: job {number} of task {task} has ended: cancelled"
        for number, task in enumerate(TASKS, start=1)
    ]
    assert statuses(site, TASKS) == ["abandoned", "paused", "paused", "pending"]


def test_a_child_that_has_reported_and_is_ending_keeps_its_report(site: Site) -> None:
    site.project("010", "020", agent="orchestrator")
    site.configure(YOLO)
    site.script([good(spawn("020", "--detach"), gate("never"))], "010")
    site.script([[report(), gate("exit")]], "020")
    site.sow("agent", "spawn", "orchestrator", "010", "--detach")
    wait_until(lambda: site.task("020")["status"] == "needs_review", "the report")
    cancel = site.start(*CANCEL)
    wait_until(lambda: job_of(site, "010").cancel_requested_at, "the request")  # type: ignore[union-attr]
    open_gate(site, "exit")
    out, _ = cancel.communicate(timeout=240)
    assert [line.split(" (")[0] for line in out.splitlines()] == [
        "010 cancelled, left paused",
        "020 needs_review",
    ]
    assert states(site) == {"010": "cancelled", "020": "done"}


OUTRUNS = """
    again() {
        sow agent spawn orchestrator 020 --detach >"$SOW_ROOT/again" 2>&1
        echo "exit $?" >>"$SOW_ROOT/again"
        exit 1
    }
    trap again INT TERM
    touch "$SOW_ROOT/up"
    while :; do sleep 0.02; done
"""


def test_an_agent_that_is_being_ended_queues_nothing_more(site: Site) -> None:
    executor = shell_executor(site, "brief", OUTRUNS)
    config = {"executors": {"brief": executor}, "bindings": {"orchestrator": "brief"}}
    site.configure({"agents": config})
    site.project("010", "020", agent="orchestrator")
    site.sow("agent", "spawn", "orchestrator", "010", "--detach")
    wait_until((site.root / "up").exists, "the agent")
    site.sow(*CANCEL)
    printed = (site.root / "again").read_text()
    assert "job 1 (task 010) was cancelled, so it cannot queue other jobs" in printed
    assert printed.endswith("exit 4\n")
    assert job_of(site, "020") is None
    assert site.task("020")["status"] == "pending"


DYING = """
    import os, signal, sys

    from sow.calls import cancel

    cancel._conclude_all = lambda *_: os.kill(os.getpid(), signal.SIGKILL)

    from sow.cli.root import run

    sys.exit(run(sys.argv[1:]))
"""


def test_a_worker_goes_on_where_a_cancel_was_killed(three_running: Site) -> None:
    """All of it is asked for at once, so nothing is forgotten."""
    site = three_running
    program = write_program(site, "dying.py", DYING)
    died = subprocess.run(
        [sys.executable, "-P", str(program), *CANCEL],
        cwd=site.root,
        env=site.environment(),
        check=False,
    )
    assert died.returncode == -signal.SIGKILL
    for task in TASKS:
        assert await_end(site, task).state is JobState.CANCELLED
    wait_until(
        lambda: statuses(site, TASKS) == ["paused", "paused", "paused", "pending"],
        "the tasks are given back",
    )


def test_the_same_cancel_again_goes_on_without_a_worker(three_running: Site) -> None:
    """The job itself has ended by now, what it had queued has not.

    The agents' own calls stand still: they would start a worker, and that might come first.
    """
    site = three_running
    for waiter in (*callers_of(site, 2), *callers_of(site, 3)):
        os.kill(int(waiter[1:].partition("-")[0]), signal.SIGSTOP)
    for worker in site.workers():
        site.kill(worker["pid"])
    with closing(queue(site)) as database:
        jobs.change_job(database, JobId(1), state=JobState.CANCELLED, ended_at=1.0)
        database.run("delete from lease where job_id = 1")
        for child in (2, 3, 4):
            jobs.change_job(database, JobId(child), cancel_requested_at=1.0)
    again = site.sow(*CANCEL)
    assert [line.split()[0] for line in again.out.splitlines()] == list(TASKS)
    assert set(states(site).values()) == {"cancelled"}


def test_what_an_ended_job_has_queued_is_named_when_there_is_nothing_to_cancel(site: Site) -> None:
    """A job that has ended by itself takes nothing with it."""
    site.project("010", "020", agent="orchestrator")
    site.configure(YOLO)
    site.script([good(spawn("020", "--detach"))], "010")
    site.script([good(gate("go"))], "020")
    site.sow("agent", "spawn", "orchestrator", "010")
    refused = site.sow(*CANCEL, expect=4)
    assert refused.err.endswith(
        "The jobs that it queued still run; to cancel them: `sow agent cancel 020` (job 2).\n"
    )
    open_gate(site, "go")
    assert await_end(site, "020").state is JobState.DONE


def test_a_session_open_on_a_terminal_is_never_ended_that_way(three_running: Site) -> None:
    """Nor is what a person has queued from it."""
    site = three_running
    with closing(queue(site)) as database:
        jobs.change_job(database, JobId(3), verb=Verb.OPEN)
    record = site.sow(*CANCEL, "--json").json
    assert [each["task"] for each in record["children"]] == ["020"]
    assert [(each["task"], each["verb"]) for each in record["kept"]] == [("030", "open")]
    with closing(queue(site)) as database:
        jobs.change_job(database, JobId(3), verb=Verb.SPAWN)
    assert site.job(4)["state"] in ("queued", "running", "done")
    open_gate(site, "go")
    await_end(site, "030")
    await_end(site, "040")


def test_what_cancel_has_shown_is_owed_no_more(site: Site) -> None:
    """After "still running, cancel" the same call runs the task anew."""
    site.project("010", agent="orchestrator")
    site.script([[gate("go")], good()])
    killed_caller(site, "agent", "spawn", "orchestrator", "010")
    site.sow(*CANCEL)
    again = site.sow("agent", "resume", "010", "Go on.", "--json").json
    assert (again["job"], again["owed"], again["state"]) == (2, False, "done")
    record = json.loads(site.sow("agent", "wait", "010", "--json").out)
    assert (record["job"], record["owed"]) == (2, False)


def test_a_spawn_after_a_cancel_that_was_shown_starts_anew(site: Site) -> None:
    site.project("010", agent="orchestrator")
    site.configure({"worker": {"autostart": False}})
    caller = site.start("agent", "spawn", "orchestrator", "010")
    await_state(site, "010", JobState.QUEUED)
    os.kill(caller.pid, signal.SIGKILL)
    caller.wait()
    site.sow(*CANCEL)
    queued = site.sow("agent", "spawn", "orchestrator", "010", "--detach")
    assert queued.out == "010 queued (job 2)\n"
