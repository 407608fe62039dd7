"""One host whose queue lies on a PostgreSQL server: the true commands and the true worker."""

import signal
import time
from contextlib import closing
from pathlib import Path

import postgres
import psutil
import pytest
from journeys.callers import await_runs, good
from journeys.site import Site, wait_until
from journeys.staff import await_supervisor, kill
from standins import Run, overlapping, read_runs

from sow.jobs.database import open_queue
from sow.jobs.queue_server import PATIENCE_SECONDS
from sow.jobs.server_deadlines import LEASE_SECONDS
from sow.paths import Workspace
from sow.processes import procfs

SPAWN = ("agent", "spawn", "implementer")
DRIVER = "psycopg_binary"
"""The folder of the libraries that `import psycopg` loads."""


@pytest.fixture
def on_server(site: Site, postgres_server: postgres.Server) -> Site:
    site.configure({"queue": {"url": postgres_server.url}})
    return site


def test_calls_and_their_worker_meet_there_and_leave_no_file(on_server: Site) -> None:
    site = on_server
    site.project("010", "020")
    begun = [{"wait_for": f".standin/{task}.begun"} for task in ("010", "020")]
    site.script([good({"touch": ".standin/{task}.begun"}, *begun)])
    result = site.sow(*SPAWN, "010", "020")
    assert sorted(line.split(" (")[0] for line in result.out.splitlines()) == [
        "010 needs_review",
        "020 needs_review",
    ]
    assert overlapping(read_runs(site.root))
    workspace = Workspace(site.root)
    assert not workspace.queue_db.exists()
    assert workspace.queue_name.exists()
    assert {job["state"] for job in site.sow("job", "list", "--json").json_lines} == {"done"}
    (worker,) = site.workers()
    assert DRIVER in libraries_of(worker["pid"])
    findings = site.sow("doctor", "--json", expect=None).json["findings"]
    of = {finding["check_name"]: finding for finding in findings}
    assert of["queue"]["level"] == "ok"
    assert "PostgreSQL" in of["queue"]["text"]
    assert "One checkout at a time" in of["checkouts"]["text"]


def libraries_of(pid: int) -> str:
    return Path(f"/proc/{pid}/maps").read_text()


def test_without_a_server_no_process_imports_its_driver(site: Site) -> None:
    """huey imports it wherever it is installed, as it is here."""
    site.project("010")
    site.script([good({"wait_for": ".standin/go"})])
    waiting = site.start(*SPAWN, "010")
    await_runs(site, 1)
    (worker,) = site.workers()
    below = psutil.Process(worker["pid"]).children(recursive=True)
    assert len(below) >= 3, "what forks supervisors, a supervisor, its agent"
    pids = (waiting.pid, worker["pid"], *(process.pid for process in below))
    assert [pid for pid in pids if DRIVER in libraries_of(pid)] == []
    (site.root / ".standin/go").touch()
    out, errors = waiting.communicate(timeout=300)
    assert out.startswith("010 needs_review"), errors


@pytest.mark.one_of("one host and a queue's server")
def test_an_agent_with_another_home_finds_the_queue(
    site: Site, postgres_server: postgres.Server
) -> None:
    executor = {"type": "claude", "env": {"XDG_CONFIG_HOME": str(site.base / "elsewhere")}}
    agents = {"executors": {"claude-code": executor}}
    site.configure({"queue": {"url": postgres_server.url}, "agents": agents})
    site.project("010")
    site.script([good()])
    assert site.sow(*SPAWN, "010").out.startswith("010 needs_review")
    assert not Workspace(site.root).queue_db.exists()


