"""Commands killed between their two writes, and requests that come while a worker settles.

A job ends first and its task is given back after that; a worker concludes
first and writes after that. Real SIGKILLs and real commands, at exact points:
functions are wrapped in the process that runs, as `storm_worker` does.
"""

import os
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from journeys import storm_worker
from journeys.callers import all_jobs, await_end, await_state, job_of, queue
from journeys.site import SOW, Site, wait_until
from journeys.staff import (
    QUICK,
    WorkerRun,
    drain,
    launch_worker,
    nothing_is_taken,
    shell_executor,
    start_worker,
    write_program,
)
from proving import drawn

from sow.jobs import jobs
from sow.schema.job import Cause, JobState

AGENT = """
    echo run >>"$SOW_ROOT/runs"
    %s
    sed -i 's/status: in_progress/status: needs_review/' "$1/state.yaml"
"""
CRASHES_ONCE = '[ -e "$SOW_ROOT/crashed" ] || { touch "$SOW_ROOT/crashed"; exit 3; }'
SPAWN = ("agent", "spawn", "implementer", "010")

DYING = """
    import os, signal, sys

    import {module} as module

    def die(*_, **__):
        os.kill(os.getpid(), signal.SIGKILL)

    module.{name} = die
    {more}

    from sow.cli.root import run

    sys.exit(run(sys.argv[1:]))
"""
AFTER_THE_JOB = ("sow.calls.job_end", "change_task")
"""Dies when the job has ended and its task is still to be given back."""
AFTER_THE_TASK = ("sow.jobs.jobs", "pay_task")
"""Dies when the task is given back and the job does not know it yet."""


def agents(site: Site, words: str = "", **more: Any) -> None:
    """Have tasks whose agents do this before they report; workers are started by hand."""
    executor = shell_executor(site, "brief", AGENT % words, **more)
    config = {"executors": {"brief": executor}, "bindings": {"implementer": "brief"}}
    site.configure({"worker": QUICK, "agents": config})
    site.project("010")


def runs(site: Site) -> int:
    path = site.root / "runs"
    return len(path.read_text().splitlines()) if path.exists() else 0


