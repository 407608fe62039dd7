"""The queue's files removed, replaced or cut off under whoever uses them: the right words, and a
working sow after doing what they say."""

import os
import re
import shutil
import signal
import sqlite3
import subprocess
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import pytest
from journeys.callers import (
    all_jobs,
    await_end,
    await_runs,
    await_state,
    await_waiters,
    exists,
    gate,
    good,
    open_gate,
    queue,
)
from journeys.site import Result, Site, wait_until
from journeys.staff import QUICK, await_supervisor, start_worker
from standins import read_runs

from sow.jobs import jobs
from sow.schema.job import JobState

NAMES = ("queue.db", "queue.db-wal", "queue.db-shm")
READING = (
    ("job", "list"),
    ("job", "prune"),
    ("job", "show", "1"),
    ("queue", "status"),
    ("worker", "list"),
    ("worker", "stop"),
)
ASKING = (
    ("agent", "spawn", "implementer", "020"),
    ("agent", "wait", "010"),
    ("agent", "cancel", "010"),
    ("queue", "pause"),
    ("worker", "--drain"),
)


def run_folder(site: Site) -> Path:
    return site.root / ".sow/run"


def files(site: Site) -> list[Path]:
    return [run_folder(site) / name for name in NAMES]


def command_in(hint: str, which: int = -1) -> str:
    """Return one of the shell commands that a hint prints, by default the last."""
    found: str = re.findall(r"^ {4}(\(cd .*\))$", hint, re.MULTILINE)[which]
    return found


def obey(site: Site, result: Result, which: int = -1) -> None:
    """Do exactly what the hint says."""
    subprocess.run(command_in(result.err, which), shell=True, cwd="/", check=True)


def remove_all(site: Site) -> None:
    for path in files(site):
        path.unlink(missing_ok=True)


def remove_run(site: Site) -> None:
    shutil.rmtree(run_folder(site))


def remove_log(site: Site) -> None:
    files(site)[1].unlink()


def remove_file(site: Site) -> None:
    files(site)[0].unlink()


def replace_file(site: Site) -> None:
    """Put an older copy of the file into its place, under another inode."""
    draft = site.base / "old-copy"
    shutil.copy(site.base / "backup.db", draft)
    draft.replace(files(site)[0])


def overwrite_file(site: Site) -> None:
    """Put an older copy into the file itself, as `cp` does."""
    files(site)[0].write_bytes((site.base / "backup.db").read_bytes())


