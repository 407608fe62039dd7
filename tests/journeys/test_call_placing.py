"""A caller that dies at any step of placing its job (DESIGN, "The call", steps 1 to 4).

Recovery undoes a `preparing` job whose caller is dead, or completes it where
the state is already on disk; so does the next call of the task. The first turn
of a task is queued at once, and a worker marks the task if its call is killed.
The callers are held up from outside, by a slow `cursor-agent create-chat`, by
the task's own lock and by the queue's; only a kill between the commit of a
first turn and its mark is a caller's own.
"""

import os
import random
import signal
import stat
import subprocess
import sys
import time
from contextlib import suppress
from functools import partial

import pytest
from journeys.callers import (
    all_jobs,
    await_end,
    await_state,
    end,
    good,
    job_of,
    open_gate,
    stopped_before_queueing,
    task_lock,
)
from journeys.site import Site, wait_until
from journeys.staff import write_program
from standins import read_runs

from sow.schema.job import JobState

SPAWN = ("agent", "spawn", "implementer", "010")
OTHER_ROLE = ("agent", "spawn", "tester", "010", "--reassign")
"""A spawn that marks its task before it queues its job, as a resume does."""
RESUME = ("agent", "resume", "010", "Go on.")
CURSOR = {
    "agents": {
        "executors": {"cursor": {"settings": {"yolo_mode": True}}},
        "bindings": {"implementer": "cursor"},
    }
}


def slow_create_chat(site: Site, then: str = "") -> None:
    """Put a `cursor-agent` on PATH that makes a chat only once the gate `chat` is open."""
    folder = site.base / "slow-bin"
    folder.mkdir()
    (site.root / ".standin").mkdir(exist_ok=True)
    gates = site.root / ".standin"
    wrapper = folder / "cursor-agent"
    wrapper.write_text(
        "#!/bin/sh\n"
        'if [ "$1" = create-chat ]; then\n'
        f"  touch {gates}/creating\n"
        f"  while [ ! -e {gates}/chat.gate ]; do sleep 0.02; done\n"
        f"  {then}\n"
        "fi\n"
        f'exec {site.base}/bin/cursor-agent "$@"\n'
    )
    wrapper.chmod(wrapper.stat().st_mode | stat.S_IXUSR)
    site.env["PATH"] = f"{folder}{os.pathsep}{site.env['PATH']}"


def calling_create_chat(site: Site, *words: str) -> subprocess.Popen[str]:
    """Start a call and return when it waits for its new session."""
    site.project("010")
    site.configure(CURSOR)
    site.script([good()])
    slow_create_chat(site)
    caller = site.start(*(words or SPAWN))
    wait_until((site.root / ".standin/creating").exists, "create-chat")
    return caller


def killed_before_marking(site: Site, *words: str) -> None:
    """Kill a call that has its session and waits to take the task."""
    with task_lock(site):
        caller = site.start(*words)
        await_state(site, "010", JobState.PREPARING)
        end(caller)


def test_killed_while_its_session_is_made_the_same_call_begins_anew(site: Site) -> None:
    end(calling_create_chat(site))
    assert (site.task("010")["status"], all_jobs(site)[0].state) == ("pending", JobState.PREPARING)
    open_gate(site, "chat")
    assert site.sow(*SPAWN).out.startswith("010 needs_review")
    assert [job.state for job in all_jobs(site)] == [JobState.CANCELLED, JobState.DONE]
    assert len(read_runs(site.root)) == 1


def test_killed_while_its_session_is_made_another_call_is_not_refused(site: Site) -> None:
    end(calling_create_chat(site))
    open_gate(site, "chat")
    site.sow(*SPAWN, "--prompt", "More.")
    assert len(read_runs(site.root)) == 1


def test_killed_while_its_session_is_made_a_worker_undoes_it(site: Site) -> None:
    end(calling_create_chat(site))
    open_gate(site, "chat")
    site.sow("worker", "--drain")
    (job,) = all_jobs(site)
    assert (job.state, job.reason) == (
        JobState.CANCELLED,
        "its caller died before the job was queued",
    )
    task = site.task("010")
    assert (task["status"], "session_id" in task) == ("pending", False)
    assert read_runs(site.root) == []
    assert site.sow(*SPAWN).out.startswith("010 needs_review")


@pytest.mark.one_of
@pytest.mark.parametrize("words", [OTHER_ROLE, RESUME])
def test_killed_before_it_took_the_task(site: Site, words: tuple[str, ...]) -> None:
    """A session was chosen, and an answer is in the log; the task is as it was."""
    site.project("010")
    site.script([good()])
    before = 0
    if words is RESUME:
        site.sow(*SPAWN)
        before = 1
    status = site.task("010")["status"]
    killed_before_marking(site, *words)
    assert site.task("010")["status"] == status
    assert site.sow(*words).out.startswith("010 needs_review")
    assert site.task("010")["iteration"] == 1 + before
    assert len(read_runs(site.root)) == 1 + before