def dies(site: Site, words: tuple[str, ...], point: tuple[str, str], more: str = "") -> None:
    """Run a sow command that is killed, by its own SIGKILL, at a point."""
    module, name = point
    program = write_program(site, "dying.py", DYING.format(module=module, name=name, more=more))
    done = subprocess.run(
        [sys.executable, "-P", str(program), *words],
        cwd=site.root,
        env=site.environment(),
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == -signal.SIGKILL, done


def a_waiting_job(site: Site, state: JobState) -> None:
    """Have a job of 010 that waits in a state; one in backoff or parked has run before."""
    agents(site, CRASHES_ONCE if state in (JobState.BACKOFF, JobState.PARKED) else "")
    if state is JobState.PREPARING:
        # The first turn of a task, alone, is queued at once.
        dies(site, (*SPAWN, "--fresh", "--detach"), ("sow.calls.kinds.work", "_enqueue"))
    else:
        site.sow(*SPAWN, "--detach")
    if state in (JobState.BACKOFF, JobState.PARKED):
        worker = start_worker(site)
        await_state(site, "010", JobState.BACKOFF)
        worker.kill()
        with closing(queue(site)) as database:
            jobs.change_job(database, all_jobs(site)[0].id, state=state)
    assert job_of(site, "010").state is state  # type: ignore[union-attr]
    assert site.task("010")["status"] == "in_progress"


def left_by(state: JobState) -> str:
    return "paused" if state in (JobState.BACKOFF, JobState.PARKED) else "pending"


WAITING = [JobState.PREPARING, JobState.QUEUED, JobState.BACKOFF, JobState.PARKED]


@pytest.mark.one_of
@pytest.mark.parametrize("state", WAITING)
@pytest.mark.parametrize("point", drawn(AFTER_THE_JOB, AFTER_THE_TASK))
def test_a_worker_gives_back_what_a_killed_cancel_did_not(
    site: Site, state: JobState, point: tuple[str, str]
) -> None:
    """The worker has nothing else to do, and leaves at once."""
    a_waiting_job(site, state)
    before = runs(site)
    dies(site, ("agent", "cancel", "010"), point)
    assert job_of(site, "010").state is JobState.CANCELLED  # type: ignore[union-attr]
    drain(site)
    assert site.task("010")["status"] == left_by(state)
    assert job_of(site, "010").outcome_status == left_by(state)  # type: ignore[union-attr]
    assert runs(site) == before
    nothing_is_taken(site)
    assert owing(site) == []


def owing(site: Site) -> list[Any]:
    with closing(queue(site)) as database:
        return jobs.owing(database)


@pytest.mark.one_of
@pytest.mark.parametrize("state", [JobState.QUEUED, JobState.BACKOFF])
def test_the_same_cancel_again_goes_on(site: Site, state: JobState) -> None:
    a_waiting_job(site, state)
    dies(site, ("agent", "cancel", "010"), AFTER_THE_JOB)
    again = site.sow("agent", "cancel", "010", "--json").json
    assert (again["task"], again["state"], again["status"]) == ("010", "cancelled", left_by(state))
    assert site.task("010")["status"] == left_by(state)
    refused = site.sow("agent", "cancel", "010", expect=4)
    assert (
        "nothing to cancel for task 010: job 1 is cancelled already, with the status" in refused.err
    )


def test_who_waits_for_the_job_gives_its_task_back(site: Site) -> None:
    a_waiting_job(site, JobState.QUEUED)
    dies(site, ("agent", "cancel", "010"), AFTER_THE_JOB)
    assert site.sow("agent", "wait", "010", expect=7).out.startswith("010 cancelled, left pending")
    assert site.task("010")["status"] == "pending"


@pytest.mark.parametrize("state", [JobState.QUEUED, JobState.BACKOFF])
def test_the_next_call_of_the_task_finds_it_given_back(site: Site, state: JobState) -> None:
    a_waiting_job(site, state)
    dies(site, ("agent", "cancel", "010"), AFTER_THE_JOB)
    site.sow(*SPAWN, "--detach", "--prompt", "another")
    second = job_of(site, "010")
    assert second is not None
    assert (second.id, second.state, second.prior_status) == (2, JobState.QUEUED, left_by(state))
    assert owing(site) == []
    site.sow("agent", "cancel", "010")
    assert site.task("010")["status"] == left_by(state)


def test_a_job_that_takes_the_task_first_takes_over_what_is_owed(site: Site) -> None:
    """It was about to be put on record when the cancel was killed."""
    a_waiting_job(site, JobState.QUEUED)
    dies(site, ("agent", "cancel", "010"), AFTER_THE_JOB)
    blind = "import sow.calls.kinds as p; p.finish_abandoned = lambda *_: False"
    dies(site, (*SPAWN, "--detach"), ("sow.calls.kinds.work", "_enqueue"), blind)
    second = job_of(site, "010")
    assert second is not None
    assert (second.id, second.prior_status, owing(site)) == (2, "pending", [])
    site.sow("agent", "cancel", "010")
    assert site.task("010")["status"] == "pending"


def test_a_call_killed_while_it_takes_itself_back(site: Site) -> None:
    """It had marked the task when it was interrupted."""
    agents(site)
    interrupted = """
    import sow.calls.kinds.work as p
    mark = p._mark_task
    def marked(*words):
        mark(*words)
        raise KeyboardInterrupt
    p._mark_task = marked
    """
    more = "\n    ".join(line.removeprefix("    ") for line in interrupted.splitlines())
    dies(site, (*SPAWN, "--fresh", "--detach"), AFTER_THE_JOB, more)
    assert site.task("010")["status"] == "in_progress"
    drain(site)
    assert (site.task("010")["status"], runs(site)) == ("pending", 0)


def test_a_cancelled_job_of_a_project_that_is_not_checked_out(site: Site) -> None:
    """It ends at once; its task is given back when the project is there again."""
    a_waiting_job(site, JobState.QUEUED)
    project, aside = site.root / ".sow/project", site.base / "aside"
    project.rename(aside)
    site.change_branch("other")
    site.sow("project", "new", "another")
    assert site.sow("job", "cancel", "1").out.startswith("010 cancelled, left pending (")
    drain(site)
    assert len(owing(site)) == 1
    site.sow("job", "prune", "--older-than", "0s", expect=None)
    project.rename(site.base / "another")
    aside.rename(project)
    site.change_branch("main")
    assert site.task("010")["status"] == "in_progress"
    drain(site)
    assert (site.task("010")["status"], owing(site), runs(site)) == ("pending", [], 0)


MEDDLED = """
    import sqlite3, subprocess, sys, time

    sys.path.insert(0, {folder!r})

    from storm_worker import POINTS

    when, name = {point!r}.split()
    module, attribute = POINTS[name]
    original = getattr(module, attribute)
    meddled = []

    def is_asked():
        with sqlite3.connect(".sow/run/queue.db", timeout=30) as database:
            return database.execute("select cancel_requested_at from job").fetchone()[0]

    def meddle():
        if meddled:
            return
        with open({output!r}, "w") as output:
            meddled.append(subprocess.Popen({words!r}, stdout=output, stderr=output))
        while meddled[0].poll() is None and not is_asked():
            time.sleep(0.01)

    def wrapped(*args, **named):
        if when == "before":
            meddle()
        result = original(*args, **named)
        if when == "after":
            meddle()
        return result

    setattr(module, attribute, wrapped)

    from sow.cli.root import run

    code = run(["worker", *sys.argv[1:]])
    if meddled:
        meddled[0].wait()
        with open({output!r}, "a") as output:
            print("exit", meddled[0].returncode, file=output)
    sys.exit(code)
"""


def meddled_with(site: Site, point: str, *words: str) -> str:
    """Run a worker in which somebody else's sow command comes at a point; return what that said.

    The worker goes on when the command has ended, or has made its request.
    """
    output = site.base / "output"
    text = MEDDLED.format(
        folder=str(Path(storm_worker.__file__).parent),
        point=point,
        words=[str(SOW), *words],
        output=str(output),
    )
    run: WorkerRun = launch_worker(site, "--drain", program=write_program(site, "meddled.py", text))
    assert run.wait() == 0, run.log_text
    assert "Traceback" not in run.log_text, run.log_text
    wait_until(lambda: "\nexit " in output.read_text(), "the command has ended")
    return output.read_text()


@pytest.mark.parametrize(
    "point",
    drawn("before start", "before write_files", "after write_files", "before record_attempt"),
)
def test_a_cancel_between_claim_and_start_is_heeded(site: Site, point: str) -> None:
    """No agent is started, and the task stands as before."""
    agents(site)
    site.sow(*SPAWN, "--detach")
    output = meddled_with(site, point, "agent", "cancel", "010")
    assert output.startswith("010 cancelled, left pending ("), output
    assert output.endswith("exit 0\n")
    assert (runs(site), site.task("010")["status"]) == (0, "pending")
    nothing_is_taken(site)


SETTLING = ["before record_ending", "after record_ending", "before change_task"]


@pytest.mark.one_of
@pytest.mark.parametrize("point", drawn(*SETTLING))
@pytest.mark.parametrize("retries", [3, 0])
def test_a_cancel_while_its_job_is_settled_is_heeded(site: Site, point: str, retries: int) -> None:
    """The agent has crashed; its job would be queued again, or have failed."""
    agents(site, CRASHES_ONCE, retries=retries)
    site.sow(*SPAWN, "--detach")
    output = meddled_with(site, point, "agent", "cancel", "010")
    assert output.startswith("010 cancelled, left paused ("), output
    assert output.endswith("exit 0\n")
    job = job_of(site, "010")
    assert job is not None
    assert (job.state, job.cause, runs(site)) == (JobState.CANCELLED, Cause.CANCELLED, 1)
    assert site.task("010")["status"] == "paused"
    assert "failed" not in (site.task_folder("010") / "log.md").read_text()
    nothing_is_taken(site)


def test_a_cancel_that_comes_when_the_job_has_just_failed_is_told_so(site: Site) -> None:
    agents(site, CRASHES_ONCE, retries=0)
    site.sow(*SPAWN, "--detach")
    output = meddled_with(site, "after change_task", "job", "cancel", "1")
    assert "too late to cancel job 1 of task 010" in output, output
    job = job_of(site, "010")
    assert job is not None
    assert (job.state, site.task("010")["status"]) == (JobState.FAILED, "failed")


def test_a_cancel_of_a_reported_job_that_is_settled_comes_too_late(site: Site) -> None:
    agents(site)
    site.sow(*SPAWN, "--detach")
    output = meddled_with(site, "before change_task", "agent", "cancel", "010")
    assert "too late to cancel job 1 of task 010" in output, output
    assert await_end(site, "010").state is JobState.DONE


PERSON = ("task", "set", "010", "status")


def test_a_task_that_is_in_progress_again_is_never_recorded_as_done(site: Site) -> None:
    """A person takes the report back while the job is settled: the agent is asked once more."""
    agents(site)
    site.sow(*SPAWN, "--detach")
    meddled_with(site, "before change_task", *PERSON, "in_progress")
    job = await_end(site, "010")
    status = site.task("010")["status"]
    assert (job.outcome_status, status) != (status, "in_progress")
    assert job.outcome_status == status
    assert status in ("needs_review", "failed")
    assert (job.state is JobState.DONE) == (status == "needs_review")
    nothing_is_taken(site)


@pytest.mark.one_of
@pytest.mark.parametrize("point", ["after record_ending", "before change_task"])
def test_a_report_that_comes_while_the_job_is_settled_ends_it(site: Site, point: str) -> None:
    """The agent had crashed; nobody runs it again on a task that is reported."""
    agents(site, CRASHES_ONCE)
    site.sow(*SPAWN, "--detach")
    meddled_with(site, point, *PERSON, "needs_review")
    job = await_end(site, "010")
    assert (job.state, job.outcome_status, runs(site)) == (JobState.DONE, "needs_review", 1)
    nothing_is_taken(site)


OVERTAKEN = """
    import subprocess, sys

    from sow.state import tasks

    lock = tasks.locked_folder

    def late(folder, **named):
        subprocess.run({first!r}, check=True)
        return lock(folder, **named)

    tasks.locked_folder = late

    from sow.cli.root import run

    sys.exit(run(sys.argv[1:]))
"""


def test_a_task_that_a_job_takes_while_it_is_being_abandoned_is_not(site: Site) -> None:
    """The job is queued between the command's look and its write."""
    agents(site)
    text = OVERTAKEN.format(first=[str(SOW), *SPAWN, "--detach"])
    abandons = subprocess.run(
        [sys.executable, "-P", write_program(site, "overtaken.py", text), "task", "abandon", "010"],
        cwd=site.root,
        env=site.environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (abandons.returncode, site.task("010")["status"]) == (4, "in_progress")
    assert "job 1 (queued)" in abandons.stderr
    drain(site)
    assert await_end(site, "010").state is JobState.DONE


def test_a_task_whose_agent_is_only_ending_is_not_reopened(site: Site) -> None:
    """Its job would be recorded as done, and the task as pending."""
    agents(site, "sed -i 's/status: in_progress/status: abandoned/' $1/state.yaml; read -r up <go")
    go = site.root / "go"
    os.mkfifo(go)
    site.sow(*SPAWN, "--detach")
    worker = start_worker(site)
    wait_until(lambda: site.task("010")["status"] == "abandoned", "the report")
    refused = site.sow("task", "reopen", "010", expect=4)
    assert "its agent has set the status abandoned and ends soon" in refused.err
    go.write_text("on\n")
    assert await_end(site, "010").outcome_status == "abandoned"
    site.sow("task", "reopen", "010")
    worker.kill()
