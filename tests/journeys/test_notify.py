"""Events told to the user's own commands by true workers: once at the most, whoever dies."""

import json
import os
import signal
from dataclasses import asdict
from typing import Any

import msgspec
import pytest
from journeys.batch_site import accept_by_check
from journeys.callers import await_end, exists, good, report
from journeys.json_contract import hold
from journeys.site import Site, wait_until
from journeys.staff import (
    QUICK,
    WorkerRun,
    drain,
    launch_worker,
    nothing_is_taken,
    start_worker,
)
from journeys.storm_staff import PROGRAM
from journeys.storm_worker import Fate

from sow.schema.job import JobState
from sow.schema.notification import Notification

KEEP = "cat >>told"
"""A command that keeps what it is told; it works in the user's home."""


def notify(site: Site, *, retries: int = 0, **commands: Any) -> None:
    """Have these commands told of events; workers are started by the test."""
    executors = {"claude-code": {"retries": retries}}
    site.configure({"worker": QUICK, "notify": commands, "agents": {"executors": executors}})


def notifications(site: Site) -> list[Notification]:
    path = site.base / "home/told"
    lines = path.read_text().splitlines() if path.exists() else []
    return [msgspec.json.decode(line, type=Notification) for line in lines]


def listed(site: Site) -> list[tuple[str, str, str]]:
    """Return event, task and state of each notification on record, oldest first."""
    rows = site.sow("notify", "list", "--limit", "1000", "--json").json_lines[::-1]
    hold("notify list", rows)
    return [(row["event"], row["task"], row["state"]) for row in rows]


def spawn(site: Site, *tasks: str) -> None:
    site.sow("agent", "spawn", "implementer", *tasks, "--detach")


def doomed(site: Site, point: str) -> WorkerRun:
    """Start a worker that kills itself at a point."""
    fate = Fate(str(site.base / "fates"), {point: "killed"})
    return launch_worker(site, json.dumps(asdict(fate)), program=PROGRAM)


def test_each_event_of_an_agent_is_told_when_its_job_has_ended(site: Site) -> None:
    notify(site, needs_review=KEEP, failed=KEEP, paused=KEEP)
    site.project("010", "020", "030", "040")
    site.script([good()], task="010")
    site.script([[{"sow": ["agent", "log", "Which port?"]}, report("paused")]], task="020")
    site.script([[{"exit": 3}]], task="030")
    site.script([[report("completed")]], task="040")
    spawn(site, "010", "020", "030", "040")
    drain(site)
    by_task = {each.task: each for each in notifications(site)}
    assert {task: each.event.value for task, each in by_task.items()} == {
        "010": "needs_review",
        "020": "paused",
        "030": "failed",
    }
    assert len(notifications(site)) == 3
    assert sorted(state for _, _, state in listed(site)) == ["delivered"] * 3
    paused = by_task["020"]
    assert (paused.log, paused.status, paused.agent) == ("Which port?", "paused", "implementer")
    assert paused.message == "repo: task 020 is paused and waits for an answer (job 2)"
    assert (paused.task_name, paused.root) == ("Task 020", str(site.root))
    assert by_task["030"].reason
    assert paused.command is not None
    assert site.sow(*paused.command.split()[1:]).code == 0
    shown = site.sow("changes", "--json").json_lines
    assert paused.cursor in {change["cursor"] for change in shown}
    drain(site)
    assert len(notifications(site)) == 3, "a worker that comes later tells nothing twice"


def test_a_status_of_a_person_is_told_and_one_of_a_job_only_with_its_end(site: Site) -> None:
    notify(site, needs_review=KEEP, paused=KEEP)
    site.project("010", "020")
    site.script([good()], task="010")
    worker = start_worker(site)
    spawn(site, "010")
    assert await_end(site, "010").state is JobState.DONE
    site.sow("task", "set", "020", "status", "in_progress")
    site.sow("changes")
    site.sow("task", "set", "020", "status", "paused")
    site.sow("queue", "resume")
    wait_until(lambda: len(notifications(site)) == 2, "both are told")
    assert [(each.event.value, each.task) for each in notifications(site)] == [
        ("needs_review", "010"),
        ("paused", "020"),
    ]
    worker.signal(signal.SIGTERM)
    worker.wait()


