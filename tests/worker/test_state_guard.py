"""What git takes is put back by a worker, though the queue may have gone with it."""

import shutil
import sys
from collections.abc import Iterator

import pytest
from watch_cases import WatchSite

from sow.jobs import jobs
from sow.schema.job import JobState
from sow.schema.task import TaskStatus
from sow.state.kept import keeper_hooks
from worker import state_guard

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the supervisor reads /proc")


@pytest.fixture
def guarded(site: WatchSite) -> Iterator[WatchSite]:
    """A worker's surroundings that answer for this process who lives."""
    witness, tell = keeper_hooks.OURS.witness, keeper_hooks.OURS.tell
    state_guard.install(site.database)
    yield site
    keeper_hooks.install(witness, tell)


def carry(site: WatchSite) -> None:
    """Have an agent of this workspace run, with the variables that every agent has."""
    job = site.job()
    site.lease(job)
    attempt = site.attempt(job)
    environ = {"SOW_ROOT": str(site.workspace.root), "SOW_ATTEMPT_ID": attempt.attempt_id}
    attempt.start_prepared("/bin/sleep", "60", env=environ)
    attempt.agent_pid()


def test_the_queue_may_go_with_the_state(guarded: WatchSite) -> None:
    """`git clean -fdx` in a tree whose `.sow` was never committed takes both at once."""
    carry(guarded)
    for path in (guarded.workspace.project, guarded.workspace.workers):
        shutil.rmtree(path)
    for suffix in ("", "-wal", "-shm"):
        guarded.workspace.queue_db.with_name(f"queue.db{suffix}").unlink()
    guarded.context.guard.look()
    assert guarded.task().status is TaskStatus.IN_PROGRESS


def test_with_nobody_alive_it_stays_gone(guarded: WatchSite) -> None:
    jobs.change_job(guarded.database, guarded.job().id, state=JobState.DONE)
    shutil.rmtree(guarded.workspace.project)
    for suffix in ("", "-wal", "-shm"):
        guarded.workspace.queue_db.with_name(f"queue.db{suffix}").unlink()
    guarded.context.guard.look()
    assert not guarded.workspace.project.exists()


def test_a_job_of_the_file_that_was_lost_lived_when_it_went(guarded: WatchSite) -> None:
    """Its agent may have ended with its `git clean`: no process tells of it any more."""
    guarded.job()
    shutil.rmtree(guarded.workspace.project)
    for suffix in ("", "-wal", "-shm"):
        guarded.workspace.queue_db.with_name(f"queue.db{suffix}").unlink()
    guarded.context.guard.look()
    assert guarded.task().id == "010"
