"""What git takes is put back by a worker, though the queue may have gone with it."""

import shutil
import sqlite3
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from attempts.job_values import PROJECT
from watch_cases import WatchSite

from sow.calls.state_witness import witness_by
from sow.errors import QueueError
from sow.jobs import jobs
from sow.schema.job import JobState
from sow.state import guarded_state
from sow.state.kept import keeper_hooks

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the supervisor reads /proc")


@pytest.fixture
def guarded(site: WatchSite) -> Iterator[WatchSite]:
    """A worker's surroundings that answer for this process who lives."""
    with keeper_hooks.answering(witness_by(site.database), print):
        yield site


def carry(site: WatchSite) -> None:
    """Have an agent of this workspace run, with the variables that every agent has."""
    job = site.job()
    site.lease(job)
    attempt = site.attempt(job)
    environ = {"SOW_ROOT": str(site.workspace.root), "SOW_ATTEMPT_ID": attempt.attempt_id}
    attempt.start_prepared("/bin/sleep", "60", env=environ)
    attempt.agent_pid()


@pytest.mark.parametrize("carried", [True, False])
def test_where_the_records_cannot_be_read_the_processes_are_asked(
    guarded: WatchSite, carried: bool
) -> None:
    """Something has written over the queue's file in place, and what it held is gone."""
    if carried:
        carry(guarded)
    else:
        guarded.job()
    with closing(sqlite3.connect(guarded.workspace.queue_db)) as other:
        other.execute("drop table job")
    with pytest.raises(QueueError):
        jobs.any_live_job(guarded.database, PROJECT)
    shutil.rmtree(guarded.workspace.project)
    guarded.context.state.look()
    assert guarded.workspace.project.exists() is carried


def test_with_nobody_alive_it_stays_gone(guarded: WatchSite) -> None:
    jobs.change_job(guarded.database, guarded.job().id, state=JobState.DONE)
    shutil.rmtree(guarded.workspace.project)
    for suffix in ("", "-wal", "-shm"):
        guarded.workspace.queue_db.with_name(f"queue.db{suffix}").unlink()
    guarded.context.state.look()
    assert not guarded.workspace.project.exists()


def test_a_job_of_the_file_that_was_lost_lived_when_it_went(guarded: WatchSite) -> None:
    """Its agent may have ended with its `git clean`: no process tells of it any more."""
    guarded.job()
    shutil.rmtree(guarded.workspace.project)
    for suffix in ("", "-wal", "-shm"):
        guarded.workspace.queue_db.with_name(f"queue.db{suffix}").unlink()
    guarded.context.state.look()
    assert guarded.task().id == "010"


def two_tasks(site: WatchSite) -> tuple[Path, Path]:
    """Have a job of each of two tasks; return the tasks' logs, which were kept."""
    site.job("010")
    site.job("020")
    site.context.state.look()
    return site.state_file("010").parent / "log.md", site.state_file("020").parent / "log.md"


def test_one_look_serves_all_attempts_that_had_ended_before_it(guarded: WatchSite) -> None:
    first, second = two_tasks(guarded)
    state, ended = guarded.context.state, time.monotonic()
    first.unlink()
    state.opens_after_end(PROJECT, "010", ended, others_run=False)
    assert first.exists()
    second.unlink()
    # What took this came later: it was not an agent that had ended then.
    state.opens_after_end(PROJECT, "010", ended, others_run=False)
    assert not second.exists()
    state.opens_after_end(PROJECT, "010", time.monotonic(), others_run=False)
    assert second.exists()


def test_a_look_that_found_git_at_work_serves_nobody(
    guarded: WatchSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, _ = two_tasks(guarded)
    state, ended = guarded.context.state, time.monotonic()
    first.unlink()
    with monkeypatch.context() as busy:
        busy.setattr("sow.state.kept.putback.is_at_rest", lambda *_, **__: False)
        state.opens_after_end(PROJECT, "010", ended, others_run=False)
    assert not first.exists()
    state.opens_after_end(PROJECT, "010", ended, others_run=False)
    assert first.exists()


def test_after_an_end_while_others_run_its_own_task_is_looked_at_and_soon_all(
    guarded: WatchSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the last end nobody else would put back what was taken of other tasks."""
    first, second = two_tasks(guarded)
    state = guarded.context.state
    monkeypatch.setattr(guarded_state, "FRESH_SECONDS", 3600.0)
    first.unlink()
    second.unlink()
    state.opens_after_end(PROJECT, "010", time.monotonic(), others_run=True)
    assert (first.exists(), second.exists()) == (True, False)
    state.opens_after_end(PROJECT, "010", time.monotonic(), others_run=False)
    assert second.exists()


def test_before_a_start_its_own_task_is_looked_at_every_time(
    guarded: WatchSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = two_tasks(guarded)
    monkeypatch.setattr(guarded_state, "FRESH_SECONDS", 3600.0)
    first.unlink()
    second.unlink()
    guarded.context.state.opens_before_start(PROJECT, "010")
    assert first.exists()
    assert not second.exists()
    monkeypatch.setattr(guarded_state, "FRESH_SECONDS", 0.0)
    guarded.context.state.opens_before_start(PROJECT, "010")
    assert second.exists()
