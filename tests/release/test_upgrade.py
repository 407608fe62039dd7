"""Every earlier form of `.sow` and of the queue's file, upgraded by the installed wheel."""

import json
import shutil
import sqlite3
import tarfile
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from own_queue import make_own
from release.conftest import run
from repository.markdown import REPOSITORY

from sow.jobs.database import FORMAT
from sow.paths import Workspace

pytestmark = pytest.mark.slow
TREES = sorted((REPOSITORY / "tests/validation/golden").glob("form-*"))
QUEUES = sorted((REPOSITORY / "tests/jobs/golden").glob("format-*.tar.gz"))


class Upgraded:
    """A folder of an earlier sow, and the installed one."""

    def __init__(self, programs: Path, root: Path) -> None:
        self.programs = programs
        self.root = root

    def sow(self, *words: str) -> str:
        return run(self.programs / "sow", *words, cwd=self.root)

    def objects(self, *words: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.sow(*words, "--json").splitlines()]


@pytest.fixture
def upgraded(installed: Path, tmp_path: Path) -> Upgraded:
    root = tmp_path / "repo"  # as the archives of queues have it
    root.mkdir()
    return Upgraded(installed, root)


@pytest.mark.parametrize("tree", TREES, ids=lambda tree: tree.name)
def test_a_folder_of_each_form_is_read_mended_and_written(tree: Path, upgraded: Upgraded) -> None:
    shutil.copytree(tree, upgraded.root / ".sow")
    before = upgraded.objects("task", "list")
    assert before
    upgraded.sow("validate", "--fix")
    assert "error" not in upgraded.sow("validate")
    assert upgraded.objects("task", "list") == before
    upgraded.sow("task", "set", "010", "name", "Renamed by the newer sow")
    (renamed,) = upgraded.objects("task", "show", "010")
    assert (renamed["name"], renamed["status"]) == (
        "Renamed by the newer sow",
        before[0]["status"],
    )


@pytest.mark.parametrize("archive", QUEUES, ids=lambda archive: archive.name.split(".")[0])
def test_a_queue_of_each_form_is_copied_and_brought_up_to_date(
    archive: Path, upgraded: Upgraded, tmp_path: Path
) -> None:
    number = int(archive.name.removesuffix(".tar.gz").removeprefix("format-"))
    with tarfile.open(archive) as packed:
        packed.extractall(tmp_path, filter="data")
    workspace = Workspace(upgraded.root)
    make_own(workspace)
    run_folder = workspace.run
    with closing(sqlite3.connect(run_folder / "queue.db")) as file:
        assert file.execute("pragma user_version").fetchone() == (number,)
        jobs = file.execute("select id, task_id from job order by id").fetchall()
    listed = upgraded.objects("job", "list")
    assert sorted((job["job"], job["task"]) for job in listed) == jobs
    with closing(sqlite3.connect(run_folder / "queue.db")) as file:
        assert file.execute("pragma user_version").fetchone() == (FORMAT,)
    kept = run_folder / f"queue.db.format-{number}"
    with closing(sqlite3.connect(kept)) as file:
        assert file.execute("pragma user_version").fetchone() == (number,)