@pytest.mark.one_of
@pytest.mark.parametrize(
    ("point", "times", "state"),
    [
        ("before claim_event", 1, "delivered"),
        ("before run_notice", 0, "uncertain"),
        ("after run_notice", 1, "uncertain"),
        ("after finish_notice", 1, "delivered"),
    ],
)
def test_a_worker_killed_at_each_step_tells_nothing_twice(
    site: Site, point: str, times: int, state: str
) -> None:
    notify(site, needs_review=KEEP)
    site.project("010")
    site.script([good()])
    spawn(site, "010")
    run = doomed(site, point)
    assert run.wait() == -signal.SIGKILL, run.log_text
    workers = [drain(site), drain(site)]
    assert len(notifications(site)) == times
    assert listed(site) == [("needs_review", "010", state)]
    warned = sum("may or may not have been notified" in worker.log_text for worker in workers)
    assert warned == (state == "uncertain")
    nothing_is_taken(site)


def test_a_worker_killed_inside_the_command_leaves_it_uncertain_and_within_its_time(
    site: Site,
) -> None:
    notify(site, needs_review={"run": f"{KEEP}; echo $$ >shell; sleep 600", "timeout": "2s"})
    site.project("010")
    site.script([good()])
    spawn(site, "010")
    worker = start_worker(site)
    pid = site.base / "home/shell"
    wait_until(lambda: pid.exists() and pid.read_text().strip(), "the command runs")
    worker.kill()
    others = [start_worker(site) for _ in range(2)]
    wait_until(lambda: listed(site) == [("needs_review", "010", "uncertain")], "it is told of")
    (row,) = site.sow("notify", "list", "--json").json_lines
    assert row["reason"] == f"worker {worker.name} died while the command ran"
    assert len(notifications(site)) == 1
    warned = [other for other in others if "may or may not have been notified" in other.log_text]
    assert len(warned) == 1
    wait_until(lambda: not exists(int(pid.read_text())), "its time was up all the same")


def test_several_workers_tell_each_event_once(site: Site) -> None:
    tasks = [f"{number:03}" for number in range(10, 130, 10)]
    notify(site, needs_review=KEEP)
    site.project(*tasks)
    site.script([good()])
    spawn(site, *tasks)
    workers = [start_worker(site, "--drain") for _ in range(3)]
    assert [worker.wait() for worker in workers] == [0, 0, 0]
    drain(site)
    assert sorted(str(each.task) for each in notifications(site)) == tasks
    assert sorted(listed(site)) == [("needs_review", task, "delivered") for task in tasks]


def test_a_batch_tells_of_an_item_that_needs_a_person_of_its_brake_and_of_its_end(
    site: Site,
) -> None:
    notify(site, needs_person=KEEP, brake=KEEP, batch_done=KEEP, paused=KEEP, failed=KEEP)
    site.project("010")
    accept_by_check(site)
    site.script([[report("paused")], [report("completed")]], "010")
    site.sow("batch", "run", "--detach")
    drain(site)
    assert [(each.event, each.task) for each in notifications(site)] == [("needs_person", "010")]
    assert notifications(site)[0].message == "repo: task 010 needs a person"
    site.sow("agent", "resume", "010", "Yes.", "--detach")
    drain(site)
    assert [each.event for each in notifications(site)] == ["needs_person", "batch_done"]
    assert notifications(site)[1].message == "repo: batch 1 is done"
    tasks = ("020", "030", "040", "050")
    site.add_tasks(*tasks, agent="implementer")
    for task in tasks:
        site.script([[{"not_logged_in": True}]], task)
    site.sow("batch", "run", "--max-parallel", "1", "--detach")
    drain(site)
    assert [(each.event, each.batch) for each in notifications(site)[2:]] == [("brake", 2)]
    site.sow("batch", "resume")
    site.sow("batch", "pause")
    drain(site)
    assert len(notifications(site)) == 3


