"""`sow worker` in a terminal: what it says, how it leaves, what it leaves behind (§8)."""

import json
import os
import re
import signal
import sys
from contextlib import closing
from pathlib import Path

import pytest
from journeys.callers import (
    HANG,
    await_end,
    await_runs,
    await_state,
    exists,
    gate,
    good,
    job_of,
    open_gate,
    queue,
)
from journeys.json_contract import hold
from journeys.site import Site, wait_until
from journeys.staff import (
    QUICK,
    attempt_of,
    await_supervisor,
    drain,
    nothing_is_taken,
    start_worker,
)
from standins import read_runs

from sow import __version__
from sow.clock import clock_time, parse_time, utc_now
from sow.schema.job import Cause, JobState

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


@pytest.fixture
def by_hand(site: Site) -> Site:
    """A project with two tasks, and workers started by the test alone."""
    site.configure({"worker": QUICK})
    site.project("010", "020")
    return site


def spawn(site: Site, *tasks: str) -> None:
    site.sow("agent", "spawn", "implementer", *tasks, "--detach")


def test_it_shows_what_it_takes_runs_and_ends(by_hand: Site) -> None:
    """README: one line a thing, with the time."""
    by_hand.script([good()], task="010")
    by_hand.script([[{"not_logged_in": True}]], task="020")
    spawn(by_hand, "010", "020")
    worker = drain(by_hand)
    lines = worker.log_text.splitlines()
    assert all(re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d  ", line) for line in lines), (
        worker.log_text
    )
    job = r"job 1 +010 +implementer +"
    for words in (
        r"worker w\S+ started; runs up to 4 agents",
        job + r"runs: spawn by claude-code, attempt 1, pid \d+",
        job + r"done: needs_review after [\d.]+s",
        r"job 2 +020 +implementer +failed: failed after [\d.]+s: Not logged in",
        r"nothing to do; leaving",
        r"worker w\S+ left",
    ):
        assert re.search(words, worker.log_text), (words, worker.log_text)


def test_it_tells_programs_what_it_does_as_objects(by_hand: Site) -> None:
    spawn(by_hand, "010")
    records = by_hand.sow("worker", "--drain", "--json").json_lines
    hold("worker", records)
    assert {tuple(line) for line in records} == {("at", "level", "message", "job", "task", "agent")}
    assert "started; runs up to" in records[0]["message"]
    (end,) = [line for line in records if line["message"].startswith("done: needs_review")]
    assert (end["job"], end["task"], end["agent"]) == (1, "010", "implementer")


@pytest.mark.one_of
@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_the_first_signal_leaves_the_agents_running(by_hand: Site, signum: signal.Signals) -> None:
    """ "the first INT, TERM or HUP means take nothing new, leave the agents running, exit"."""
    by_hand.script([good(gate("go"))])
    spawn(by_hand, "010")
    worker = start_worker(by_hand)
    (run,) = await_runs(by_hand)
    await_supervisor(by_hand, 1)
    worker.signal(signum)
    assert worker.wait() == 0
    assert "leaving 1 agents running; the next worker adopts them" in worker.log_text
    assert "Traceback" not in worker.log_text
    assert exists(run.pid)
    assert by_hand.workers() == []
    open_gate(by_hand, "go")
    drain(by_hand)
    assert len(read_runs(by_hand.root)) == 1
    assert attempt_of(by_hand, 1).number == 1
    nothing_is_taken(by_hand)


def test_nothing_new_is_taken_after_the_first_signal(by_hand: Site) -> None:
    by_hand.configure({"worker": {**QUICK, "concurrency": 1}})
    by_hand.script([good(gate("go"))])
    spawn(by_hand, "010", "020")
    worker = start_worker(by_hand, "--drain")
    await_runs(by_hand)
    worker.signal(signal.SIGTERM)
    worker.wait_for("draining: waiting for 1 agents; a second signal ends them")
    open_gate(by_hand, "go")
    assert worker.wait() == 0
    assert [run.task for run in read_runs(by_hand.root)] == ["010"]
    assert await_state(by_hand, "020", JobState.QUEUED)


def test_drain_waits_for_its_agents_when_told_to_stop(by_hand: Site) -> None:
    """ "`--drain` waits for them"."""
    by_hand.script([good(gate("go"))])
    spawn(by_hand, "010")
    worker = start_worker(by_hand, "--drain")
    await_runs(by_hand)
    worker.signal(signal.SIGINT)
    worker.wait_for("draining")
    open_gate(by_hand, "go")
    assert worker.wait() == 0
    job = job_of(by_hand, "010")
    assert job is not None
    assert (job.state, job.cause) == (JobState.DONE, Cause.REPORTED)
    nothing_is_taken(by_hand)