def fill_with_garbage(site: Site) -> None:
    size = files(site)[0].stat().st_size
    files(site)[0].write_bytes(b"no database at all" * (size // 18))


def back_up(site: Site) -> None:
    """Queue and end a job, so that there is a queue, and keep a copy of its file.

    What follows goes into the file itself: the log that comes then does not continue the copy.
    """
    site.configure({"worker": QUICK})
    site.project("000", "010", "020")
    site.sow("agent", "spawn", "implementer", "000", "--detach")
    site.sow("agent", "cancel", "000")
    assert not files(site)[1].exists(), "the file is whole by itself"
    shutil.copy(files(site)[0], site.base / "backup.db")
    site.sow("queue", "pause")
    site.sow("queue", "resume")
    with closing(sqlite3.connect(files(site)[0])) as file:
        file.execute("pragma wal_checkpoint(truncate)")


def busy(site: Site) -> tuple[subprocess.Popen[str], int]:
    """Have an agent run under a background worker while a caller waits; return caller and agent."""
    back_up(site)
    site.configure({"worker": {"idle_exit": "1s"}})
    site.script([good(gate("go"))], "010")
    caller = site.start("agent", "spawn", "implementer", "010")
    await_waiters(site, "010")
    (run,) = await_runs(site)
    await_supervisor(site, 2)
    return caller, run.pid


@pytest.mark.one_of
@pytest.mark.parametrize(
    "lose",
    [
        remove_all,
        remove_run,
        remove_file,
        remove_log,
        overwrite_file,
        fill_with_garbage,
    ],
)
def test_callers_and_workers_leave_a_queue_that_is_gone(
    site: Site, lose: Callable[[Site], None]
) -> None:
    caller, agent = busy(site)
    (worker,) = site.workers()
    log = next(run_folder(site).glob("workers/*.log"))
    with log.open() as lines:
        lose(site)
        out, err = caller.communicate(timeout=240)
        wait_until(lambda: not exists(worker["pid"]), "the worker leaves")
        words = lines.read()
    assert (caller.returncode, out) == (6, ""), err
    if lose is overwrite_file:
        assert "do not belong together" in err
    elif lose is fill_with_garbage:
        assert "is not a SQLite database" in err
        for deed in ("settled", "looked at"):
            assert f"cannot be {deed} yet" not in words
    else:
        assert "was removed or replaced while this call waited" in err
        assert "Running agents continue" in err
        assert "`sow task show 010`" in err
    assert "; leaving" in words
    assert "leaving 1 agents running" in words
    for text in (err, words):
        assert "Traceback" not in text
        assert "bug" not in text
    assert exists(agent)
    assert site.task("010")["status"] == "in_progress"

    result = site.sow("agent", "spawn", "implementer", "020", expect=None)
    if result.code == 6:
        obey(site, result)
        result = site.sow("agent", "spawn", "implementer", "020")
    assert result.code == 0, result
    assert site.task("020")["status"] == "needs_review"
    open_gate(site, "go")
    wait_until(lambda: site.task("010")["status"] == "needs_review", "the agent reports by itself")
    wait_until(lambda: not exists(agent), "the agent ends")
    assert sorted(run.task for run in read_runs(site.root)) == ["010", "020"]


def test_a_file_put_into_the_place_of_ours_costs_nothing(site: Site) -> None:
    """As a pull does, under a worker and a caller: who calls next gives our own its name again."""
    caller, agent = busy(site)
    replace_file(site)
    printed = site.sow("job", "list").err
    open_gate(site, "go")
    caller.communicate(timeout=240)
    if caller.returncode == 6:  # it looked while the other file was there
        site.sow("agent", "wait", "010")
    job = await_end(site, "010")
    assert (job.state, job.id) == (JobState.DONE, 2)
    wait_until(lambda: not exists(agent), "the agent ends")
    assert [run.task for run in read_runs(site.root)] == ["010"]
    aside = run_folder(site) / "aside/unproven-1/queue.db"
    assert aside.read_bytes() == (site.base / "backup.db").read_bytes()
    assert "your own file was put back" in printed + site.worker_logs()


@pytest.mark.one_of
@pytest.mark.parametrize("told_to_leave", [False, True])
def test_a_worker_in_front_ends_with_what_has_become_of_its_queue(
    site: Site, told_to_leave: bool
) -> None:
    """Also one that drains: nothing of its agents can be put on record any more."""
    back_up(site)
    site.script([good(gate("go"))], "010")
    site.sow("agent", "spawn", "implementer", "010", "--detach")
    worker = site.start("worker", *(["--drain"] if told_to_leave else []))
    (run,) = await_runs(site)
    await_supervisor(site, 2)
    if told_to_leave:
        worker.send_signal(signal.SIGTERM)
        assert worker.stderr is not None
        for line in worker.stderr:
            if "draining" in line:
                break
    fill_with_garbage(site)
    _, words = worker.communicate(timeout=240)
    assert worker.returncode == 6, words
    assert "is not a SQLite database; sow did not change it; leaving" in words
    assert "leaving 1 agents running; their tasks will show how they ended" in words
    assert "Error: the queue file" in words
    assert "mkdir -p" in words
    assert "Traceback" not in words
    assert exists(run.pid)
    open_gate(site, "go")
    wait_until(lambda: site.task("010")["status"] == "needs_review", "the agent reports by itself")
    wait_until(lambda: not exists(run.pid), "the agent ends")


@pytest.mark.one_of
@pytest.mark.parametrize("lose", [remove_all, replace_file])
def test_a_new_job_does_not_wait_for_the_worker_of_a_lost_queue(
    site: Site, lose: Callable[[Site], None]
) -> None:
    """Its lock file stays, and `--detach` looks only once whether anybody works."""
    caller, agent = busy(site)
    caller.kill()
    caller.communicate()
    (worker,) = site.workers()
    os.kill(worker["pid"], signal.SIGSTOP)  # it has not noticed yet
    lose(site)
    for path in files(site)[1:]:
        path.unlink(missing_ok=True)
    result = site.sow("agent", "spawn", "implementer", "020", "--detach")
    assert result.code == 0
    os.kill(worker["pid"], signal.SIGCONT)
    assert await_end(site, "020").state is JobState.DONE
    wait_until(lambda: not exists(worker["pid"]), "the worker of the lost queue leaves")
    open_gate(site, "go")
    wait_until(lambda: not exists(agent), "the agent ends")
    assert sorted(run.task for run in read_runs(site.root)) == ["010", "020"]


@pytest.fixture
def dead(site: Site) -> Site:
    """A queue with a queued job and one that ended, and the files that killed processes leave."""
    back_up(site)
    worker = start_worker(site)
    site.script([good(gate("go"))], "010")
    site.sow("agent", "spawn", "implementer", "010", "--detach")
    (run,) = await_runs(site)
    await_supervisor(site, 2)
    worker.kill()
    open_gate(site, "go")
    wait_until(lambda: not exists(run.pid), "the agent ends")
    assert files(site)[1].stat().st_size > 0, "killed processes leave a log behind"
    return site


def works(site: Site) -> None:
    """Fail unless every command answers, and a job goes through."""
    for words in READING:
        result = site.sow(*words, expect=None)
        assert result.code == 0 or "no job 1" in result.err, result
    assert "[ERROR]" not in site.sow("doctor", expect=None).out
    site.sow("agent", "spawn", "implementer", "020", "--detach")
    start_worker(site, "--drain").wait()
    assert await_end(site, "020").state is JobState.DONE
    with closing(queue(site)) as database:
        assert database.rows("pragma integrity_check")[0][0] == "ok"
    assert [run.task for run in read_runs(site.root)].count("020") == 1


def refused(site: Site, commands: Sequence[Sequence[str]], words: str) -> Result:
    """Fail unless every command says these words and exits 6, all of them with the same remedy."""
    results = [site.sow(*command, expect=None) for command in commands]
    for command, result in zip(commands, results, strict=True):
        assert (result.code, result.out) == (6, ""), (command, result)
        assert words in result.err, (command, result.err)
        assert "bug" not in result.err
        assert "mkdir -p" in result.err, (command, result.err)
    return results[-1]


def test_what_a_removed_file_has_left_is_never_replayed_into_the_next(dead: Site) -> None:
    log = files(dead)[1].read_bytes()
    remove_file(dead)
    for words in READING:
        result = dead.sow(*words, expect=None)
        assert result.code == 0 or "no job 1" in result.err, result
    works(dead)
    assert (run_folder(dead) / "aside/1/queue.db-wal").read_bytes() == log
    assert [job.task_id for job in all_jobs(dead)] == ["020"]
    assert all_jobs(dead)[0].id == 3, "a number is not given twice"


def test_a_file_that_was_put_in_the_place_of_ours_is_put_aside(dead: Site) -> None:
    replace_file(dead)
    assert "your own file was put back" in dead.sow("job", "list").err
    assert [job.task_id for job in all_jobs(dead)] == ["000", "010"]


@pytest.mark.one_of
@pytest.mark.parametrize("keep", ["the file", "nothing"])
def test_a_file_that_was_written_over_is_told_from_what_it_was(dead: Site, keep: str) -> None:
    overwrite_file(dead)
    before = {path: path.read_bytes() for path in files(dead)[:2]}
    last = refused(dead, (*READING, *ASKING), "do not belong together")
    assert "do not belong together" in dead.sow("doctor", expect=None).out
    assert {path: path.read_bytes() for path in before} == before, "it was left as it is"
    obey(dead, last, 0 if keep == "the file" else 1)
    known = [job.task_id for job in all_jobs(dead)]
    assert known == (["000"] if keep == "the file" else [])
    works(dead)
    assert all_jobs(dead)[-1].id == 3, "a number is not given twice"


def test_a_checkout_that_is_copied_whole_goes_on_where_it_was_and_not_in_the_copy(
    dead: Site,
) -> None:
    copy = dead.base / "copy"
    subprocess.run(["cp", "-R", str(dead.root), str(copy)], check=True)
    listed = dead.sow("job", "list", "--json", cwd=copy)
    assert (listed.json_lines, f"{copy}/.sow/run/aside/unproven-1" in listed.err) == ([], True)
    listed = dead.sow("job", "list", "--json").json_lines
    assert sorted(job["task"] for job in listed) == ["000", "010"]
    start_worker(dead, "--drain").wait()
    assert await_state(dead, "010", JobState.DONE)


def cut_to_nothing(site: Site) -> None:
    os.truncate(files(site)[0], 0)


def cut_short(site: Site) -> None:
    os.truncate(files(site)[0], 4096)
    files(site)[1].unlink()


def spoil_pages(site: Site) -> None:
    data = files(site)[0].read_bytes()
    files(site)[0].write_bytes(data[:4096] + b"\xa5" * (len(data) - 4096))
    files(site)[1].unlink()


@pytest.mark.one_of
@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (cut_to_nothing, "is empty: it was truncated"),
        (cut_short, "is damaged: "),
        (fill_with_garbage, "is not a SQLite database; sow did not change it"),
        (spoil_pages, "is damaged: "),
    ],
)
def test_a_damaged_file_is_named_with_all_that_belongs_to_it(
    dead: Site, spoil: Callable[[Site], None], words: str
) -> None:
    spoil(dead)
    log = files(dead)[1].read_bytes() if files(dead)[1].exists() else None
    last = refused(dead, (*READING[:-2], *ASKING[:3]), words)
    assert words in dead.sow("doctor", expect=None).out
    if log is not None:
        assert files(dead)[1].read_bytes() == log, "the log was kept"
    obey(dead, last)
    for path in files(dead):
        assert not path.exists()
    works(dead)