def test_the_first_turn_of_a_task_is_killed_before_it_is_on_record(site: Site) -> None:
    """It waits for the task's lock first."""
    site.project("010")
    site.script([good()])
    with task_lock(site):
        caller = site.start(*SPAWN)
        wait_until(lambda: list(site.task_folder("010").glob(".state.yaml.*.tmp")), "its draft")
        assert all_jobs(site) == []
        end(caller)
    assert (all_jobs(site), site.task("010")["status"]) == ([], "pending")
    assert site.sow(*SPAWN).out.startswith("010 needs_review")
    assert list(site.task_folder("010").glob(".*.tmp")) == []


DYING = """
    import os, signal, sys

    import sow.state.statefiles as module

    def die(*_, **__):
        os.kill(os.getpid(), signal.SIGKILL)

    module.write_atomically = die

    from sow.cli.root import run

    sys.exit(run(sys.argv[1:]))
"""


def killed_before_its_mark(site: Site, *words: str) -> None:
    """Have a call of a task's first turn killed between its job's commit and the task's mark."""
    program = write_program(site, "dying.py", DYING)
    argv = [sys.executable, "-P", str(program), *words]
    done = subprocess.run(argv, cwd=site.root, env=site.environment(), timeout=240, check=False)
    assert done.returncode == -signal.SIGKILL
    assert (job_of(site, "010") or all_jobs(site)[0]).state is JobState.QUEUED
    assert site.task("010")["status"] == "pending"


def test_killed_before_the_mark_of_a_first_turn_the_same_call_goes_on_with_it(site: Site) -> None:
    site.project("010")
    site.script([good()])
    killed_before_its_mark(site, *SPAWN)
    assert site.sow(*SPAWN).out.startswith("010 needs_review")
    assert len(all_jobs(site)) == len(read_runs(site.root)) == 1
    assert site.task("010")["session_id"] == read_runs(site.root)[0].session_id


def test_killed_before_the_mark_of_a_first_turn_a_worker_makes_it_and_its_outcome_is_owed(
    site: Site,
) -> None:
    site.project("010")
    site.script([good()])
    killed_before_its_mark(site, *SPAWN)
    site.sow("worker", "--drain")
    assert await_end(site, "010").state is JobState.DONE
    assert site.task("010")["status"] == "needs_review"
    assert site.sow(*SPAWN).out.startswith("outcome of job 1")
    assert len(read_runs(site.root)) == 1


def test_killed_before_the_mark_of_a_first_turn_it_can_be_cancelled(site: Site) -> None:
    site.project("010")
    site.script([good()])
    killed_before_its_mark(site, *SPAWN)
    site.sow("agent", "cancel", "010")
    assert site.task("010")["status"] == "pending"
    site.sow("worker", "--drain")
    assert read_runs(site.root) == []
    assert site.sow(*SPAWN).out.startswith("010 needs_review")


@pytest.mark.one_of
@pytest.mark.parametrize("words", [OTHER_ROLE, RESUME])
def test_killed_before_it_queued_the_job_the_same_call_goes_on_with_it(
    site: Site, words: tuple[str, ...]
) -> None:
    site.project("010")
    site.script([good()])
    before = 0
    if words is RESUME:
        site.sow(*SPAWN)
        before = 1
    assert stopped_before_queueing(site, signal.SIGKILL, *words) == -signal.SIGKILL
    assert site.task("010")["status"] == "in_progress"
    assert site.sow(*words).out.startswith("010 needs_review")
    assert site.task("010")["iteration"] == 1 + before
    assert len(all_jobs(site)) == len(read_runs(site.root)) == 1 + before


def test_killed_before_it_queued_the_job_a_worker_queues_it_and_its_outcome_is_owed(
    site: Site,
) -> None:
    site.project("010")
    site.script([good()])
    stopped_before_queueing(site, signal.SIGKILL, *OTHER_ROLE)
    site.sow("worker", "--drain")
    assert await_end(site, "010").state is JobState.DONE
    assert site.sow(*OTHER_ROLE).out.startswith("outcome of job 1")
    site.sow(*OTHER_ROLE, expect=4)
    assert len(read_runs(site.root)) == 1