def test_the_second_signal_ends_the_agents_and_queues_them_as_resumes(by_hand: Site) -> None:
    """ "the second ends them and re-queues them as resumes"."""
    by_hand.script([[{"say": "working"}, *HANG], good()])
    spawn(by_hand, "010")
    worker = start_worker(by_hand, "--drain")
    (run,) = await_runs(by_hand)
    wait_until(lambda: by_hand.task("010").get("session", {}).get("started"), "a session")
    worker.signal(signal.SIGTERM)
    worker.wait_for("draining")
    worker.signal(signal.SIGTERM)
    assert worker.wait() == 0
    assert "ending 1 agents; their jobs are queued again" in worker.log_text
    assert not exists(run.pid)
    job = await_state(by_hand, "010", JobState.QUEUED)
    assert (job.cause, job.retries, job.worker_deaths) == (Cause.WORKER_STOPPED, 0, 0)
    assert by_hand.task("010")["status"] == "in_progress"
    drain(by_hand)
    first, second = read_runs(by_hand.root)
    assert (second.verb, second.session_id) == ("resume", first.session_id)
    assert await_end(by_hand, "010").state is JobState.DONE
    nothing_is_taken(by_hand)


def test_stop_with_end_agents_ends_them_and_queues_them_as_resumes(by_hand: Site) -> None:
    by_hand.script([[{"say": "working"}, *HANG], good()])
    spawn(by_hand, "010")
    worker = start_worker(by_hand)
    (run,) = await_runs(by_hand)
    wait_until(lambda: by_hand.task("010").get("session", {}).get("started"), "a session")
    by_hand.sow("worker", "stop", "--end-agents")
    assert worker.wait() == 0
    assert not exists(run.pid)
    assert await_state(by_hand, "010", JobState.QUEUED).cause is Cause.WORKER_STOPPED


def test_a_drain_of_an_empty_queue_is_over_at_once(by_hand: Site) -> None:
    worker = drain(by_hand)
    assert "nothing to do; leaving" in worker.log_text
    assert by_hand.workers() == []


def test_without_a_project_the_worker_waits_for_work_all_the_same(site: Site) -> None:
    site.sow("init")
    worker = drain(site)
    assert "left" in worker.log_text


def test_outside_a_workspace_it_says_so(site: Site, tmp_path: Path) -> None:
    away = tmp_path / "away"
    away.mkdir()
    result = site.sow("worker", cwd=away, expect=4)
    assert "no .sow folder" in result.err


@pytest.mark.parametrize(
    "words", [("--concurrency", "0"), ("--concurrency", "many"), ("--nonsense",)]
)
def test_bad_options_are_usage_errors(by_hand: Site, words: tuple[str, ...]) -> None:
    assert by_hand.sow("worker", *words, expect=2).err.startswith("Error: ")


def test_a_broken_configuration_stops_it_before_it_takes_anything(by_hand: Site) -> None:
    spawn(by_hand, "010")
    by_hand.config_file.write_text("worker: [")
    result = by_hand.sow("worker", "--drain", expect=3)
    assert ".config/sow/config.yaml, line 2" in result.err
    assert await_state(by_hand, "010", JobState.QUEUED)
    assert list(by_hand.root.glob(".sow/run/workers/*.lock")) == []


# list, stop, logs


def test_list_tells_who_works_and_on_what(by_hand: Site) -> None:
    by_hand.script([good(gate("go"))])
    spawn(by_hand, "010", "020")
    worker = start_worker(by_hand, "--concurrency", "2")
    await_runs(by_hand, 2)
    (record,) = by_hand.workers()
    started_at = record.pop("started_at")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", started_at)
    assert record == {
        "worker": worker.name,
        "pid": worker.pid,
        "alive": True,
        "life": "alive",
        "background": False,
        "concurrency": 2,
        "jobs": [1, 2],
        "slots_taken": 2,
        "version": __version__,
    }
    header, line = by_hand.sow("worker", "list").out.splitlines()
    assert header.split() == ["WORKER", "PID", "STATE", "SLOTS", "JOBS", "SINCE"]
    *facts, clock, since = line.split(maxsplit=6)
    assert facts == [worker.name, str(worker.pid), "alive", "2/2", "1,2"]
    assert clock == clock_time(parse_time(started_at), utc_now())
    assert re.fullmatch(r"\((just now|\d+ (s|min) ago)\)", since)
    open_gate(by_hand, "go")


def test_list_shows_a_dead_worker_until_another_has_buried_it(by_hand: Site) -> None:
    worker = start_worker(by_hand)
    worker.kill()
    assert by_hand.sow("worker", "list").out.splitlines()[1].split()[2] == "dead"
    drain(by_hand)
    assert "No worker runs." in by_hand.sow("worker", "list").out


