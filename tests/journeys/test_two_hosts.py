"""Two checkouts that share a queue on a server: two hosts, as far as the queue can tell."""

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import chdir, suppress
from pathlib import Path
from unittest.mock import patch

import postgres
import psutil
import pytest
from journeys.callers import good
from journeys.gitsite import git
from journeys.site import Site, wait_until
from journeys.staff import WorkerRun, shell_executor, start_worker
from journeys.two_checkouts import Pair, pair_at
from textual.pilot import Pilot
from watching.driving import drive, shows

from sow.cli.arguments import this_caller
from sow.watching.app import WatchApp

SPAWN = ("agent", "spawn", "implementer")
LEASE = 6.0


@pytest.fixture
def hosts(tmp_path: Path, postgres_server: postgres.Server) -> Iterator[Pair]:
    with pair_at(tmp_path, postgres_server) as made:
        made.begin("010", "020", script=[good(made.gate("{task}"))])
        yield made


def lease_of(hosts: Pair, seconds: float) -> None:
    """Say how long a lease is."""
    hosts.ask("update control set value = %s where name = 'lease seconds'", str(seconds))


def kill_host(hosts: Pair, site: Site, worker: WorkerRun) -> None:
    """Kill a worker with all that it has started, as a machine that loses its power does."""
    below = psutil.Process(worker.pid).children(recursive=True)
    for process in (psutil.Process(worker.pid), *below):
        with suppress(psutil.NoSuchProcess):  # it has ended with one before it
            process.kill()
    hosts.end_agents(site)
    worker.process.wait()


def test_a_host_that_dies_is_followed_by_another_after_its_deadline_once(hosts: Pair) -> None:
    owner, other = hosts.owner, hosts.host
    lease_of(hosts, LEASE)
    owner.sow(*SPAWN, "010", "--detach", expect=None)
    lost = start_worker(other)
    hosts.await_runs(other, 1)
    kill_host(hosts, other, lost)
    next_one = start_worker(owner)
    ((deadline, left),) = hosts.ask("select deadline, deadline - clock() from lease")
    assert 0 < left <= LEASE
    next_one.wait_for("was not heard for too long; took over 1 jobs")
    hosts.await_runs(owner, 1)
    hosts.open_gate("010")
    assert owner.sow("agent", "wait", "010").out.startswith("010 needs_review")
    attempts = owner.job(1)["attempts"]
    assert [attempt["cause"] for attempt in attempts] == ["worker_died", "reported"]
    assert attempts[1]["worker"] == next_one.name
    ((began,),) = hosts.ask("select started_at from attempt where number = 2")
    assert began > deadline
    assert (len(hosts.runs(owner)), len(hosts.runs(other))) == (1, 1)
    assert [Path(attempt["host"].partition(":")[2]) for attempt in attempts] == [
        other.root,
        owner.root,
    ]
    assert attempts[0]["folder"] is None, "its files are not here"
    assert Path(attempts[1]["folder"]).is_dir()
    shown = owner.sow("job", "show", "1").out
    assert f"on {attempts[0]['host']}\n" in shown
    story = owner.sow("job", "explain", "1").out
    node = os.uname().nodename
    assert f"Attempt 1 started the agent on {node} at" in story
    assert f"Attempt 2 started the agent on {node} at" in story
    assert owner.job(1)["host"] == attempts[1]["host"]
    report = owner.sow("report", "--json").json
    ran_on = [attempt["host"] for attempt in attempts]
    assert [run["host"] for run in report["runs"]] == ran_on
    (story_of_task,) = [task for task in report["tasks"] if task["task"] == "010"]
    assert story_of_task["hosts"] == ran_on
    assert report["totals"]["attempts_by_host"] == dict.fromkeys(ran_on, 1)
    assert f"ran on {', '.join(ran_on)}"[:60] in owner.sow("report").out
    assert not Path(owner.root / ".sow/run/jobs/1/1").exists(), "what it left is its own"