def test_a_call_that_cannot_wait_queues_nothing(site: Site) -> None:
    """Its bell hangs before its job is on record; here a file is in the way of the bell."""
    site.project("010")
    site.script([good()])
    site.sow("agent", "wait", "010", expect=4)  # makes the queue
    folder = site.root / ".sow/run/waiters"
    folder.rmdir()
    folder.touch()
    refused = site.sow(*SPAWN, expect=6)
    assert f"Error: cannot wait: {folder}" in refused.err
    folder.unlink()
    assert (all_jobs(site), site.task("010")["status"]) == ([], "pending")
    assert site.sow(*SPAWN).out.startswith("010 needs_review")


def test_a_detached_call_that_is_killed_is_owed_nothing(site: Site) -> None:
    site.project("010")
    site.script([good()])
    stopped_before_queueing(site, signal.SIGKILL, *OTHER_ROLE, "--detach")
    site.sow("worker", "--drain")
    assert await_end(site, "010").state is JobState.DONE
    assert "task 010 is needs_review" in site.sow(*OTHER_ROLE, expect=4).err


@pytest.mark.one_of
@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_interrupted_while_its_session_is_made_it_leaves_nothing(
    site: Site, signum: signal.Signals
) -> None:
    caller = calling_create_chat(site)
    _, err = end(caller, signum)
    assert caller.returncode == 130
    assert "Traceback" not in err
    (job,) = all_jobs(site)
    assert (job.state, site.task("010")["status"]) == (JobState.CANCELLED, "pending")
    open_gate(site, "chat")
    assert site.sow(*SPAWN).out.startswith("010 needs_review")


@pytest.mark.one_of
@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_interrupted_before_it_queued_the_job_it_loses_nothing(
    site: Site, signum: signal.Signals
) -> None:
    site.project("010")
    site.script([good()])
    assert stopped_before_queueing(site, signum, *OTHER_ROLE) == 130
    assert "010 needs_review" in site.sow(*OTHER_ROLE).out
    assert len(read_runs(site.root)) == 1


def test_cancelled_while_its_session_is_made(site: Site) -> None:
    """7: job cancelled; the task is as it was."""
    caller = calling_create_chat(site)
    site.sow("agent", "cancel", "010")
    open_gate(site, "chat")
    out, err = caller.communicate(timeout=240)
    assert (caller.returncode, out) == (7, "")
    assert "job 1 of task 010 was cancelled before sow had queued it" in err
    assert site.task("010")["status"] == "pending"
    assert read_runs(site.root) == []
    assert site.sow(*SPAWN).out.startswith("010 needs_review")


def test_a_session_that_cannot_be_made_leaves_nothing(site: Site) -> None:
    site.project("010")
    site.configure(CURSOR)
    site.script([good()])
    slow_create_chat(site, then="[ -e .standin/login ] || { echo 'not logged in' >&2; exit 1; }")
    open_gate(site, "chat")
    refused = site.sow(*SPAWN, expect=5)
    assert "`cursor-agent create-chat` failed with exit code 1: not logged in" in refused.err
    assert site.task("010")["status"] == "pending"
    (site.root / ".standin/login").touch()
    assert site.sow(*SPAWN).out.startswith("010 needs_review")


def test_the_same_call_waits_while_the_first_one_still_makes_its_session(site: Site) -> None:
    first = calling_create_chat(site)
    second = site.start(*SPAWN)
    assert second.stderr is not None
    assert "waiting for job 1" in second.stderr.readline()
    open_gate(site, "chat")
    for caller in (first, second):
        caller.communicate(timeout=240)
    assert (first.returncode, second.returncode) == (0, 0)
    assert len(all_jobs(site)) == len(read_runs(site.root)) == 1


@pytest.mark.storm
def test_killed_at_any_moment_the_same_call_gets_the_outcome_of_one_run(site: Site) -> None:
    """The second call gets what the first has not printed, and each task's agent has run once."""
    tasks = [f"{number}0" for number in range(10, 20)]
    site.project("010", *tasks)
    site.script([good()])
    site.sow(*SPAWN)
    begun = time.monotonic()
    site.sow(*RESUME)
    whole = time.monotonic() - begun
    for number, task in enumerate(tasks):
        caller = site.start("agent", "spawn", "implementer", task)
        if number % 2:  # on a busy machine, time alone may end each call before it has a job
            wait_until(partial(job_of, site, task), "the call has placed its job")
        moment = whole * (number + random.random()) / len(tasks)
        with suppress(subprocess.TimeoutExpired):
            caller.wait(timeout=moment)
        caller.kill()
        out, _ = caller.communicate(timeout=240)
        again = site.sow("agent", "spawn", "implementer", task, expect=None)
        assert again.code == 0 or (again.code == 4 and "needs_review" in out), (moment, again)
    assert [run.task for run in read_runs(site.root)][2:] == tasks
    assert all(job.state.is_final for job in all_jobs(site))