def test_where_nothing_was_ever_queued_nobody_works(by_hand: Site) -> None:
    for words in (("worker", "list"), ("worker", "stop"), ("worker", "logs")):
        result = by_hand.sow(*words)
        assert result.out.startswith("No "), words
    assert by_hand.sow("worker", "list", "--json").out == ""
    assert not (by_hand.root / ".sow/run").exists()


def test_stop_sends_all_home_or_the_one_that_is_named(by_hand: Site) -> None:
    first, second = start_worker(by_hand), start_worker(by_hand)
    assert by_hand.sow("worker", "stop", first.name).out == f"stopped {first.name}\n"
    assert first.wait() == 0
    assert [each["worker"] for each in by_hand.workers()] == [second.name]
    record = by_hand.sow("worker", "stop", "--json").json
    assert record == {"worker": second.name, "pid": second.pid}
    assert second.wait() == 0
    assert by_hand.sow("worker", "stop").out == "No worker runs.\n"


def test_stop_refuses_a_name_that_nobody_has(by_hand: Site) -> None:
    worker = start_worker(by_hand)
    result = by_hand.sow("worker", "stop", worker.name, "w0-nobody", expect=4)
    assert "no such worker: w0-nobody" in result.err
    assert worker.process.poll() is None


def test_stop_signals_no_process_that_has_taken_a_dead_worker_s_pid(by_hand: Site) -> None:
    worker = start_worker(by_hand)
    worker.freeze(by_hand)
    mine = {"pid": os.getpid(), "start_ticks": "1", "boot_id": "x", "pid_namespace": "y"}
    with closing(queue(by_hand)) as database:
        database.run("update worker set process = ?", (json.dumps(mine),))
    result = by_hand.sow("worker", "stop", expect=6)
    assert "cannot be signalled from here" in result.err
    worker.kill()


def test_a_worker_in_the_background_is_on_record_when_the_command_ends(by_hand: Site) -> None:
    """`sow worker stop` said that no worker runs, and it stayed."""
    by_hand.sow("worker", "--background")
    (listed,) = by_hand.sow("worker", "list", "--json").json_lines
    by_hand.sow("worker", "stop")
    assert not exists(listed["pid"])


def test_logs_print_what_background_workers_said(by_hand: Site) -> None:
    spawn(by_hand, "010")
    by_hand.sow("worker", "--background", "--drain")
    await_end(by_hand, "010")
    wait_until(lambda: by_hand.workers() == [], "the worker has left")
    out = by_hand.sow("worker", "logs").out
    title, *lines = out.splitlines()
    assert re.fullmatch(r"==> w\S+\.log <==", title)
    assert any("done: needs_review" in line for line in lines)
    records = by_hand.sow("worker", "logs", "--json").json_lines
    assert [record["text"] for record in records] == lines
    assert {f"==> {record['worker']}.log <==" for record in records} == {title}
    short = by_hand.sow("worker", "logs", "-n", "1").out.splitlines()
    assert len(short) == 2
    assert short[1].endswith("left")


# what its processes inherit


@linux_only
def test_supervisor_and_agent_inherit_nothing_of_the_worker(by_hand: Site) -> None:
    """§6: "exec'ed (never forked from the worker, whose locks it would inherit) in its own
    session … No pipe leads to the worker"."""
    by_hand.script([good(gate("go"))])
    spawn(by_hand, "010")
    worker = start_worker(by_hand)
    (run,) = await_runs(by_hand)
    supervisor = await_supervisor(by_hand, 1)
    attempt = by_hand.root / ".sow/run/jobs/1/1"
    assert targets_of(supervisor) == {
        "/dev/null",
        str(attempt / "supervisor.log"),
        str(attempt / "alive.lock"),
    }
    wanted = {"prompt.md", "output.jsonl", "stderr.log", "alive.lock"}
    assert {str(attempt / name) for name in wanted} <= targets_of(run.pid)
    run_folder = str(by_hand.root / ".sow/run")
    others = {t for t in targets_of(run.pid) if t.startswith(run_folder)}
    assert others == {str(attempt / name) for name in wanted}
    sessions = {os.getsid(pid) for pid in (worker.pid, supervisor)}
    assert len(sessions) == 2
    open_gate(by_hand, "go")


def targets_of(pid: int) -> set[str]:
    """Return what a process has open; its own scripts aside."""
    links = {str(fd.readlink()) for fd in Path(f"/proc/{pid}/fd").iterdir()}
    return {link for link in links if not link.endswith(".py")}