IN_PARTS = """
echo part >>made.txt
case $(wc -l <made.txt) in
1) sow task set status needs_review && exec sleep 600 ;;
2) exit 1 ;;
*) sow task set status needs_review ;;
esac
"""


def ended_attempts(pair: Pair) -> list[str]:
    """Return why the attempts of the first job have ended."""
    return [attempt["cause"] for attempt in pair.job(1)["attempts"] if attempt["cause"]]


def test_a_report_that_was_lost_with_its_host_is_not_that_of_the_next_attempt(
    tmp_path: Path, postgres_server: postgres.Server
) -> None:
    """Its work is there, in the same folder; that attempt died before it had told anything."""
    with pair_at(tmp_path, postgres_server) as pair:
        executors = {"parts": shell_executor(pair.owner, "parts", IN_PARTS, retries=3)}
        agents = {"executors": executors, "bindings": {"implementer": "parts"}}
        pair.begin("010", agents=agents)
        lease_of(pair, LEASE)
        lost = start_worker(pair.host)
        pair.owner.sow(*SPAWN, "010", "--detach", expect=None)
        guests = pair.host.base / "home/.local/state/sow/guests"

        def has_reported() -> bool:
            states = guests.glob("*/*/*/.sow/project/phases/*/tasks/010/state.yaml")
            return any("status: needs_review" in each.read_text() for each in states)

        wait_until(has_reported, "its first attempt has reported")
        kill_host(pair, pair.host, lost)
        others = {"executors": {"other": executors["parts"]}, "bindings": {"implementer": "other"}}
        third = pair.add_host("third", agents=others, executors=["other"])
        next_one = start_worker(third)
        next_one.wait_for("queued again: its host was not heard for too long")
        next_one.kill()
        start_worker(pair.host)
        wait_until(lambda: len(ended_attempts(pair)) >= 2, "its second attempt has ended")
        pair.ask("update job set retry_at = 1")
        assert pair.owner.sow("agent", "wait", "010").out.startswith("010 needs_review")
        assert ended_attempts(pair) == ["worker_died", "crashed", "reported"]
        made = git(pair.owner, "show", f"{pair.branch_of('010')}:made.txt")
        assert made == "part\npart\npart\n"


def test_two_hosts_work_side_by_side_and_each_stops_its_own(hosts: Pair) -> None:
    """Neither takes the other for dead, whose lock it does not see."""
    owner, other = hosts.owner, hosts.host
    owner.sow(*SPAWN, "010", "--detach", expect=None)
    there = start_worker(other, "--concurrency", "1")
    hosts.await_runs(other, 1)
    here = start_worker(owner, "--concurrency", "1")
    waiting = owner.start(*SPAWN, "020")
    hosts.await_runs(owner, 1)
    listed = {worker["worker"]: worker for worker in owner.workers()}
    assert {name: worker["life"] for name, worker in listed.items()} == {
        there.name: "alive",
        here.name: "alive",
    }
    assert [worker["jobs"] for worker in listed.values()] == [[1], [2]]
    refused = owner.sow("worker", "stop", there.name, expect=6)
    assert "cannot be signalled from here" in refused.err
    for task in ("010", "020"):
        hosts.open_gate(task)
    out, errors = waiting.communicate(timeout=300)
    assert out.startswith("020 needs_review"), errors
    wait_until(lambda: owner.job(1)["state"] == "done", "the other host's job ends")
    wait_until(lambda: owner.task("010")["status"] == "needs_review", "it comes home")
    assert owner.sow("worker", "stop").out == f"stopped {here.name}\n"
    assert [worker["worker"] for worker in owner.workers()] == [there.name]
    assert there.process.poll() is None
    assert other.sow("worker", "stop").out == f"stopped {there.name}\n"


