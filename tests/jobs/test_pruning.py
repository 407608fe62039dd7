"""Which ended jobs and which files go, by age and by size, and which stay whatever their age."""

import fcntl
import os
from pathlib import Path

import pytest
from calls.desk import PROJECT, Desk, make_desk
from reports.job_cases import NOW

from sow.ids import ProjectId
from sow.jobs import jobs, waiters
from sow.jobs.database import open_queue
from sow.jobs.doorbell import Bell
from sow.jobs.pruning import Limits, Pruned, find_prunable, prune, size_of
from sow.schema.job import Job, JobState
from sow.schema.task import TaskStatus

DAY = 86400.0
NO_LIMIT = 1 << 40


@pytest.fixture
def desk(tmp_path: Path):
    made = make_desk(tmp_path, open_queue)
    yield made
    made.close()


def ended(
    desk: Desk, task: str, *, days: float, size: int = 0, status: TaskStatus = TaskStatus.COMPLETED
) -> Job:
    """Leave a job that ended some days ago, with that much output."""
    if not list(desk.workspace.project.glob(f"phases/*/tasks/{task}")):
        desk.task(task, status)
    then = NOW - days * DAY
    job = desk.insert(task_id=task, state=JobState.DONE, created_at=then, ended_at=then)
    folder = desk.workspace.job(job.id) / "1"
    folder.mkdir(parents=True)
    (folder / "output.jsonl").write_bytes(b"x" * size)
    return job


def found(desk: Desk, *, days: float = 30, size: int = NO_LIMIT) -> Pruned:
    return find_prunable(desk.workspace, desk.database, Limits(days * DAY, size), now=NOW)


def test_what_is_older_goes_with_its_output(desk: Desk) -> None:
    old, young = ended(desk, "010", days=31, size=10), ended(desk, "020", days=29)
    limits = Limits(30 * DAY, NO_LIMIT)
    pruned = prune(desk.workspace, desk.database, limits, now=NOW)
    assert (pruned.jobs, pruned.size) == ((old.id,), 10)
    assert not desk.workspace.job(old.id).exists()
    assert desk.workspace.job(young.id).exists()
    with pytest.raises(jobs.UnknownJob):
        desk.job(old.id)


def test_beyond_the_size_the_oldest_go_first(desk: Desk) -> None:
    first = ended(desk, "010", days=3, size=100)
    second = ended(desk, "020", days=2, size=100)
    ended(desk, "030", days=1, size=100)
    assert found(desk, size=300).jobs == ()
    assert found(desk, size=299).jobs == (first.id,)
    assert found(desk, size=150).jobs == (first.id, second.id)


def test_what_goes_by_age_counts_for_the_size(desk: Desk) -> None:
    old = ended(desk, "010", days=40, size=100)
    ended(desk, "020", days=2, size=100)
    assert found(desk, size=100).jobs == (old.id,)


@pytest.mark.parametrize(
    "status", [TaskStatus.PENDING, TaskStatus.PAUSED, TaskStatus.NEEDS_REVIEW, TaskStatus.FAILED]
)
def test_the_jobs_of_a_task_that_is_not_over_stay(desk: Desk, status: TaskStatus) -> None:
    ended(desk, "010", days=400, size=100, status=status)
    assert found(desk, size=0).jobs == ()


def test_the_jobs_of_a_task_that_cannot_be_read_stay(desk: Desk) -> None:
    ended(desk, "010", days=400)
    (state,) = desk.workspace.project.glob("phases/*/tasks/010/state.yaml")
    state.write_text("task: [")
    assert found(desk).jobs == ()


def test_the_jobs_of_a_task_that_is_gone_go(desk: Desk) -> None:
    job = ended(desk, "010", days=400)
    (folder,) = desk.workspace.project.glob("phases/*/tasks/010")
    folder.rename(desk.base / "aside")
    assert found(desk).jobs == (job.id,)


def test_an_outcome_that_is_owed_stays(desk: Desk) -> None:
    desk.owe(ended(desk, "010", days=400))
    assert found(desk).jobs == ()


