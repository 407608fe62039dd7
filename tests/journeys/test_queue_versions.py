"""Two versions of sow on one queue at once: the older one gives way, and nothing runs twice."""

import re
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest
from journeys.callers import (
    await_end,
    await_runs,
    await_waiters,
    exists,
    gate,
    good,
    open_gate,
)
from journeys.first_form import install_first_sow
from journeys.site import Site, wait_until
from journeys.staff import (
    QUICK,
    attempt_of,
    await_supervisor,
    nothing_is_taken,
    start_worker,
    write_program,
)
from standins import read_runs

from sow import __version__
from sow.ids import WorkerId
from sow.jobs.database import FORMAT
from sow.paths import Workspace
from sow.schema.job import Cause, JobState


def migrate_to_the_future(site: Site) -> None:
    """Do to the queue what a sow of the next form would do."""
    with closing(sqlite3.connect(site.root / ".sow/run/queue.db", isolation_level=None)) as file:
        file.execute("begin immediate")
        file.execute("alter table job add column something_new integer not null default 7")
        file.execute("insert or replace into control values ('made_by', '9.9')")
        file.execute(f"pragma user_version = {FORMAT + 1}")
        file.execute("commit")


def undo_the_future(site: Site) -> None:
    with closing(sqlite3.connect(site.root / ".sow/run/queue.db", isolation_level=None)) as file:
        file.execute(f"pragma user_version = {FORMAT}")


def contents(site: Site) -> list[str]:
    with closing(sqlite3.connect(site.root / ".sow/run/queue.db", isolation_level=None)) as file:
        return list(file.iterdump())


NEWER = f"has format {FORMAT + 1}, made by sow 9.9; this sow {__version__} reads up to {FORMAT}"


def test_a_worker_and_a_caller_leave_a_file_that_a_newer_sow_has_taken_over(site: Site) -> None:
    site.configure({"worker": {"autostart": False}})
    site.project("010", "020")
    site.script([good(gate("go"))])
    worker = start_worker(site)
    caller = site.start("agent", "spawn", "implementer", "010")
    await_waiters(site, "010")
    (run,) = await_runs(site)
    await_supervisor(site, 1)
    migrate_to_the_future(site)
    before = contents(site)

    assert worker.wait() == 6
    out, err = caller.communicate(timeout=240)
    assert (caller.returncode, out) == (6, "")
    for words in (err, worker.log_text):
        assert NEWER in words
        assert "Use sow 9.9 or newer." in words
        assert "Traceback" not in words
    assert "leaving 1 agents running; the next worker adopts them" in worker.log_text
    assert exists(run.pid)
    for words in (
        ("agent", "spawn", "implementer", "020"),
        ("agent", "wait", "010"),
        ("agent", "cancel", "010"),
        ("job", "list"),
        ("job", "prune"),
        ("queue", "status"),
        ("worker", "list"),
        ("worker", "stop"),
        ("worker", "--drain"),
    ):
        assert NEWER in site.sow(*words, expect=6).err, words
    assert NEWER in site.sow("doctor", expect=None).out
    assert contents(site) == before, "an older sow has written into a newer file"

    undo_the_future(site)  # what a newer sow would do: take over, adopt, go on
    start_worker(site).wait_for("adopted: attempt 1")
    open_gate(site, "go")
    job = await_end(site, "010")
    assert (job.state, attempt_of(site, job.id).number) == (JobState.DONE, 1)
    assert len(read_runs(site.root)) == 1
    nothing_is_taken(site)


