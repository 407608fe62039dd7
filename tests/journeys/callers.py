"""What the journeys of the call share: steps of scripts, gates, the queue's own records."""

import fcntl
import os
import re
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from journeys.site import Site, wait_until
from standins import Run, read_runs

from sow.ids import JobId
from sow.jobs import doorbell, jobs, waiters
from sow.jobs.database import Database, open_existing_queue
from sow.paths import Workspace
from sow.schema.job import Job, JobState

Step = dict[str, Any]

HANG: list[Step] = [{"hang": True}]


def report(status: str = "needs_review") -> Step:
    """The agent sets its task's status."""
    return {"sow": ["task", "set", "status", status]}


def gate(name: str) -> Step:
    """The agent waits until the test opens the gate of this name."""
    return {"wait_for": f".standin/{name}.gate"}


def open_gate(site: Site, name: str) -> None:
    """Let the agents that wait at a gate go on."""
    (site.root / ".standin" / f"{name}.gate").touch()


def good(*steps: Step) -> list[Step]:
    """A run that takes these steps and then reports."""
    return [*steps, report()]


def besides_news(err: str) -> str:
    """Return what a call has written to stderr but for the lines that tell how its jobs go.

    On a slow machine any call may wait for the two seconds after which it prints them.
    """
    lines = err.splitlines(keepends=True)
    return "".join(line for line in lines if not re.match(r"\d\d:\d\d:\d\d  ", line))


def queue(site: Site) -> Database:
    """Open the queue's records."""
    database = open_existing_queue(Workspace(site.root))
    assert database is not None, "nothing was ever queued"
    return database


def all_jobs(site: Site) -> list[Job]:
    """Return every job on record, oldest first."""
    if not Workspace(site.root).queue_db.exists():
        return []
    with closing(queue(site)) as database:
        return jobs.recent_jobs(database, limit=1000)[::-1]


def job_of(site: Site, task: str) -> Job | None:
    """Return the newest job of a task, if any."""
    found = [job for job in all_jobs(site) if job.task_id == task]
    return found[-1] if found else None


def ledger(site: Site, job: int = 1) -> list[tuple[str, str]]:
    """Return what each attempt of a job was told to do, and why it ended."""
    return [(each["verb"], each["cause"]) for each in site.job(job)["attempts"]]


def await_state(site: Site, task: str, *states: JobState) -> Job:
    """Wait until the newest job of a task is in one of these states."""

    def found() -> Job | None:
        job = job_of(site, task)
        return job if job is not None and job.state in states else None

    what = f"task {task}: a job that is {' or '.join(states)}"
    try:
        job: Job = wait_until(found, what)
    except AssertionError:
        raise AssertionError(f"{what}: {job_of(site, task)}\n{site.worker_logs()}") from None
    return job


def await_end(site: Site, task: str) -> Job:
    """Wait until the newest job of a task has ended."""
    return await_state(site, task, *(state for state in JobState if state.is_final))


def await_runs(site: Site, count: int = 1) -> list[Run]:
    """Wait until so many agents have started."""
    wait_until(lambda: len(read_runs(site.root)) >= count, f"{count} runs")
    return read_runs(site.root)


def claimants_of(site: Site, job: int) -> list[str]:
    """Return who waits for a job's outcome, or is owed it."""
    with closing(queue(site)) as database:
        return waiters.of_job(database, JobId(job))


def callers_of(site: Site, job: int) -> list[str]:
    """Return who waits for a job now."""
    workspace = Workspace(site.root)
    claimants = claimants_of(site, job)
    return [each for each in claimants if doorbell.is_held(waiters.bell_path(workspace, each))]


def await_waiters(site: Site, task: str, count: int = 1) -> Job:
    """Wait until a task has a job that is queued, and that so many callers wait for."""

    def found() -> Job | None:
        job = job_of(site, task)
        if job is None or job.state is JobState.PREPARING:
            return None
        return job if len(callers_of(site, job.id)) >= count else None

    job: Job = wait_until(found, f"{count} callers that wait for {task}")
    return job


def end(process: subprocess.Popen[str], signum: signal.Signals = signal.SIGKILL) -> tuple[str, str]:
    """Send a signal to a caller and return what it said, once it is gone."""
    os.kill(process.pid, signum)
    out, err = process.communicate(timeout=240)
    return out, err


def killed_caller(site: Site, *words: str, task: str = "010") -> Job:
    """Make a call, kill the caller while the agent runs, and return the job that goes on."""
    runs = len(read_runs(site.root))
    caller = site.start(*words)
    await_waiters(site, task)
    job = await_state(site, task, JobState.RUNNING)
    await_runs(site, runs + 1)
    end(caller)
    return job


@contextmanager
def queue_lock(site: Site) -> Iterator[None]:
    """Hold the queue's write lock, as a transaction does."""
    database = sqlite3.connect(site.root / ".sow/run/queue.db", isolation_level=None, timeout=30)
    try:
        database.execute("begin immediate")
        yield
    finally:
        database.close()


def process_state(pid: int) -> str:
    """Return the letter that proc(5) gives a process's state: R, S, D, T, Z."""
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]


def await_standstill(processes: Sequence[subprocess.Popen[str]]) -> None:
    """Wait until each process has opened the queue and has slept at ten looks in a row."""
    looks = dict.fromkeys((process.pid for process in processes), 0)

    def asleep(pid: int) -> bool:
        return process_state(pid) == "S" and "queue.db" in open_files(pid)

    def all_stand() -> bool:
        for pid in looks:
            looks[pid] = looks[pid] + 1 if asleep(pid) else 0
        return min(looks.values()) >= 10

    wait_until(all_stand, "a standstill")


def open_files(pid: int) -> set[str]:
    """Return the names of the files that a process has open."""
    names = set()
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(OSError):  # closed in this moment
            names.add(descriptor.readlink().name)
    return names


def exists(pid: int) -> bool:
    """Whether a process runs (a zombie does not)."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rsplit(")", 1)[1].split()[0] not in "ZX"


def statuses(site: Site, tasks: Sequence[str]) -> list[str]:
    """Return the statuses of tasks as they stand on disk."""
    return [site.task(task)["status"] for task in tasks]


@contextmanager
def task_lock(site: Site) -> Iterator[None]:
    """Hold the lock of task 010, as a write of its state does."""
    folder = os.open(site.task_folder("010"), os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def stopped_before_queueing(site: Site, signum: signal.Signals, *words: str) -> int:
    """Signal a call that has marked the task and waits to queue its job; return its exit code.

    It is not the first turn of a task: that is queued before the task is marked.
    """
    with task_lock(site):
        caller = site.start(*words)
        await_state(site, "010", JobState.PREPARING)
        lock = queue_lock(site)
        lock.__enter__()
    try:
        wait_until(lambda: site.task("010")["status"] == "in_progress", "the mark")
        os.kill(caller.pid, signum)
        if signum == signal.SIGKILL:
            caller.wait(timeout=240)
    finally:
        lock.__exit__(None, None, None)
    caller.communicate(timeout=240)
    return caller.returncode


def cancelled_without_a_word(site: Site, task: str = "010") -> None:
    """Cancel a task's job, to its end, with a command that dies before it prints anything."""
    program = f"""
import os, sys
from sow.__main__ import main
from sow.cli import cancel
cancel._show = lambda *_, **__: os._exit(9)
sys.argv = ["sow", "agent", "cancel", "{task}"]
main()
"""
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=site.root, env=site.environment(), check=False
    )
    assert done.returncode == 9
