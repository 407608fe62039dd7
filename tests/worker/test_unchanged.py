"""An author that has reported work and changed nothing is told of; nobody else is."""

import os
import time
from pathlib import Path
from typing import Any

import pytest
from reports.job_cases import make_job, make_task

from sow.schema.job import CHANGED_NOTHING
from sow.schema.task import TaskStatus
from worker.gathering import Gathered
from worker.kinds.work.end import MOST_ENTRIES, notes_on, tree_is_old

OLD, NOW = 1_000_000.0, 2_000_000.0
CLONE = {"clone": {"path": "/c", "branch": "b", "base": "0" * 40}}


def task(status: TaskStatus = TaskStatus.NEEDS_REVIEW, **fields: Any) -> Any:
    import msgspec

    from sow.schema.task import Task

    made = msgspec.to_builtins(make_task(status))
    return msgspec.convert({**made, **fields}, Task)


def review(verdict: str, commit: str) -> dict[str, Any]:
    at = "2026-01-01T00:00:00Z"
    return {"review": {"verdict": verdict, "by": "x", "at": at, "commit": commit, "summary": ""}}


@pytest.mark.parametrize(
    ("fields", "gathered", "tree", "is_told"),
    [
        ({}, None, True, True),
        ({}, None, False, False),
        ({"files_modified": ["a.py"]}, None, True, False),
        (CLONE, Gathered(()), False, True),
        (CLONE, Gathered(("a.py",), commit="1" * 40), False, False),
        (CLONE, Gathered(None), True, False),
        (CLONE, None, True, False),
        ({**CLONE, **review("corrections", "1" * 40)}, Gathered(("a",), commit="1" * 40), 0, True),
        ({**CLONE, **review("corrections", "2" * 40)}, Gathered(("a",), commit="1" * 40), 0, False),
        ({**CLONE, **review("accepted", "1" * 40)}, Gathered(("a",), commit="1" * 40), 0, False),
    ],
)
def test_what_is_told(
    fields: dict[str, Any], gathered: Gathered | None, tree: bool, is_told: bool
) -> None:
    found = notes_on(task(**fields), make_job(), gathered, tree_is_old=bool(tree))
    assert found == ([CHANGED_NOTHING] if is_told else [])


@pytest.mark.parametrize("status", [each for each in TaskStatus if each != "needs_review"])
def test_only_finished_work_is_told_of(status: TaskStatus) -> None:
    assert notes_on(task(status), make_job(), None, tree_is_old=True) == []


@pytest.mark.parametrize("role", ["planner", "researcher", "reviewer", "orchestrator"])
def test_a_role_whose_work_is_no_file_is_not_told_of(role: str) -> None:
    assert notes_on(task(), make_job(agent=role), None, tree_is_old=True) == []


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in (".git", ".sow/project", "src/inner"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("a", "src/b", "src/inner/c"):
        (tmp_path / name).write_text("x")
    return tmp_path


def test_a_tree_in_which_nothing_was_written_is_old(tree: Path) -> None:
    later = time.time() + 60
    assert tree_is_old(tree, later)
    assert tree_is_old(tree / "src", later)
    assert not tree_is_old(tree, time.time() - 60)


@pytest.mark.parametrize("place", [".", "src/inner"])
@pytest.mark.parametrize("change", ["edit", "add", "remove", "link"])
def test_any_change_of_it_is_seen(tree: Path, change: str, place: str) -> None:
    since = time.time() + 60
    (tree / "c").touch()
    for folder, folders, files in os.walk(tree):
        for name in (".", *folders, *files):
            os.utime(Path(folder, name), (OLD, OLD))
    inner = tree / place
    {
        "edit": lambda: os.utime(inner / "c", (since + 1, since + 1)),
        "add": (inner / "d").touch,
        "remove": (inner / "c").unlink,
        "link": lambda: (inner / "d").symlink_to("c"),
    }[change]()
    if change != "edit":
        os.utime(inner, (since + 1, since + 1))
    assert not tree_is_old(tree, since)


def test_what_sow_and_git_write_is_no_change(tree: Path) -> None:
    since = time.time() + 60
    for path in (tree / ".git/index", tree / ".sow/project/state.yaml"):
        path.touch()
        os.utime(path, (since + 9, since + 9))
    assert tree_is_old(tree, since)


@pytest.mark.slow
def test_a_tree_of_any_depth_is_looked_at(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    depth = 1500  # more than Python's own stack has frames
    monkeypatch.chdir(tree)
    for _ in range(depth):
        Path("d").mkdir()
        os.chdir("d")
    try:
        assert tree_is_old(tree, time.time() + 60)
    finally:
        for _ in range(depth):  # what removes temporary folders goes down by calls of itself
            os.chdir("..")
            Path("d").rmdir()


@pytest.mark.slow
def test_of_a_large_tree_nothing_is_told(tmp_path: Path) -> None:
    folder = tmp_path / "many"
    folder.mkdir()
    for number in range(MOST_ENTRIES):
        os.close(os.open(f"{folder}/{number}", os.O_CREAT))
    assert not tree_is_old(tmp_path, time.time() + 60)
