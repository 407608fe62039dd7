"""Killed at each step: workers at an exact point of theirs, supervisors between any two acts.

DESIGN, "The agent process" and "Jobs and the queue". Every test ends alike: the
outcome is delivered, no agent has run beside or after another, nothing is taken.
"""

import json
import os
import resource
import signal
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from journeys.callers import await_end, await_state, exists, job_of, process_state
from journeys.site import Site, wait_until
from journeys.staff import (
    QUICK,
    WorkerRun,
    attempt_of,
    await_supervisor,
    drain,
    kill,
    launch_worker,
    nothing_is_taken,
    shell_executor,
    start_worker,
    write_program,
)
from journeys.storm_lives import Lives
from journeys.storm_staff import PROGRAM
from journeys.storm_verdict import carriers
from journeys.storm_worker import STOPPED, Fate
from proving import drawn

from sow.ids import JobId
from sow.paths import Workspace
from sow.processes import process_facts
from sow.processes.life import Life
from sow.schema.job import Cause, JobState

AGENT = """
    say() {
        read -r up _ </proc/uptime
        echo "$1 $SOW_TASK_ID $SOW_ATTEMPT_ID $$ $up" >>"$SOW_ROOT/lives"
    }
    await() { while [ ! -e "$SOW_ROOT/$1" ]; do sleep 0.02; done; }
    say begin
    %s
    sed -i 's/status: in_progress/status: needs_review/' "$1/state.yaml"
    say end
"""
CRASHES_ONCE = '[ -e "$SOW_ROOT/crashed" ] || { touch "$SOW_ROOT/crashed"; say end; exit 3; }'


def agents(site: Site, words: str = "", *, tasks: Sequence[str] = ("010",), **more: Any) -> None:
    """Queue tasks whose agents do this before they report; workers are started by hand."""
    executor = shell_executor(site, "brief", AGENT % words, **more)
    config = {"executors": {"brief": executor}, "bindings": {"implementer": "brief"}}
    site.configure({"worker": QUICK, "agents": config})
    site.project(*tasks)
    site.sow("agent", "spawn", "implementer", *tasks, "--detach")


def doomed(site: Site, point: str, *, passage: int = 1, window: str = "killed") -> WorkerRun:
    """Start a worker that dies, or stops, at a point."""
    fate = Fate(str(site.base / "fates"), {point: window}, passage)
    return launch_worker(site, json.dumps(asdict(fate)), program=PROGRAM)


def dies(site: Site, point: str, **more: Any) -> None:
    """See a worker killed at a point."""
    run = doomed(site, point, **more)
    assert run.wait() == -signal.SIGKILL, run.log_text


def runs_of(site: Site, task: str = "010") -> int:
    return sum(life.task == task for life in Lives(site.root).read().values())


def is_delivered(site: Site, *tasks: str, runs: int = 1) -> None:
    """Fail unless all has ended well, by so many runs of each agent, and nothing is left."""
    for task in tasks or ("010",):
        job = await_end(site, task)
        assert (job.state, job.cause) == (JobState.DONE, Cause.REPORTED), site.worker_logs()
        assert site.task(task)["status"] == "needs_review"
        assert runs_of(site, task) == runs
        record = site.sow("agent", "wait", task, "--json").json
        assert (record["job"], record["status"]) == (job.id, "needs_review")
    assert carriers(site.root) == []
    nothing_is_taken(site)


BEFORE_THE_RECORD = [
    "before start",
    "before write_files",
    "after write_files",
    "before record_attempt",
]


@pytest.mark.parametrize("point", drawn(*BEFORE_THE_RECORD))
def test_after_the_claim_and_before_the_attempt_is_on_record(site: Site, point: str) -> None:
    agents(site)
    dies(site, point)
    assert runs_of(site) == 0
    drain(site)
    is_delivered(site)
    job = job_of(site, "010")
    assert job is not None
    assert (job.worker_deaths, attempt_of(site, job.id).number) == (1, 1)


def test_after_the_attempt_is_on_record_and_before_its_supervisor_has_orders(site: Site) -> None:
    """The supervisor leaves without orders, and no agent has run."""
    agents(site)
    dies(site, "after record_attempt")
    supervisor = attempt_of(site, 1).supervisor
    assert supervisor is not None
    drain(site)
    assert process_facts.life_of(supervisor) is Life.DEAD
    is_delivered(site)
    job = job_of(site, "010")
    assert job is not None
    assert (job.worker_deaths, attempt_of(site, job.id).number) == (1, 2)