def test_an_outcome_that_only_a_detached_call_has_not_seen_goes_as_its_task_does(
    desk: Desk,
) -> None:
    """Whoever always detaches and never waits would keep every record for ever."""
    over, open_task = ended(desk, "010", days=400), ended(desk, "020", days=400)
    desk.change("020", status=TaskStatus.NEEDS_REVIEW)
    for job in (over, open_task):
        waiters.begin(desk.database, "d1", job.id, on_behalf_of=None, now=NOW)
    assert found(desk).jobs == (over.id,)


def test_what_has_not_ended_stays(desk: Desk) -> None:
    desk.task("010")
    desk.queue(task_id="010")
    assert found(desk, days=0, size=0).jobs == ()


def test_a_project_that_is_elsewhere_is_judged_by_its_last_use(desk: Desk) -> None:
    job = ended(desk, "010", days=400, status=TaskStatus.PAUSED)
    jobs.change_job(desk.database, job.id, project_id=ProjectId("another"))
    assert found(desk).jobs == (job.id,), "its tasks cannot be asked"
    used = desk.insert(task_id="020", created_at=NOW)
    jobs.change_job(desk.database, used.id, project_id=ProjectId("another"))
    assert found(desk).jobs == (), "it was used a moment ago"


def test_without_a_project_all_are_elsewhere(desk: Desk) -> None:
    job = ended(desk, "010", days=400, status=TaskStatus.PAUSED)
    (desk.workspace.root / ".git").mkdir()
    (desk.workspace.root / ".git/HEAD").write_text("ref: refs/heads/another\n")
    desk.workspace.project.rename(desk.base / "aside")
    assert job.project_id == PROJECT
    assert found(desk).jobs == (job.id,)


def stray(desk: Desk, *, days: float) -> Path:
    folder = desk.workspace.job(99)
    (folder / "1").mkdir(parents=True)
    os.utime(folder, (NOW - days * DAY, NOW - days * DAY))
    return folder


def test_output_that_no_record_belongs_to_goes_with_age(desk: Desk) -> None:
    folder = stray(desk, days=31)
    assert found(desk).logs == (folder,)
    assert found(desk, days=32).logs == ()
    prune(desk.workspace, desk.database, Limits(30 * DAY, NO_LIMIT), now=NOW)
    assert not folder.exists()


def test_output_of_what_still_runs_stays_though_no_record_belongs_to_it(desk: Desk) -> None:
    lock = stray(desk, days=31) / "1/alive.lock"
    fd = os.open(lock, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(fd, fcntl.LOCK_EX)
    os.utime(lock.parents[1], (0, 0))
    assert found(desk).logs == ()
    os.close(fd)
    assert found(desk).logs == (lock.parents[1],)


def test_the_log_of_a_dead_worker_goes_and_that_of_a_living_one_stays(desk: Desk) -> None:
    desk.staff()
    for name in ("w1.log", "w2.log"):
        path = desk.workspace.workers / name
        path.write_text("said this\n")
        os.utime(path, (0, 0))
    gone = desk.workspace.workers / "w2.log"
    assert prune(desk.workspace, desk.database, Limits(DAY, NO_LIMIT), now=NOW).logs == (gone,)
    assert not gone.exists()


def test_the_bell_of_a_killed_call_goes_and_that_of_a_waiting_one_stays(desk: Desk) -> None:
    waiters = desk.workspace.waiters
    waiting = Bell(waiters / "c1-aa.batch1.bell")
    gone = (waiters / "c2-bb.batch1.bell", waiters / "m3-cc.bell")  # a call's, an MCP server's
    for path in gone:
        os.mkfifo(path)
    (waiters / "somebody.bell").write_text("")
    for path in (waiting.path, *gone, waiters / "somebody.bell"):
        os.utime(path, (NOW - 31 * DAY, NOW - 31 * DAY))
    assert found(desk, days=32).logs == ()
    assert found(desk).logs == gone
    prune(desk.workspace, desk.database, Limits(30 * DAY, NO_LIMIT), now=NOW)
    assert {path.name for path in waiters.iterdir()} == {waiting.path.name, "somebody.bell"}
    waiting.close()


def test_a_size_is_that_of_all_below_and_none_of_what_is_gone(tmp_path: Path) -> None:
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "a/b/c").write_text("12345")
    (tmp_path / "a/d").write_text("123")
    assert (size_of(tmp_path / "a"), size_of(tmp_path / "nowhere")) == (8, 0)
