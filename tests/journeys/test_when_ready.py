"""Jobs that are held until their tasks' dependencies are met: the true worker, and kills."""

import json
import signal
from contextlib import closing
from dataclasses import asdict
from typing import Any

import pytest
from journeys.callers import await_end, await_state, job_of, queue, statuses
from journeys.site import Site
from journeys.staff import (
    QUICK,
    drain,
    launch_worker,
    nothing_is_taken,
    shell_executor,
    start_worker,
)
from journeys.storm_staff import PROGRAM
from journeys.storm_worker import Fate

from sow.paths import Workspace
from sow.schema.job import HeldFor, JobState
from sow.schema.task import TaskStatus
from sow.state.tasks import change_task, set_dependencies

COMPLETES = """
    echo "$SOW_TASK_ID" >>"$SOW_ROOT/order"
    sed -i 's/status: in_progress/status: completed/' "$1/state.yaml"
"""
REPORTS = """
    echo "$SOW_TASK_ID" >>"$SOW_ROOT/order"
    sed -i 's/status: in_progress/status: needs_review/' "$1/state.yaml"
"""
NOW = 1_769_860_800.0


def begin(site: Site, script: str, waits: dict[str, list[str]], **worker: Any) -> None:
    """Make tasks that wait for each other, whose agents do this."""
    executors = {"brief": shell_executor(site, "brief", script)}
    bindings = {"implementer": "brief"}
    agents = {"executors": executors, "bindings": bindings}
    site.configure({"worker": {**QUICK, **worker}, "agents": agents})
    site.project(*waits)
    for task, others in waits.items():
        set_dependencies(Workspace(site.root), task, others, now=NOW)


def order(site: Site) -> list[str]:
    path = site.root / "order"
    return path.read_text().split() if path.exists() else []


def complete(site: Site, task: str) -> None:
    """Complete a task and die before anything else is done: no job is released by it."""
    changes = {"status": TaskStatus.COMPLETED}
    change_task(Workspace(site.root), task, lambda _: changes, now=NOW)


DIAMOND = {"010": [], "020": ["010"], "030": ["010"], "040": ["020", "030"]}


def test_a_diamond_runs_in_order_though_nobody_waits(site: Site) -> None:
    begin(site, COMPLETES, DIAMOND, autostart=True, idle_exit="20s")
    site.sow("agent", "spawn", "040", "030", "020", "010", "--when-ready", "--detach")
    for task in DIAMOND:
        assert await_end(site, task).state is JobState.DONE
    assert statuses(site, list(DIAMOND)) == ["completed"] * 4
    assert (order(site)[0], order(site)[-1], len(order(site))) == ("010", "040", 4)


def test_one_call_waits_for_all_of_them_and_says_what_each_waits_for(site: Site) -> None:
    begin(site, COMPLETES, DIAMOND, autostart=True, idle_exit="20s")
    done = site.sow("agent", "spawn", *DIAMOND, "--when-ready", "--json")
    assert {each["status"] for each in done.json_lines} == {"completed"}
    assert "is held: it waits for task" in done.err


def test_the_command_that_completes_the_last_dependency_lets_it_go_on(site: Site) -> None:
    """No worker lives by then, and nobody waits: the command starts one."""
    begin(site, REPORTS, {"010": [], "020": ["010"]}, autostart=True)
    site.sow("agent", "spawn", "020", "--when-ready", "--detach")
    assert job_of(site, "020").state is JobState.HELD
    site.sow("agent", "spawn", "010")
    assert job_of(site, "020").state is JobState.HELD
    site.sow("worker", "stop")
    done = site.sow("task", "set", "010", "status", "completed")
    assert "task 020 no longer waits: job 1" in done.err
    assert await_end(site, "020").state is JobState.DONE


def test_a_verdict_that_completes_lets_it_go_on(site: Site) -> None:
    begin(site, REPORTS, {"010": [], "020": ["010"]}, autostart=True)
    site.sow("agent", "spawn", "020", "--when-ready", "--detach")
    site.sow("agent", "spawn", "010")
    site.sow("review", "accept", "010", "--summary", "Good.", "--complete")
    assert await_end(site, "020").state is JobState.DONE


def test_a_living_worker_sees_what_a_killed_command_has_completed(site: Site) -> None:
    begin(site, REPORTS, {"010": [], "020": ["010"]}, idle_exit="60s")
    start_worker(site)
    site.sow("agent", "spawn", "020", "--when-ready", "--detach")
    complete(site, "010")
    assert await_end(site, "020").state is JobState.DONE


def test_the_next_worker_sees_it_too(site: Site) -> None:
    begin(site, REPORTS, {"010": [], "020": ["010"]})
    site.sow("agent", "spawn", "020", "--when-ready", "--detach")
    drain(site)
    assert job_of(site, "020").state is JobState.HELD
    complete(site, "010")
    drain(site)
    assert (job_of(site, "020").state, order(site)) == (JobState.DONE, ["020"])
    nothing_is_taken(site)