def test_a_check_that_waits_for_a_word_is_told_once_and_when_it_truly_waits(site: Site) -> None:
    """Trying the command is no telling of it, and what is looked at again is not told again."""
    notify(site, needs_person=KEEP)
    site.project("010")
    (site.root / ".sow/config.yaml").write_text('checks: {unit: "true", default: [unit]}\n')
    site.script([good()])
    run = ("batch", "run", "--check", "--accept", "check")
    site.sow(*run, "--detach")
    worker = start_worker(site)
    wait_until(lambda: listed(site) == [("needs_person", "010", "delivered")], "it is told")
    record = site.sow("changes", "--json").json_lines
    (held,) = [each["seq"] for each in record if each["kind"] == "held"]
    (asks,) = [each["seq"] for each in record if each["data"].get("status") == "needs_person"]
    assert held < asks
    site.sow("notify", "test", "needs_person")
    assert [each.test for each in notifications(site)] == [False, True]
    for _ in range(3):
        site.sow("batch", "show")
        site.sow("batch", "resume")
    site.sow("trust", "--yes")
    assert site.sow("batch", "wait", "--json").json["counts"] == {"done": 1}
    worker.signal(signal.SIGTERM)
    worker.wait()
    assert listed(site) == [("needs_person", "010", "delivered")]


def test_a_command_that_fails_or_hangs_harms_nothing(site: Site) -> None:
    """Whatever it has started ends with it, and its last words are in the worker's log."""
    notify(
        site,
        needs_review="echo no such address >&2; exit 6",
        paused={"run": "(setsid sleep 600 & echo $! >left); sleep 600", "timeout": "500ms"},
    )
    site.project("010", "020")
    site.script([good()], task="010")
    site.script([[report("paused")]], task="020")
    spawn(site, "010", "020")
    worker = drain(site)
    assert sorted(listed(site)) == [
        ("needs_review", "010", "failed"),
        ("paused", "020", "timed_out"),
    ]
    assert "was not notified of (failed): exit code 6: no such address" in worker.log_text
    assert "it took longer than 500ms (its timeout)" in worker.log_text
    assert not exists(int((site.base / "home/left").read_text()))
    assert {site.task(task)["status"] for task in ("010", "020")} == {"needs_review", "paused"}
    nothing_is_taken(site)


def test_a_queue_file_that_is_begun_anew_tells_nothing_again(site: Site) -> None:
    notify(site, needs_review=KEEP)
    site.project("010", "020")
    site.script([good()])
    spawn(site, "010")
    drain(site)
    assert [each.task for each in notifications(site)] == ["010"]
    for path in (site.root / ".sow/run").glob("queue.db*"):
        path.unlink()
    spawn(site, "020")
    drain(site)
    drain(site)
    assert [each.task for each in notifications(site)] == ["010", "020"]


def test_what_came_before_the_first_notification_stays_untold(site: Site) -> None:
    site.configure({"worker": QUICK})
    site.project("010", "020")
    site.script([good()])
    spawn(site, "010")
    drain(site)
    notify(site, needs_review=KEEP)
    drain(site)
    spawn(site, "020")
    drain(site)
    assert [each.task for each in notifications(site)] == ["020"]


def test_the_command_is_the_users_and_knows_nothing_of_jobs(site: Site) -> None:
    """It sees the user's variables, works in the home folder, and is no agent to sow."""
    line = 'env >environment; pwd >place; sow -h >/dev/null && echo "$SOW_MESSAGE" >message'
    notify(site, needs_review=line)
    site.project("010")
    site.script([good()])
    spawn(site, "010")
    worker = start_worker(site, "--drain", SOW_JOB_ID="7", CLAUDECODE="1", MINE="kept")
    worker.wait()
    home = site.base / "home"
    names = {line.partition("=")[0] for line in (home / "environment").read_text().splitlines()}
    assert {"MINE", "SOW_EVENT", "SOW_MESSAGE", "PATH"} <= names
    assert not names & {"SOW_JOB_ID", "SOW_TASK_ID", "SOW_ROOT", "CLAUDECODE"}
    assert (home / "place").read_text().strip() == os.path.realpath(home)
    assert (home / "message").read_text() == "repo: task 010 waits for a review (job 1)\n"


def test_trying_a_command(site: Site) -> None:
    notify(site, paused=KEEP, brake="echo out of order; exit 4")
    site.project()
    tried = site.sow("notify", "test", "paused", "--json").json
    hold("notify test", [tried])
    assert (tried["event"], tried["state"], tried["exit_code"]) == ("paused", "delivered", 0)
    (example,) = notifications(site)
    assert example.test
    assert example.message.endswith("(a test)")
    both = site.sow("notify", "test", expect=1)
    assert "brake: failed after" in both.out
    assert "exit code 4\n  out of order\n" in both.out
    assert "notify.budget is not set" in site.sow("notify", "test", "budget", expect=3).err
    assert "No notifications yet" in site.sow("notify", "list").err
