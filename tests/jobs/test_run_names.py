"""What lies in `.sow/run` that is not sow's, and folders there that lead elsewhere: left alone."""

import inspect
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from calls.desk import Desk, make_desk
from reports.job_cases import NOW

from sow.jobs.database import open_queue
from sow.jobs.pruning import Limits, find_prunable, prune, size_of
from sow.jobs.run_names import changed_at, job_numbers, worker_locks, worker_logs

EVERYTHING = Limits(0.0, 0)


@pytest.fixture
def desk(tmp_path: Path):
    made = make_desk(tmp_path, open_queue)
    yield made
    made.close()


def age(path: Path) -> Path:
    os.utime(path, (1, 1))
    return path


def bury(folder: Path) -> Path:
    """Make folders in each other, more of them than a short stack has room for."""
    for _ in range(300):
        folder /= "d"
        folder.mkdir()
    return folder


@contextmanager
def short_stack() -> Iterator[None]:
    """Leave the block so little of Python's stack that 300 levels are too many.

    Folders that are too deep for the whole of it, pytest itself could not remove.
    """
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack(0)) + 200)
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def test_a_folder_of_workers_that_leads_elsewhere_loses_nothing(desk: Desk, tmp_path: Path) -> None:
    """A repository may bring such a link along, and the folder is that of its lock files."""
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    names = ("poetry.lock", "Cargo.lock", "web.lock", "server.log", "work.log")
    for name in names:
        (theirs / name).write_text("mine\n")
        age(theirs / name)
    desk.workspace.workers.rename(tmp_path / "aside")
    desk.workspace.workers.symlink_to(theirs)
    assert list(worker_locks(desk.workspace.workers)) == []
    assert list(worker_logs(desk.workspace.workers)) == []
    assert prune(desk.workspace, desk.database, EVERYTHING, now=NOW).logs == ()
    assert sorted(path.name for path in theirs.iterdir()) == sorted(names)


def test_a_folder_of_jobs_that_leads_elsewhere_loses_nothing(desk: Desk, tmp_path: Path) -> None:
    theirs = tmp_path / "Pictures"
    for name in ("2019", "holidays"):
        (theirs / name).mkdir(parents=True)
        (theirs / name / "sea.jpg").write_text("mine")
        age(theirs / name)
    (desk.workspace.run / "jobs").symlink_to(theirs)
    assert prune(desk.workspace, desk.database, EVERYTHING, now=NOW).logs == ()
    assert sorted(path.name for path in theirs.iterdir()) == ["2019", "holidays"]


def test_what_is_no_job_in_the_folder_of_jobs_stays(desk: Desk) -> None:
    jobs = desk.workspace.run / "jobs"
    for name in ("notes", "007", "٣", "-1", "9" * 16, "9" * 200, "12"):
        (jobs / name).mkdir(parents=True)
        age(jobs / name)
    assert list(job_numbers(jobs)) == [12]
    assert find_prunable(desk.workspace, desk.database, EVERYTHING, now=NOW).logs == (jobs / "12",)


@pytest.mark.parametrize("name", ["9223372036854775807", "9" * 15, "9" * 23, "9" * 200, "two"])
def test_a_folder_with_a_huge_number_bars_no_job(tmp_path: Path, name: str) -> None:
    """Neither where the queue's file is made anew beside it, nor where it is there."""
    made = make_desk(tmp_path, open_queue)
    made.close()
    made.workspace.queue_db.unlink()
    (made.workspace.run / "jobs" / name).mkdir(parents=True)
    again = open_queue(made.workspace)
    again.close()
    (second := tmp_path / "second").mkdir()
    desk = make_desk(second, open_queue)
    (desk.workspace.run / "jobs" / name).mkdir(parents=True)
    (desk.workspace.run / "jobs/1").mkdir()
    job = desk.insert(task_id="010")
    assert 1 < job.id < 2**53
    desk.close()


@pytest.mark.slow
def test_a_size_follows_no_link_and_any_depth(tmp_path: Path) -> None:
    folder = tmp_path / "1"
    folder.mkdir()
    for name, target in (("all", "/"), ("here", "."), ("itself", "itself"), ("zero", "/dev/zero")):
        (folder / name).symlink_to(target)
    links = size_of(folder)
    assert links == sum(path.lstat().st_size for path in folder.iterdir())
    (bury(folder) / "file").write_bytes(b"12345")
    with short_stack():
        assert size_of(folder) == links + 5


def test_a_folder_that_is_too_deep_to_be_removed_keeps_nobody_from_the_rest(desk: Desk) -> None:
    jobs = desk.workspace.run / "jobs"
    for name in ("1", "2"):
        (jobs / name).mkdir(parents=True)
    bury(jobs / "1")
    for name in ("1", "2"):
        age(jobs / name)
    with short_stack():
        prune(desk.workspace, desk.database, EVERYTHING, now=NOW)
    is_too_deep = sys.version_info < (3, 13)  # from then on shutil removes any depth
    assert (jobs / "1").exists() is is_too_deep
    assert not (jobs / "2").exists()


def test_the_time_of_what_is_gone_is_long_ago(tmp_path: Path) -> None:
    assert changed_at(tmp_path / "gone") == 0.0