def test_after_the_orders_and_before_it_watches(site: Site) -> None:
    agents(site, "await go")
    dies(site, "after start")
    heir = start_worker(site, "--drain")
    heir.wait_for("adopted: attempt 1")
    (site.root / "go").touch()
    assert heir.wait() == 0
    is_delivered(site)


COMMITS = [
    f"{when} {step}"
    for step in ("record_ending", "change_task", "settle")
    for when in ("before", "after")
]
RETRIES = [
    f"{when} {step}"
    for step in ("record_ending", "change_task", "requeue")
    for when in ("before", "after")
]


@pytest.mark.parametrize("point", drawn(*COMMITS))
def test_between_the_commits_that_store_a_result(site: Site, point: str) -> None:
    agents(site)
    dies(site, point)
    drain(site)
    is_delivered(site)
    assert attempt_of(site, 1).cause is Cause.REPORTED


@pytest.mark.parametrize("point", drawn(*RETRIES))
def test_between_the_commits_that_queue_a_job_again(site: Site, point: str) -> None:
    agents(site, CRASHES_ONCE)
    dies(site, point)
    drain(site)
    is_delivered(site, runs=2)
    job = job_of(site, "010")
    assert job is not None
    assert (job.retries, job.worker_deaths, attempt_of(site, job.id).number) == (1, 0, 2)


@pytest.mark.parametrize("point", drawn("before log_failure", "after log_failure", "before settle"))
def test_between_the_commits_that_store_a_failure(site: Site, point: str) -> None:
    agents(site, "say end; exit 3", retries=0)
    dies(site, point)
    drain(site)
    job = await_end(site, "010")
    assert (job.state, job.cause) == (JobState.FAILED, Cause.CRASHED)
    assert (site.task("010")["status"], runs_of(site)) == ("failed", 1)
    assert "Job 1 failed" in (site.task_folder("010") / "log.md").read_text()
    nothing_is_taken(site)


@pytest.mark.one_of
@pytest.mark.parametrize(
    ("point", "passage"),
    [("after take_over", 1), ("before adopt", 1), ("after adopt", 1), ("before adopt", 2)],
)
def test_inside_recovery(site: Site, point: str, passage: int) -> None:
    """It dies with the leases of the dead, none, one or all of whose attempts it watches."""
    agents(site, "await go", tasks=("010", "020"))
    worker = start_worker(site)
    wait_until(lambda: runs_of(site) == runs_of(site, "020") == 1, "both agents run")
    for job in (1, 2):
        await_supervisor(site, job)
    worker.kill()
    dies(site, point, passage=passage)
    (site.root / "go").touch()
    drain(site)
    is_delivered(site, "010", "020")


def test_a_job_whose_workers_die_five_times_is_set_aside(site: Site) -> None:
    """ "worker died | … counted apart, set aside after 5"."""
    agents(site)
    for _ in range(5):
        dies(site, "before start")
    drain(site)
    job = await_end(site, "010")
    assert (job.state, job.cause, runs_of(site)) == (JobState.FAILED, Cause.WORKER_DIED, 0)
    assert "its worker died 5 times" in job.reason
    assert site.task("010")["status"] == "failed"
    assert "set aside" in site.sow("agent", "wait", "010", expect=1).out
    nothing_is_taken(site)


def test_stopped_while_it_starts_an_agent_and_replaced(site: Site) -> None:
    """Nothing is on record, and the job belongs to another worker by now."""
    agents(site, "await go")
    stopped = replaced_while_stopped(site, "before record_attempt", "runs: spawn")
    stopped.signal(signal.SIGCONT)
    stopped.wait_for("was taken over by another worker")
    goes_on_with_its_heir(site, stopped)


def test_stopped_before_it_gives_the_orders_and_replaced(site: Site) -> None:
    """Its supervisor is on record and waits; it gets its orders late, and its heir watches it."""
    agents(site, "await go")
    stopped = replaced_while_stopped(site, "after record_attempt", "adopted: attempt 1")
    assert runs_of(site) == 0
    stopped.signal(signal.SIGCONT)
    wait_until(lambda: runs_of(site) == 1, "the agent runs")
    goes_on_with_its_heir(site, stopped)


