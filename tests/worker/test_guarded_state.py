"""What git takes is put back by a worker, though the queue may have gone with it."""

import dataclasses
import shutil
import sqlite3
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from attempt_cases import wait_until
from attempts.job_values import NOW, PROJECT
from msgspec.structs import replace
from watch_cases import WatchSite

from sow.calls.state_witness import witness_by
from sow.errors import QueueError, SowError
from sow.ids import ProjectId
from sow.jobs import jobs
from sow.schema.job import Job, JobState
from sow.schema.task import TaskStatus
from sow.state import guarded_state
from sow.state.guarded_state import FRESH_SECONDS, GuardedState
from sow.state.kept import keeper_hooks
from sow.state.kept.store import kept_at
from sow.state.statefiles import read_bytes
from worker.context import WorkerContext
from worker.job_end import fail_before_start
from worker.launch import was_just_looked_at
from worker.settle import settle_attempt

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


class Overtaken(GuardedState):
    """The jobs that ran beside an attempt end as it is settled, in another worker."""

    def __init__(self, site: WatchSite, other: Job, end: Callable[[Job], None]) -> None:
        super().__init__(site.workspace)
        self.look()
        self.other, self.end = other, end

    def opens_after_end(
        self, project_id: ProjectId, task_id: str, ended_at: float | None, *, others_run: bool
    ) -> bool:
        opens = super().opens_after_end(project_id, task_id, ended_at, others_run=others_run)
        assert others_run
        self.end(self.other)
        return opens


@pytest.mark.parametrize("code", [0, 1])
def test_the_last_of_two_ends_at_once_looks_at_all_tasks(
    guarded: WatchSite, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    monkeypatch.setattr(guarded_state, "FRESH_SECONDS", 3600.0)
    first, second = guarded.job("010", retries=99), guarded.job("020")
    guarded.lease(first)
    guarded.lease(second)
    attempt = guarded.run(first, f"exit {code}")
    wait_until(attempt.paths.exit.exists, "it has ended")
    if code == 0:
        guarded.change_task("010", status=TaskStatus.NEEDS_REVIEW)

    def end(other: Job) -> None:
        jobs.change_job(guarded.database, other.id, state=JobState.DONE)
        guarded.database.run("delete from lease where job_id = ?", (other.id,))

    guarded.context.__dict__["state"] = Overtaken(guarded, second, end)
    running, taken = guarded.adopt(first), guarded.state_file("020")
    taken.unlink()
    settle_attempt(guarded.context, running)
    assert guarded.get(first).state is (JobState.FAILED if code else JobState.DONE)
    assert taken.exists()


def test_a_last_job_that_cannot_be_started_looks_at_all_tasks(guarded: WatchSite) -> None:
    first, second = guarded.job("010"), guarded.job("020")
    guarded.context.state.look()
    lease = guarded.lease(first)
    jobs.change_job(guarded.database, second.id, state=JobState.DONE)
    taken = guarded.state_file("020")
    taken.unlink()
    fail_before_start(guarded.context, first, lease, SowError("no such program"))
    assert guarded.get(first).state is JobState.FAILED
    assert taken.exists()


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


def test_a_start_right_after_a_call_that_has_looked_looks_at_its_own_task(
    guarded: WatchSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = two_tasks(guarded)
    monkeypatch.setattr(guarded_state, "FRESH_SECONDS", 0.0)
    first.unlink()
    second.unlink()
    assert guarded.context.state.opens_before_start(PROJECT, "010", was_looked_at=True)
    assert (first.exists(), second.exists()) == (True, False)


@pytest.mark.parametrize(
    ("changes", "has_looked"),
    [
        ({}, True),
        ({"created_at": NOW - FRESH_SECONDS}, False),
        ({"created_at": NOW + 1}, False),
        ({"batch": 1}, False),
    ],
    ids=["just placed", "long waiting", "from the future", "by a batch"],
)
def test_a_call_has_looked_at_all_tasks_just_before_its_job(
    guarded: WatchSite, changes: dict[str, Any], has_looked: bool
) -> None:
    job = replace(guarded.job("010"), **changes)
    context = replace_clock(guarded, NOW)
    assert was_just_looked_at(context, job, []) is has_looked


def test_a_call_beside_another_job_and_a_next_attempt_have_not_looked(guarded: WatchSite) -> None:
    job = guarded.job("010")
    context = replace_clock(guarded, NOW)
    guarded.attempt(job)
    assert not was_just_looked_at(context, job, jobs.attempts(guarded.database, job.id))
    guarded.job("020")
    assert not was_just_looked_at(context, job, [])


def replace_clock(site: WatchSite, now: float) -> WorkerContext:
    """Return its surroundings at a moment."""
    return dataclasses.replace(site.context, clock=lambda: now)


def test_where_the_copies_lie_is_known_to_the_thread_that_has_looked(guarded: WatchSite) -> None:
    two_tasks(guarded)
    state, elsewhere = guarded.context.state, []
    assert state.copies is None
    assert state.opens_before_start(PROJECT, "010")
    found, now = state.copies, kept_at(guarded.workspace.root)
    assert found is not None
    assert now is not None
    assert found.folder == now.folder
    found.is_restored = True
    again = state.copies  # another reader has seen nothing yet
    assert again is not None
    assert not again.is_restored
    other = threading.Thread(target=lambda: elsewhere.append(state.copies))
    other.start()
    other.join()
    assert elsewhere == [None]


def test_who_reads_by_copies_of_another_branch_changes_none_of_them(guarded: WatchSite) -> None:
    head = guarded.workspace.root / ".git" / "HEAD"
    head.parent.mkdir(exist_ok=True)
    head.write_text("ref: refs/heads/main\n")
    two_tasks(guarded)
    assert guarded.context.state.opens_before_start(PROJECT, "010")
    kept, file = guarded.context.state.copies, guarded.state_file("010")
    assert kept is not None
    copy = Path(kept.copy(kept.name(file)))
    before = copy.read_bytes()
    head.write_text("ref: refs/heads/other\n")
    file.write_bytes(before + b"# as the other branch has it\n")
    assert read_bytes(file, kept) == file.read_bytes() != before
    assert copy.read_bytes() == before