def test_a_job_waits_for_a_host_with_its_labels_and_says_so(hosts: Pair) -> None:
    owner, other = hosts.owner, hosts.host
    assert "sow agent spawn 010 020 " in owner.sow("next").out, "side by side, each in a clone"
    owner.sow("task", "set", "010", "requires", "gpu, linux")
    here = start_worker(owner)
    owner.sow(*SPAWN, "010", "--detach")
    lacks = "no host that is heard has the label gpu"
    (listed,) = owner.sow("job", "list", "--json").json_lines
    assert (listed["state"], listed["standing"]) == ("queued", f"waits for a host: {lacks}")
    assert f"it waits for a host: {lacks}" in owner.sow("job", "explain", "1").out
    step = f"# a person has to, in a terminal: sow hosts list  # {lacks}: job 1"
    assert step in owner.sow("next").out
    assert lacks in owner.sow("status").out
    text = f"{lacks[:1].upper()}{lacks[1:]}: job 1"
    assert text in owner.sow("doctor", expect=None).out
    hosts.configure(other, "sow", labels=["gpu"])
    there = start_worker(other)
    hosts.await_runs(other, 1)
    shown = owner.job(1)
    node = os.uname().nodename
    assert shown["host"] == f"{node}:{other.root}"
    assert shown["standing"] == f"runs on {node}"
    story = owner.sow("job", "explain", "1").out
    assert f"Host: {node}:{other.root} (role sow), last heard at" in story
    output = owner.sow("job", "logs", "1")
    where = f"{node}:{other.root}"
    assert output.err == f"Note: attempt 1 of job 1 is on {where}, and so is its output\n"
    assert output.out == ""
    lines = {line["id"]: line for line in owner.sow("hosts", "list", "--json").json_lines}
    assert len(lines) == 2
    its = lines[there.name.rpartition("@")[2]]
    assert (its["job_count"], "gpu" in its["labels"]) == (1, True)
    assert {"linux", f"host:{node.lower()}", "executor:claude-code"} <= set(its["labels"])
    assert "gpu" not in lines[here.name.rpartition("@")[2]]["labels"]
    hosts.open_gate("010")
    wait_until(lambda: owner.job(1)["state"] == "done", "the other host's job ends")


def test_a_call_waits_for_a_worker_of_another_host_and_says_for_which(hosts: Pair) -> None:
    """Here none runs, and none is started: `worker.autostart` is off."""
    owner, other = hosts.owner, hosts.host
    owner.sow("task", "set", "010", "requires", "gpu")
    alone = owner.sow(*SPAWN, "020", "--detach")
    assert "no worker of any host is heard, and this call starts none" in alone.err
    nobody = owner.sow(*SPAWN, "010", "--wait", "1s", expect=75)
    assert "Note: job 2 waits for a host: no host is heard" in nobody.err
    owner.sow("agent", "cancel", "020")
    there = start_worker(other)
    unfit = owner.sow("agent", "wait", "010", "--wait", "1s", expect=75)
    assert "job 2 waits for a host: no host that is heard has the label gpu" in unfit.err
    hosts.configure(other, "sow", labels=["gpu"])
    other.sow("worker", "stop")
    assert there.wait() == 0
    waiting = owner.start("agent", "wait", "010")
    start_worker(other)
    hosts.await_runs(other, 1)
    hosts.open_gate("010")
    out, errors = waiting.communicate(timeout=300)
    assert out.startswith("010 needs_review"), errors
    assert owner.job(2)["state"] == "done"


