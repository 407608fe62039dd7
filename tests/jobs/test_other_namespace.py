"""What proves that a process of another pid namespace has ended, and what proves nothing."""

from contextlib import closing
from pathlib import Path

import msgspec
import pytest
from queue_cases import NOW, insert
from test_worker_life import me

from sow.files.flock import lock_file_held
from sow.jobs import elsewhere, jobs, waiters
from sow.jobs.database import Database
from sow.jobs.doorbell import Bell
from sow.jobs.elsewhere import PLACING_SECONDS, is_caller_gone, is_supervisor_gone
from sow.paths import AttemptPaths, Workspace
from sow.schema.job import Job

pytestmark = pytest.mark.queue_file


@pytest.fixture
def paths(tmp_path: Path) -> AttemptPaths:
    found = AttemptPaths(tmp_path)
    for path in (found.alive_lock, found.output, found.stderr):
        path.touch()
    return found


def test_a_supervisor_is_gone_where_its_lock_is_free_and_nothing_is_written_to(
    paths: AttemptPaths,
) -> None:
    assert is_supervisor_gone(paths)
    with lock_file_held(paths.alive_lock):
        assert not is_supervisor_gone(paths)
    for path in (paths.output, paths.stderr):
        with path.open("a"):
            assert not is_supervisor_gone(paths)
    assert is_supervisor_gone(paths)


def test_where_a_lock_proves_nothing_or_the_kernel_tells_nothing_it_is_not(
    paths: AttemptPaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(elsewhere, "is_local", lambda _: False)
        assert not is_supervisor_gone(paths)
    monkeypatch.setattr(elsewhere, "is_written_to", lambda _: None)
    assert not is_supervisor_gone(paths)


def placed(database: Database, **more: object) -> Job:
    """Put a job on record as a call of another namespace does that has not queued it yet."""
    caller = msgspec.structs.replace(me(), pid=77, pid_namespace="1")
    return insert(database, "010", caller=caller, created_at=NOW, **more)


def is_gone(database: Database, workspace: Workspace, job: Job, *, after: float = 0.0) -> bool:
    return is_caller_gone(workspace, database, job, now=NOW + after)


def test_a_call_that_waits_is_gone_once_its_bell_is(
    database: Database, workspace: Workspace
) -> None:
    job = placed(database)
    for waiter in ("c77-aaaaaaaa", "c78-bbbbbbbb"):
        waiters.begin(database, waiter, job.id, on_behalf_of=None, now=NOW)
    workspace.waiters.mkdir(parents=True, exist_ok=True)
    path = waiters.bell_path(workspace, "c77-aaaaaaaa")
    with closing(Bell(path)):
        assert not is_gone(database, workspace, job, after=2 * PLACING_SECONDS)
    with closing(Bell(waiters.bell_path(workspace, "c78-bbbbbbbb"))):
        assert is_gone(database, workspace, job), "another one attached"


def test_a_batch_s_is_gone_where_nobody_drives_the_batches(
    database: Database, workspace: Workspace
) -> None:
    job = placed(database)
    jobs.change_job(database, job.id, batch=1, batch_step=1)
    job = jobs.get_job(database, job.id)
    workspace.workers.mkdir(parents=True, exist_ok=True)
    with lock_file_held(workspace.batches_lock):
        assert not is_gone(database, workspace, job)
    assert is_gone(database, workspace, job)


def test_any_other_is_gone_after_a_while(
    database: Database, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = placed(database)
    assert not is_gone(database, workspace, job, after=PLACING_SECONDS)
    assert is_gone(database, workspace, job, after=PLACING_SECONDS + 1)
    monkeypatch.setattr(elsewhere, "is_local", lambda _: False)
    jobs.change_job(database, job.id, batch=1, batch_step=1)
    assert not is_gone(database, workspace, jobs.get_job(database, job.id))
