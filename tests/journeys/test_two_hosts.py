"""Two checkouts that share a queue on a server: two hosts, as far as the queue can tell."""

import os
import shutil
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import postgres
import psutil
import pytest
from journeys.callers import await_runs, good
from journeys.site import Site, wait_until
from journeys.staff import QUICK, WorkerRun, start_worker
from standins import read_runs

from sow.jobs.database import open_queue
from sow.jobs.server_deadlines import LEASE_SECONDS, seconds_left
from sow.paths import Workspace

SPAWN = ("agent", "spawn", "implementer")
LEASE = 6.0


@dataclass
class Hosts:
    """The owner's checkout, and another one of the same repository."""

    owner: Site
    other: Site
    database: Any
    """The queue, as the owner's checkout has it."""


@pytest.fixture
def hosts(site: Site, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hosts]:
    with postgres.running(*postgres.UNSAFE) as server:
        site.configure({"queue": {"url": server.url}, "worker": QUICK})
        monkeypatch.setenv("SOW_CONFIG", str(site.config_file))
        monkeypatch.setenv("HOME", site.env["HOME"])
        site.project("010", "020")
        site.script([good({"wait_for": ".standin/{task}.go"})])
        site.sow("hosts", "init")
        other = Site(site.base / "other", site.env)
        shutil.copytree(site.root, other.root, ignore=shutil.ignore_patterns("run"))
        with closing(open_queue(Workspace(site.root))) as database:
            database.note(LEASE_SECONDS, LEASE)
            yield Hosts(site, other, database)
            other.close()
            site.close()


def kill_host(site: Site, worker: WorkerRun) -> None:
    """Kill a worker with all that it has started, as a machine that loses its power does."""
    below = psutil.Process(worker.pid).children(recursive=True)
    for process in (psutil.Process(worker.pid), *below):
        process.kill()
    site._end_agents()
    worker.process.wait()


def test_a_host_that_dies_is_followed_by_another_after_its_deadline_once(hosts: Hosts) -> None:
    owner, other, database = hosts.owner, hosts.other, hosts.database
    owner.sow(*SPAWN, "010", "--detach", expect=None)
    lost = start_worker(other)
    await_runs(other, 1)
    kill_host(other, lost)
    next_one = start_worker(owner)
    (left,) = seconds_left(database).values()
    assert 0 < left <= LEASE
    deadline = database.value("select deadline from lease")
    next_one.wait_for("was not heard for too long; took over 1 jobs")
    await_runs(owner, 1)
    (owner.root / ".standin/010.go").touch()
    assert owner.sow("agent", "wait", "010").out.startswith("010 needs_review")
    attempts = owner.job(1)["attempts"]
    assert [attempt["cause"] for attempt in attempts] == ["worker_died", "reported"]
    assert attempts[1]["worker"] == next_one.name
    began = database.value("select started_at from attempt where number = 2")
    assert began > deadline
    assert (len(read_runs(owner.root)), len(read_runs(other.root))) == (1, 1)
    assert Path(other.root / ".sow/run/jobs/1/1").is_dir(), "what it left is its own"
    assert not Path(owner.root / ".sow/run/jobs/1/1").exists()


def test_two_hosts_work_side_by_side_and_each_stops_its_own(hosts: Hosts) -> None:
    """Neither takes the other for dead, whose lock it does not see."""
    owner, other = hosts.owner, hosts.other
    hosts.database.note(LEASE_SECONDS, 120)
    owner.sow(*SPAWN, "010", "--detach", expect=None)
    there = start_worker(other, "--concurrency", "1")
    await_runs(other, 1)
    here = start_worker(owner, "--concurrency", "1")
    waiting = owner.start(*SPAWN, "020")
    await_runs(owner, 1)
    listed = {worker["worker"]: worker for worker in owner.workers()}
    assert {name: worker["life"] for name, worker in listed.items()} == {
        there.name: "alive",
        here.name: "alive",
    }
    assert [worker["jobs"] for worker in listed.values()] == [[1], [2]]
    refused = owner.sow("worker", "stop", there.name, expect=6)
    assert "cannot be signalled from here" in refused.err
    for site, task in ((other, "010"), (owner, "020")):
        (site.root / f".standin/{task}.go").touch()
    out, errors = waiting.communicate(timeout=300)
    assert out.startswith("020 needs_review"), errors
    wait_until(lambda: owner.job(1)["state"] == "done", "the other host's job ends")
    assert owner.sow("worker", "stop").out == f"stopped {here.name}\n"
    assert [worker["worker"] for worker in owner.workers()] == [there.name]
    assert there.process.poll() is None
    assert other.sow("worker", "stop").out == f"stopped {there.name}\n"