@pytest.mark.parametrize(
    ("executor", "program"), [("claude-code", "claude"), ("cursor", "cursor-agent")]
)
def test_a_job_whose_cli_another_host_alone_has_runs_there(
    hosts: Pair, executor: str, program: str
) -> None:
    """Claude Code takes the id of its session from sow; Cursor makes one, where it is."""
    owner, other = hosts.owner, hosts.host
    allowed = {"executors": {"cursor": {"type": "cursor", "settings": {"yolo_mode": True}}}}
    for site in (owner, other):
        hosts.configure(site, "sow", agents=allowed)
    (owner.base / "bin" / program).unlink()
    owner.env |= {"SOW_AGENTS_IMPLEMENTER": executor, "SOW_AGENTS_REVIEWER": executor}
    start_worker(owner)
    missing = f"executor binary not found: {program}"
    assert missing in owner.sow(*SPAWN, "010", "--detach", expect=5).err
    start_worker(other)
    assert missing in owner.sow(*SPAWN, "010", "--detach", "--no-clone", expect=5).err
    owner.sow(*SPAWN, "010", "--detach")
    hosts.await_runs(other, 1)
    hosts.open_gate("010")
    assert owner.sow("agent", "wait", "010").out.startswith("010 needs_review")
    assert owner.sow("task", "show", "010", "--json").json["session_id"]
    owner.sow("agent", "review", "010", "--detach")
    hosts.await_runs(other, 2)
    assert hosts.runs(owner) == []
    wait_until(lambda: owner.job(2)["state"] in ("done", "failed"), "the review ends")


def test_a_batch_needs_a_worker_of_its_own_host_and_role(hosts: Pair) -> None:
    """A role that may only queue has none; one that may also run jobs drives its batches."""
    owner = hosts.owner
    role = f"queues_{os.urandom(4).hex()}"
    with hosts.connected() as connection:
        connection.execute(f"create role {role} login")
    hosts.roles.append(role)
    owner.sow("hosts", "init", "--caller", role)
    hosts.configure(owner, role)
    refused = owner.sow("batch", "run", "010", "--detach")
    assert f"drives the batch, and the role {role} may not run jobs" in refused.err
    hosts.configure(owner, "sow")
    owner.sow("hosts", "init", "--host", role)
    hosts.configure(owner, role)
    drives = start_worker(owner)
    hosts.await_runs(owner, 1)
    hosts.open_gate("010")
    wait_until(lambda: owner.job(1)["state"] == "done", "the batch's job ends")

    def item() -> str:
        shown = owner.sow("batch", "show", "1", "--json", expect=None).json
        return str(shown["items"][0]["state"])

    wait_until(lambda: item() != "running", f"the batch goes on: {drives.log_text}", seconds=60)
    log = drives.log_text.lower()
    assert "policy" not in log, log
    assert "permission denied" not in log, log
    owner.sow("worker", "stop")


def follow(site: Site, *words: str) -> None:
    """Follow the first row of the live view of a site, until these words are on the screen."""

    async def steps(_: WatchApp, pilot: Pilot[None]) -> None:
        await pilot.press("enter")
        await shows(pilot, *words)

    with patch.dict(os.environ, site.environment(), clear=True), chdir(site.root):
        drive(this_caller(), steps)