@pytest.mark.one_of
@pytest.mark.parametrize("autostart", [True, False])
def test_a_worker_of_the_first_form_gives_way_to_one_of_this(site: Site, autostart: bool) -> None:
    """The newer call brings the file up to date, asks the older worker to leave, and sees to
    one of its own; that one adopts the agent, which notices nothing."""
    first = install_first_sow(site.base / "first")
    site.configure({"worker": {"autostart": autostart, "idle_exit": "1s"}})
    site.project("010", "020")
    site.script([good(gate("go"))])
    old_spawn = [str(first), "agent", "spawn", "implementer", "010"]
    old = start_worker(site, "worker", program=first)
    caller = subprocess.Popen(
        old_spawn, cwd=site.root, env=site.environment(), stdout=subprocess.PIPE, text=True
    )
    site.started.append(caller)
    (run,) = await_runs(site)
    wait_until(lambda: site.task("010")["status"] == "in_progress")
    copy = site.root / ".sow/run/queue.db.format-1"
    assert not copy.exists()
    if autostart:
        site.sow("agent", "spawn", "implementer", "020", "--detach")
    else:
        new = start_worker(site)
        new.wait_for(f"worker {old.name} is from an older version of sow; it was asked to stop")
        site.sow("agent", "spawn", "implementer", "020", "--detach")
    assert old.wait() == 0, old.log_text
    assert re.search(r"leaving \d agents running; the next worker adopts them", old.log_text), (
        old.log_text
    )
    assert copy.exists()
    assert exists(run.pid)
    await_runs(site, 2)
    open_gate(site, "go")
    for task in ("010", "020"):
        job = await_end(site, task)
        assert (job.state, job.cause) == (JobState.DONE, Cause.REPORTED), site.worker_logs()
        assert attempt_of(site, job.id).number == 1
    out, _ = caller.communicate(timeout=240)
    assert (caller.returncode, out.split()[:2]) == (0, ["010", "needs_review"]), out
    assert len(read_runs(site.root)) == 2


HESITATING = """
    import sys, time
    from pathlib import Path

    from sow.jobs import doorbell, jobs, workers
    from sow.jobs.database import open_existing_queue
    from sow.schema.job import JobState

    ring = workers.wake

    def hesitate(workspace):
        ring(workspace)
        database = open_existing_queue(workspace)
        while doorbell.is_held(Path({lock!r})):
            job = jobs.get_job(database, {job})
            if job.state.is_final or jobs.last_attempt(database, job.id) is not None:
                break
            time.sleep(0.01)
        database.close()

    workers.wake = hesitate

    from sow.cli.root import run

    sys.exit(run(sys.argv[1:]))
"""


def test_a_worker_of_the_first_form_takes_no_job_whose_task_is_to_be_marked(site: Site) -> None:
    """The call is held right after it has rung: the older worker has all the time to take the job.
    It knows no task without a session, and would fail the job for good."""
    first = install_first_sow(site.base / "first")
    site.configure({"worker": {"idle_exit": "1s"}})
    site.project("010")
    old = start_worker(site, "worker", program=first)
    lock = str(Workspace(site.root).worker_lock(WorkerId(old.name)))
    call = write_program(site, "hesitating.py", HESITATING.format(lock=lock, job=1))
    spawn = [sys.executable, "-P", str(call), "agent", "spawn", "implementer", "010", "--detach"]
    subprocess.run(spawn, cwd=site.root, env=site.environment(), check=True)
    assert old.wait() == 0, old.log_text
    assert await_end(site, "010").cause is Cause.REPORTED, old.log_text
    assert len(read_runs(site.root)) == 1


def test_a_worker_of_the_first_form_is_asked_once(site: Site) -> None:
    """A second signal would have it end its agents."""
    first = install_first_sow(site.base / "first")
    site.configure({"worker": QUICK})
    site.project("010")
    site.script([good(gate("go"))])
    spawn = [str(first), "agent", "spawn", "implementer", "010", "--detach"]
    subprocess.run(spawn, cwd=site.root, env=site.environment(), check=True)
    old = start_worker(site, "worker", "--drain", program=first)
    (run,) = await_runs(site)
    newer = [start_worker(site), start_worker(site)]
    site.sow("agent", "wait", "010", "--wait", "1s", expect=75)
    old.wait_for("draining: waiting for 1 agents")
    assert sum("it was asked to stop" in each.log_text for each in newer) == 1
    assert "ending" not in old.log_text.replace("a second signal ends them", "")
    assert exists(run.pid)
    open_gate(site, "go")
    assert await_end(site, "010").state is JobState.DONE
    assert len(read_runs(site.root)) == 1
    old.wait()
