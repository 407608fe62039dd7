"""What lies below `.sow/run` is for its owner alone, whoever made it and whatever the umask."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from sow.jobs.database import open_queue
from sow.jobs.private_folders import close_to_others, make_private
from sow.paths import Workspace


@pytest.fixture(params=[0o000, 0o022, 0o777], ids=oct, autouse=True)
def umask(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[None]:
    (tmp_path / "top").mkdir()
    before = os.umask(request.param)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_every_folder_on_the_way_is_private(tmp_path: Path) -> None:
    top = tmp_path / "top"
    before = mode(top)
    make_private(top / "jobs/1/2", below=top)
    assert [mode(top / name) for name in ("jobs", "jobs/1", "jobs/1/2")] == [0o700] * 3
    assert mode(top) == before


def test_one_that_was_left_open_is_closed(tmp_path: Path) -> None:
    folder = tmp_path / "top/jobs"
    folder.mkdir()
    folder.chmod(0o755)
    make_private(folder / "1", below=tmp_path / "top")
    assert mode(folder) == 0o700


def test_a_file_in_the_way_is_told(tmp_path: Path) -> None:
    (tmp_path / "top/jobs").touch()
    with pytest.raises(NotADirectoryError):
        close_to_others(tmp_path / "top/jobs")


def test_opening_the_queue_closes_what_an_earlier_sow_left_open(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "top")
    workspace.sow.mkdir()
    workspace.sow.chmod(0o755)
    open_queue(workspace).close()
    jobs = workspace.run / "jobs"
    jobs.mkdir()
    folders = (workspace.run, workspace.workers, workspace.waiters, jobs)
    for folder in folders:
        folder.chmod(0o755)
    open_queue(workspace).close()
    assert [mode(folder) for folder in folders] == [0o700] * 4
    assert mode(workspace.sow) == 0o755