def test_people_see_where_a_batch_runs_and_which_host_is_silent(hosts: Pair) -> None:
    owner, other = hosts.owner, hosts.host
    lease_of(hosts, LEASE)
    hosts.configure(other, "sow", labels=["gpu"])
    owner.sow("task", "set", "020", "requires", "gpu")
    lost = start_worker(other, "--concurrency", "1")
    drives = owner.base / "drives.yaml"
    drives.write_text(json.dumps({"queue": {"url": hosts.url, "executors": []}}))
    start_worker(owner, "--config", str(drives))
    owner.sow("batch", "run", "010", "020", "--detach")
    hosts.await_runs(other, 1)
    wait_until(lambda: len(hosts.ask("select 1 from job where state <> 'preparing'")) == 2, "two")
    where = f"{os.uname().nodename}:{other.root}"
    shown = owner.sow("batch", "show", "--json", expect=None).json
    assert {item["task"]: item["host"] for item in shown["items"]} == {"010": where, "020": None}
    assert (shown["unserved"], shown["silent_hosts"]) == ({}, [])
    assert owner.sow("status", "--json").json["runs"][0]["host"] == where
    watched = owner.sow("watch", "--json").json
    assert (watched["live_hosts"], watched["silent_hosts"]) == (2, [])
    rows = {row["task"]: row for group in watched["groups"] for row in group["rows"]}
    assert {task: row["host"] for task, row in rows.items()} == {"010": where, "020": None}
    assert rows["010"]["now"] == f"runs on {os.uname().nodename}"
    follow(owner, f"{os.uname().nodename}:", "2 workers on 2 hosts", "Its output is on")
    owner.sow("worker", "stop")
    kill_host(hosts, other, lost)

    def silent() -> list[dict[str, object]]:
        return list(owner.sow("status", "--json").json["silent_hosts"])

    wait_until(silent, "its silence is seen")
    (found,) = silent()
    assert (found["host"], found["job_count"]) == (where, 1)
    words = f"{where} is not heard since"
    status = owner.sow("status").out
    assert f"Silent hosts\n  {words}" in status
    assert "and has 1 job" in status
    shown = owner.sow("batch", "show", "--json", expect=None).json
    lacks = f"no host is heard; not heard: {os.uname().nodename}"
    assert shown["unserved"] == {lacks: ["020"]}
    assert [each["host"] for each in shown["silent_hosts"]] == [where]
    text = owner.sow("batch", "show", expect=None).out
    assert text.splitlines()[1].split()[-1] == "HOST"
    assert f"020 waits for a host: {lacks}" in text
    assert words in text
    watched = owner.sow("watch", "--json").json
    assert (watched["live_hosts"], watched["silent_hosts"]) == (0, shown["silent_hosts"])


def test_the_state_of_tasks_and_batches_is_followed_where_the_project_is(hosts: Pair) -> None:
    """The other host has the same tasks in files of its own, which say something else."""
    owner, other = hosts.owner, hosts.host
    shutil.copytree(owner.root / ".sow/project", other.root / ".sow/project")
    there = start_worker(other)
    drives = owner.base / "drives.yaml"
    drives.write_text(json.dumps({"queue": {"url": hosts.url, "executors": []}}))
    here = start_worker(owner, "--config", str(drives))
    owner.sow("batch", "run", "010", "--detach")
    hosts.await_runs(other, 1)
    other.sow("task", "set", "020", "status", "abandoned")
    hosts.open_gate("010")
    wait_until(lambda: owner.job(1)["state"] == "done", "the other host's job ends")
    assert hosts.ask("select host_id from batch") == [(here.name.rpartition("@")[2],)]
    for site in (other, owner):
        site.sow("changes", "--json")
    statuses = hosts.ask("select data from change where kind = 'status' and task = '020'")
    assert [data for (data,) in statuses if "abandoned" in data] == []
    log = owner.task_folder("010") / "log.md"
    wait_until(lambda: "Job 1 done" in log.read_text(), "the job's end is told where its task is")
    assert there.process.poll() is None
    for site in (owner, other):
        site.sow("worker", "stop")


def test_a_worker_whose_queue_comes_to_be_shared_leaves_and_is_a_host_when_it_is_back(
    hosts: Pair,
) -> None:
    owner = hosts.owner
    hosts.ask("delete from control where name = 'lease seconds'")
    before = start_worker(owner)
    owner.sow(*SPAWN, "010", "--detach")
    hosts.await_runs(owner, 1)
    owner.sow("hosts", "init")
    before.wait_for("the queue is shared by several hosts now")
    assert before.wait() == 6
    after = start_worker(owner)
    after.wait_for("adopted")
    (host,) = [
        line for line in owner.sow("hosts", "list", "--json").json_lines if line["worker_count"]
    ]
    assert (host["id"], host["job_count"]) == (after.name.rpartition("@")[2], 1)
    hosts.open_gate("010")
    assert owner.sow("agent", "wait", "010").out.startswith("010 needs_review")
    assert len(owner.job(1)["attempts"]) == 1