def test_a_job_waits_for_a_host_with_its_labels_and_says_so(hosts: Hosts) -> None:
    owner, other = hosts.owner, hosts.other
    hosts.database.note(LEASE_SECONDS, 120)
    for site in (owner, other):
        site.sow("task", "set", "010", "requires", "gpu, linux")
    here = start_worker(owner)
    owner.sow(*SPAWN, "010", "--detach")
    lacks = "no host that is heard has the label gpu"
    (listed,) = owner.sow("job", "list", "--json").json_lines
    assert (listed["state"], listed["standing"]) == ("queued", f"waits for a host: {lacks}")
    assert f"it waits for a host: {lacks}" in owner.sow("job", "explain", "1").out
    assert f"sow hosts list  # {lacks}: job 1" in owner.sow("next").out
    assert lacks in owner.sow("status").out
    text = f"{lacks[:1].upper()}{lacks[1:]}: job 1"
    assert text in owner.sow("doctor", expect=None).out
    settings = {"queue": {"url": hosts.database._url, "labels": ["gpu"]}, "worker": QUICK}
    owner.configure(settings)
    there = start_worker(other)
    await_runs(other, 1)
    shown = owner.job(1)
    node = os.uname().nodename
    assert shown["host"] == f"{node}:{other.root}"
    assert shown["standing"] == f"runs on {node}"
    story = owner.sow("job", "explain", "1").out
    assert f"Host: {node}:{other.root} (role sow), last heard at" in story
    lines = {line["id"]: line for line in owner.sow("hosts", "list", "--json").json_lines}
    assert len(lines) == 2
    its = lines[there.name.rpartition("@")[2]]
    assert (its["job_count"], "gpu" in its["labels"]) == (1, True)
    assert {"linux", f"host:{node.lower()}", "executor:claude-code"} <= set(its["labels"])
    assert "gpu" not in lines[here.name.rpartition("@")[2]]["labels"]
    (other.root / ".standin/010.go").touch()
    wait_until(lambda: owner.job(1)["state"] == "done", "the other host's job ends")
    for site in (owner, other):
        site.sow("worker", "stop")


def test_a_call_waits_for_a_worker_of_another_host_and_says_for_which(hosts: Hosts) -> None:
    """Here none runs, and none is started: `worker.autostart` is off."""
    owner, other = hosts.owner, hosts.other
    hosts.database.note(LEASE_SECONDS, 120)
    for site in (owner, other):
        site.sow("task", "set", "010", "requires", "gpu")
    alone = owner.sow(*SPAWN, "020", "--detach")
    assert "no worker of any host is heard, and this call starts none" in alone.err
    nobody = owner.sow(*SPAWN, "010", "--wait", "1s", expect=75)
    assert "Note: job 2 waits for a host: no host is heard" in nobody.err
    owner.sow("agent", "cancel", "020")
    there = start_worker(other)
    unfit = owner.sow("agent", "wait", "010", "--wait", "1s", expect=75)
    assert "job 2 waits for a host: no host that is heard has the label gpu" in unfit.err
    settings = {"queue": {"url": hosts.database._url, "labels": ["gpu"]}, "worker": QUICK}
    owner.configure(settings)
    other.sow("worker", "stop")
    assert there.wait() == 0
    waiting = owner.start("agent", "wait", "010")
    start_worker(other)
    await_runs(other, 1)
    (other.root / ".standin/010.go").touch()
    out, errors = waiting.communicate(timeout=300)
    assert out.startswith("010 "), errors
    assert owner.job(2)["state"] == "done"