@pytest.mark.one_of
@pytest.mark.parametrize("how", ["removed", "cut off"])
def test_without_its_log_the_file_is_an_older_one_that_works(dead: Site, how: str) -> None:
    """What the log held is lost, and a number of a job that is not on record any more is not
    given to another, whose attempt would be taken for ended."""
    if how == "removed":
        remove_log(dead)
    else:
        os.truncate(files(dead)[1], 40)
    works(dead)
    assert [job.id for job in all_jobs(dead)] == [1, 3]
    with closing(queue(dead)) as database:
        assert not jobs.has_active_jobs(database)


def test_a_task_whose_records_are_gone_is_told_by_its_status(site: Site) -> None:
    """Never "no job yet, spawn one": an agent is at work on it, or has done the work."""
    site.project("010")
    site.configure({"worker": {"idle_exit": "1s"}})
    site.script([good(gate("go"))])
    site.sow("agent", "spawn", "implementer", "010", "--detach")
    (run,) = await_runs(site)
    shutil.rmtree(run_folder(site))
    for words in (("agent", "wait", "010"), ("agent", "cancel", "010"), ("task", "explain", "010")):
        refused = site.sow(*words, expect=4)
        assert "an agent that is not in the queue works on task 010" in refused.err
        assert f"`kill {run.pid}`" in refused.err
    open_gate(site, "go")
    wait_until(lambda: not exists(run.pid), "the agent ends")
    for words in (("agent", "wait", "010"), ("task", "output", "010")):
        gone = site.sow(*words, expect=4)
        assert "the job records of task 010 no longer exist; the task is needs_review" in gone.err
        assert "`sow task show 010`" in gone.err
        assert "sow agent spawn" not in gone.err