def replaced_while_stopped(site: Site, point: str, heir_says: str) -> WorkerRun:
    """Stop a worker at a point, and have another take its place."""
    stopped = doomed(site, point, window=STOPPED)
    wait_until((site.base / "fates").exists, "it is about to stop")
    wait_until(lambda: process_state(stopped.pid) == "T", "it has stopped")
    Workspace(site.root).worker_lock(stopped.name).unlink()  # type: ignore[arg-type]
    start_worker(site).wait_for(heir_says)
    return stopped


def goes_on_with_its_heir(site: Site, stopped: WorkerRun) -> None:
    """See the job delivered, and the worker that was stopped leave."""
    (site.root / "go").touch()
    assert await_end(site, "010").state is JobState.DONE
    assert stopped.wait() == 0
    assert "our lock file was removed" in stopped.log_text
    assert "Traceback" not in stopped.log_text
    is_delivered(site)


GATED_SERVER = """
    import os, sys, time

    sys.path.append({project!r})
    from worker.supervisor import forking, supervise

    usual = supervise.main

    def late(tree, start):
        while not os.path.exists({enter!r}):
            time.sleep(0.02)
        return usual(tree, start)

    supervise.main = late
    sys.exit(forking.main(sys.argv[1:]))
"""
GATED_WORKER = """
    import sys
    from pathlib import Path

    from sow.cli.root import run
    from worker import fork_servers

    fork_servers.PROGRAM = Path({server!r})
    sys.exit(run(["worker"]))
"""


def gated_worker(site: Site) -> WorkerRun:
    """Start a worker whose supervisors wait, before their first act, for a file named `enter`."""
    project = str(Path(__file__).parents[2])
    enter = str(site.root / "enter")
    server = write_program(site, "server.py", GATED_SERVER.format(project=project, enter=enter))
    program = write_program(site, "gated.py", GATED_WORKER.format(server=str(server)))
    return start_worker(site, program=program)


def attempt_folder(site: Site) -> Path:
    return Workspace(site.root).attempt(JobId(1), 1).folder


def test_a_supervisor_before_it_has_started_the_agent(site: Site) -> None:
    """The attempt is given up and the job run again."""
    agents(site)
    gated_worker(site)
    kill(await_supervisor(site, 1))
    (site.root / "enter").touch()
    is_delivered(site)
    assert attempt_of(site, 1).number == 2


def test_a_supervisor_before_it_has_written_down_the_agent_s_start(site: Site) -> None:
    """A FIFO in the place of its draft holds it up there; the agent goes on without it."""
    agents(site, "await go")
    gated_worker(site)
    supervisor = await_supervisor(site, 1)
    os.mkfifo(attempt_folder(site) / ".started.json")
    (site.root / "enter").touch()
    wait_until(lambda: runs_of(site) == 1, "the agent runs")
    kill(supervisor)
    wait_until(lambda: not exists(supervisor), "the supervisor is gone")
    assert await_state(site, "010", JobState.RUNNING)
    (site.root / "go").touch()
    is_delivered(site)


STAYS_FOR_ONE_TERM = """
    sh -c 'trap "n=x\\$n; touch \\$SOW_ROOT/term\\$n; [ \\$n = x ] || exit" TERM
           touch $SOW_ROOT/stays
           while :; do sleep 0.05; done' &
    await stays
"""


def test_a_supervisor_while_it_ends_what_the_agent_left(site: Site) -> None:
    """The worker ends the rest."""
    agents(site, STAYS_FOR_ONE_TERM)
    start_worker(site)
    supervisor = await_supervisor(site, 1)
    wait_until((site.root / "termx").exists, "what is left is told to end")
    kill(supervisor)
    is_delivered(site)
    assert (site.root / "termxx").exists()


def test_a_supervisor_before_it_has_written_down_the_end(site: Site) -> None:
    """Nobody saw how the agent ended; what it has reported stands."""
    agents(site, "await go")
    start_worker(site)
    supervisor = await_supervisor(site, 1)
    wait_until(lambda: runs_of(site) == 1, "the agent runs")
    resource.prlimit(supervisor, resource.RLIMIT_FSIZE, (0, 0))  # to it, the disk is full
    (site.root / "go").touch()
    wait_until(lambda: carriers(site.root) == [], "the agent has ended")
    kill(supervisor)
    is_delivered(site)
    assert attempt_of(site, 1).exit_code is None
