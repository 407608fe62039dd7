"""Who takes reports is killed at each step: each report is carried out once, in its order."""

import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from journeys.callers import gate, good, open_gate
from journeys.report_site import (
    as_agent,
    begin,
    kill,
    logged,
    paths_of,
    served,
    server_pids,
    socket_of,
    socket_worker,
    spawn,
)
from journeys.site import Site, make_site, wait_until
from journeys.staff import WorkerRun
from standins import read_runs

from sow.files import locked_folder

LOG = ("agent", "log", "once")


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    """Give a site whose commands are true programs: they are killed, and wait."""
    made = make_site(tmp_path, forks=False)
    yield made
    made.close()


def at_gate(site: Site) -> WorkerRun:
    """Have an agent wait at the gate `go`, and a worker that takes its reports."""
    begin(site, "010")
    site.script([good(gate("go"))])
    spawn(site)
    worker = socket_worker(site, "--drain")
    served(site)
    return worker


def children_of(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def server_of(worker: WorkerRun) -> int:
    (pid,) = wait_until(lambda: server_pids(worker.pid), "a process that takes reports")
    return int(pid)


@dataclass
class HeldUp:
    """A report that waits for the lock of its task, and how it ended."""

    client: subprocess.Popen[str]
    code: int | None = None
    words: str = ""


@contextmanager
def held_up(site: Site, server: int) -> Iterator[HeldUp]:
    """Have a report wait in its process for the length of the block; then see it end."""
    with locked_folder(site.task_folder("010")):
        held = HeldUp(site.start(*LOG, env=as_agent(site)))
        wait_until(lambda: children_of(server), "a report that waits")
        yield held
    out, err = held.client.communicate(timeout=100)
    held.code, held.words = held.client.returncode, out + err


def end(site: Site, worker: WorkerRun) -> None:
    open_gate(site, "go")
    assert worker.wait() == 0, worker.log_text
    assert site.task("010")["status"] == "needs_review"
    assert not paths_of(site).reports.exists()
    assert len(read_runs(site.root)) == 1


def test_a_worker_killed_between_report_and_answer(site: Site) -> None:
    worker = at_gate(site)
    server = server_of(worker)
    with held_up(site, server) as held:
        worker.kill()
        wait_until(lambda: not Path(f"/proc/{server}").exists(), "its end with the worker")
        wait_until(lambda: list(paths_of(site).report_folder.glob("*.report")), "a kept report")
    assert (held.code, "is kept" in held.words) == (0, True)
    assert logged(site) == []
    end(site, socket_worker(site, "--drain"))
    assert logged(site) == ["once"]


def test_a_worker_killed_after_the_report_was_carried_out(site: Site) -> None:
    """Nobody was told so: the report comes a second time, by the same id."""
    worker = at_gate(site)
    worker.kill()
    site.sow(*LOG, env=as_agent(site))
    (kept,) = paths_of(site).report_folder.glob("*.report")
    data = kept.read_bytes()
    second = socket_worker(site)
    wait_until(lambda: not kept.exists(), "the report was carried out")
    second.kill()
    kept.write_bytes(data)
    site.sow("agent", "log", "another", env=as_agent(site))
    end(site, socket_worker(site, "--drain"))
    assert logged(site) == ["once", "another"]


def test_a_status_that_was_set_is_not_set_again_over_a_persons(site: Site) -> None:
    worker = at_gate(site)
    worker.kill()
    site.sow("task", "set", "status", "paused", env=as_agent(site))
    (kept,) = paths_of(site).report_folder.glob("*.report")
    data = kept.read_bytes()
    second = socket_worker(site)
    wait_until(lambda: site.task("010")["status"] == "paused", "the report")
    second.kill()
    site.sow("task", "set", "010", "status", "in_progress")
    kept.write_bytes(data)
    end(site, socket_worker(site, "--drain"))


@pytest.mark.parametrize("times", [1, 2])
def test_the_process_that_carries_a_report_out_is_killed(site: Site, times: int) -> None:
    worker = at_gate(site)
    server = server_of(worker)
    with held_up(site, server) as held:
        for _ in range(times):
            (pid,) = wait_until(lambda: children_of(server), "a process")
            kill(pid)
            wait_until(lambda pid=pid: pid not in children_of(server), "its end")
        if times == 1:
            wait_until(lambda: children_of(server), "another one")
    if times == 1:
        assert (held.code, logged(site)) == (0, ["once"])
    else:
        assert (held.code, logged(site)) == (1, [])
        assert "the process that carried out this report was killed" in held.words
    end(site, worker)


def test_the_process_that_takes_reports_is_killed_and_the_worker_starts_another(
    site: Site,
) -> None:
    worker = at_gate(site)
    first = server_of(worker)
    with held_up(site, first):
        kill(first)
        wait_until(lambda: list(paths_of(site).report_folder.glob("*.report")), "a kept report")
    second = wait_until(
        lambda: [pid for pid in server_pids(worker.pid) if pid != first], "another one"
    )
    assert len(second) == 1
    wait_until(lambda: logged(site) == ["once"], "the kept report")
    site.sow("agent", "log", "live", env=as_agent(site))
    end(site, worker)
    assert logged(site) == ["once", "live"]


def test_two_workers_in_turn(site: Site) -> None:
    first = at_gate(site)
    number = socket_of(site).stat().st_ino
    site.sow("agent", "log", "to the first", env=as_agent(site))
    first.kill()
    second = socket_worker(site)
    wait_until(lambda: socket_of(site).stat().st_ino != number, "another socket")
    site.sow("agent", "log", "to the second", env=as_agent(site))
    second.signal(signal.SIGTERM)
    second.wait()
    third = socket_worker(site, "--drain")
    site.sow("agent", "log", "to the third, or kept for it", env=as_agent(site))
    end(site, third)
    assert logged(site) == ["to the first", "to the second", "to the third, or kept for it"]


def test_a_worker_killed_while_it_ends_an_attempt_leaves_nothing_undone(site: Site) -> None:
    """Its folder was taken away, and what lay in it was not carried out."""
    worker = at_gate(site)
    worker.kill()
    site.sow(*LOG, env=as_agent(site))
    open_gate(site, "go")
    wait_until(paths_of(site).exit.exists, "the agent's end")
    paths = paths_of(site)
    paths.report_folder.rename(paths.reports_ended)
    again = socket_worker(site, "--drain")
    assert again.wait() == 0, again.log_text
    assert logged(site) == ["once"]
    assert not paths.reports.exists()
    assert site.task("010")["status"] == "needs_review"
