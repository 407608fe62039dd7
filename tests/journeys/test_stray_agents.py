"""The queue's file is removed or put back from a copy while an agent runs: no second one begins."""

import os
import pty
import shutil
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest
from journeys.callers import (
    all_jobs,
    await_end,
    await_runs,
    await_state,
    exists,
    gate,
    good,
    open_gate,
)
from journeys.site import SOW, Site, wait_until
from journeys.staff import QUICK, kill, start_worker
from standins import read_runs

from sow.schema.job import JobState


@pytest.mark.one_of
@pytest.mark.parametrize("removed", ["run", "run/queue.db"])
def test_no_task_is_admitted_while_an_agent_that_is_not_on_record_carries_it(
    site: Site, removed: str
) -> None:
    site.configure({"worker": QUICK})
    site.project("010", "020")
    site.script([good(gate("go")), good()], "010")
    site.sow("agent", "spawn", "implementer", "010", "--detach")
    worker = start_worker(site)
    (run,) = await_runs(site)
    worker.kill()
    remove(site.root / ".sow" / removed)
    for words in (("resume", "010", "go on"), ("spawn", "implementer", "010", "--fresh")):
        refused = site.sow("agent", *words, expect=4)
        assert f"task 010: process {run.pid} (attempt 1.1." in refused.err
        assert f"`kill {run.pid}`" in refused.err
    refused = open_on_terminal(site, "010")
    assert (refused.returncode, f"process {run.pid} " in refused.stderr) == (4, True)
    assert all_jobs(site) == []
    assert site.task("010")["status"] == "in_progress"
    site.sow("agent", "spawn", "implementer", "020", "--detach")  # nobody works on that one
    kill(run.pid)
    start_worker(site)
    wait_until(lambda: site.sow("agent", "resume", "010", "go on", expect=None).code == 0, "a way")
    assert len([each for each in read_runs(site.root) if each.task == "010"]) == 2
    assert await_end(site, "020").state is JobState.DONE


def open_on_terminal(site: Site, task: str) -> subprocess.CompletedProcess[str]:
    """Call `sow agent open` where it has a terminal, and see it end."""
    keyboard, screen = pty.openpty()
    try:
        return subprocess.run(
            [str(SOW), "agent", "open", task],
            cwd=site.root,
            env=site.environment(),
            stdin=screen,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
    finally:
        os.close(keyboard)
        os.close(screen)


def remove(path: Path) -> None:
    """Remove a folder, or a queue's file with all that belongs to it."""
    if path.is_dir():
        shutil.rmtree(path)
        return
    for each in path.parent.glob(f"{path.name}*"):
        each.unlink()


@pytest.mark.one_of
@pytest.mark.parametrize("way", ["written over it", "in the place of the removed file"])
def test_a_queue_put_back_from_a_copy_starts_no_second_agent(site: Site, way: str) -> None:
    """In the copy the job is queued, as in the file without its log; its agent runs."""
    site.configure({"worker": QUICK})
    site.project("010")
    site.script([good(gate("go"))], "010")
    site.sow("agent", "spawn", "implementer", "010", "--detach")
    queue, copy = site.root / ".sow/run/queue.db", site.base / "copy.db"
    with closing(sqlite3.connect(queue)) as source, closing(sqlite3.connect(copy)) as target:
        source.backup(target)
    worker = start_worker(site)
    (run,) = await_runs(site)
    worker.kill()
    for each in queue.parent.glob(f"{queue.name}-*"):
        each.unlink()
    if way == "in the place of the removed file":
        queue.unlink()
    shutil.copyfile(copy, queue)
    heir = start_worker(site)
    if way == "in the place of the removed file":
        heir.wait_for("was not made by you in this checkout, so sow runs none of its jobs")
    heir.wait_for("an agent that is not in the queue works on task 010")
    job = await_state(site, "010", JobState.BACKOFF)
    assert f"process {run.pid} " in job.reason
    assert (job.retries, job.postponements) == (0, 0)
    open_gate(site, "go")
    wait_until(lambda: not exists(run.pid), "the agent has ended")
    assert await_end(site, "010").state is JobState.DONE
    assert len(read_runs(site.root)) == 1
    assert site.task("010")["status"] == "needs_review"