@pytest.mark.one_of("one host and a queue's server")
def test_a_killed_worker_s_agent_is_adopted_by_the_next(on_server: Site) -> None:
    site = on_server
    site.project("010")
    site.script([good({"wait_for": ".standin/go"})])
    site.sow(*SPAWN, "010", "--detach")
    await_runs(site, 1)
    (worker,) = site.workers()
    site.kill(worker["pid"])
    waiting = site.start("agent", "wait", "010")
    (site.root / ".standin/go").touch()
    out, errors = waiting.communicate(timeout=300)
    assert out.startswith("010 needs_review"), errors
    assert len(read_runs(site.root)) == 1


def test_a_server_that_is_not_there_is_told_with_exit_6(site: Site) -> None:
    site.configure({"queue": {"url": "postgresql://me:hush@127.0.0.1:1/sow"}})
    site.project("010")
    result = site.sow(*SPAWN, "010", expect=6)
    assert "the queue on 127.0.0.1:1/sow cannot be used" in result.err
    assert "hush" not in result.err
    assert site.task("010")["status"] == "pending"


@pytest.mark.one_of("one host and a queue's server")
def test_a_worker_its_agent_and_a_call_outlast_a_restart_of_the_server(site: Site) -> None:
    with postgres.running(*postgres.UNSAFE) as server:
        site.configure({"queue": {"url": server.url}})
        site.project("010", "020")
        site.script([good({"wait_for": ".standin/{task}.go"})])
        waiting = site.start(*SPAWN, "010", "020")
        await_runs(site, 2)
        server.stop()
        (site.root / ".standin/010.go").touch()
        server.start()
        (site.root / ".standin/020.go").touch()
        out, errors = waiting.communicate(timeout=300)
        assert sorted(line.split(" (")[0] for line in out.splitlines()) == [
            "010 needs_review",
            "020 needs_review",
        ], errors
        assert len(read_runs(site.root)) == 2
        assert len(site.workers()) == 1
        site.close()


@pytest.mark.one_of("one host and a queue's server")
def test_a_call_that_is_interrupted_does_not_wait_for_a_server_that_is_away(site: Site) -> None:
    with postgres.running(*postgres.UNSAFE) as server:
        site.configure({"queue": {"url": server.url}})
        site.project("010")
        site.script([good({"wait_for": ".standin/go"})])
        waiting = site.start(*SPAWN, "010")
        await_runs(site, 1)
        server.stop()
        began = time.monotonic()
        waiting.send_signal(signal.SIGINT)
        _, errors = waiting.communicate(timeout=300)
        assert time.monotonic() - began < PATIENCE_SECONDS / 2
        assert waiting.returncode == 130
        assert "To wait again: `sow agent wait 010`" in errors
        server.start()
        (site.root / ".standin/go").touch()
        assert site.sow("agent", "wait", "010").out.startswith("010 needs_review")
        site.close()


def runs_on(run: Run) -> bool:
    stat = procfs.read_stat(run.pid)
    return stat is not None and stat.state not in "ZX"


@pytest.mark.one_of("one host and a queue's server")
def test_agents_end_before_others_may_take_them_over_and_their_jobs_go_on_later(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No answer of the server ends a wait for it; one of the agents has no supervisor either."""
    with postgres.running(*postgres.UNSAFE) as server:
        site.configure({"queue": {"url": server.url}})
        monkeypatch.setenv("SOW_CONFIG", str(site.config_file))
        site.project("010", "020")
        site.sow("hosts", "init")
        with closing(open_queue(Workspace(site.root))) as database:
            database.note(LEASE_SECONDS, 6)
        site.script([good({"wait_for": ".standin/go"})])
        site.sow(*SPAWN, "010", "020", "--no-clone", "--detach")
        runs = await_runs(site, 2)
        supervisor = await_supervisor(site, 2)
        with server.frozen():
            kill(supervisor)
            wait_until(lambda: not any(map(runs_on, runs)), "both agents have ended")
        (site.root / ".standin/go").touch()
        assert sorted(
            line.split(" (")[0] for line in site.sow("agent", "wait", "010", "020").out.splitlines()
        ) == ["010 needs_review", "020 needs_review"]
        site.close()