@pytest.mark.one_of
@pytest.mark.parametrize("point", ["before release", "after release"])
def test_a_worker_that_dies_as_it_releases_a_job_leaves_it_to_the_next(
    site: Site, point: str
) -> None:
    begin(site, REPORTS, {"010": [], "020": ["010"]})
    site.sow("agent", "spawn", "020", "--when-ready", "--detach")
    complete(site, "010")
    fate = Fate(str(site.base / "fates"), {point: "killed"})
    run = launch_worker(site, json.dumps(asdict(fate)), program=PROGRAM)
    assert run.wait() == -signal.SIGKILL, run.log_text
    drain(site)
    assert (job_of(site, "020").state, order(site)) == (JobState.DONE, ["020"])
    nothing_is_taken(site)


def test_a_dependency_in_vain_is_told_and_each_command_frees_the_job(site: Site) -> None:
    begin(site, REPORTS, {"010": [], "020": ["010"], "030": ["010"]}, autostart=True)
    site.sow("agent", "spawn", "020", "030", "--when-ready", "--detach")
    site.sow("task", "abandon", "010")
    (job,) = site.sow("job", "list", "--task", "020", "--json").json_lines
    assert job["state"] == "held"
    assert "task 010 needs your help first: `sow task reopen 010`" in job["reason"]
    assert "it waits for task 010 (abandoned)" in site.sow("job", "explain", "1").out
    waited = site.sow("agent", "wait", "020", "--wait", "1s", expect=75)
    assert "`sow agent spawn 020 --ignore-deps`" in waited.err
    assert "020" in site.sow("task", "list", "--blocked").out
    site.sow("agent", "spawn", "020", "--ignore-deps")
    assert order(site) == ["020"]
    done = site.sow("task", "set", "030", "depends_on", "")
    assert "task 030 no longer waits" in done.err
    assert await_end(site, "030").state is JobState.DONE


def test_what_is_to_be_done_next_is_what_a_held_job_waits_for(site: Site) -> None:
    begin(site, COMPLETES, {"010": [], "020": ["010"]})
    site.sow("agent", "spawn", "020", "--when-ready", "--detach")
    first, *rest = site.sow("next").out.splitlines()
    assert first == "sow agent spawn 010 --wait 100s  # ready: 010"
    assert rest == []


def test_a_spawn_that_could_never_begin_is_refused_by_name(site: Site) -> None:
    begin(site, REPORTS, {"010": [], "020": ["010"]})
    state = site.task_folder("010") / "state.yaml"
    state.write_text(state.read_text().replace("depends_on: []", 'depends_on: ["020"]'))
    refused = site.sow("agent", "spawn", "020", "--when-ready", expect=4)
    assert "it waits for itself: 020 → 010 → 020" in refused.err
    assert site.task("020")["status"] == "pending"


def test_a_held_job_is_cancelled_at_once_and_made_again_as_it_was(site: Site) -> None:
    begin(site, REPORTS, {"010": [], "020": ["010"]})
    site.sow("agent", "spawn", "020", "--when-ready", "--prompt", "Mind it.", "--detach")
    site.sow("agent", "cancel", "020")
    assert site.task("020")["status"] == "pending"
    site.sow("job", "retry", "1", "--detach")
    job = await_state(site, "020", JobState.HELD)
    assert (job.id, job.prompt, job.held_for) == (2, "Mind it.", HeldFor.DEPENDENCIES)
    refused = site.sow("job", "retry", "1", expect=4)
    assert "task 020 has changed since: it has a newer job 2 (spawn, held)" in refused.err


def test_a_job_that_failed_is_made_again_once_its_fault_is_mended(site: Site) -> None:
    begin(site, 'test -e "$SOW_ROOT/mended" || exit 3\n' + REPORTS, {"010": []}, autostart=True)
    site.sow("agent", "spawn", "010", expect=1)
    (site.root / "mended").touch()
    assert site.sow("job", "retry", "1", "--json").json["status"] == "needs_review"
    with closing(queue(site)) as database:
        assert [row["id"] for row in database.rows("select id from job")] == [1, 2]


def test_the_higher_priority_begins_first(site: Site) -> None:
    begin(site, REPORTS, {"010": [], "020": [], "030": []}, concurrency=1)
    site.sow("agent", "spawn", "010", "--detach")
    site.sow("agent", "spawn", "020", "--priority", "5", "--detach")
    site.sow("task", "set", "030", "priority", "7")
    site.sow("agent", "spawn", "030", "--detach")
    drain(site)
    assert order(site) == ["030", "020", "010"]
