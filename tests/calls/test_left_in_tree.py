"""A batch that merges never calls a task done whose work is in no commit: it lies in the tree."""

import os
import shlex
import subprocess
import time
from pathlib import Path

import pytest
from calls.batch_desk import begin, items, look, turn
from calls.desk import Desk
from clones.clone_site import name_author, plain

from sow.batches.item_facts import Standing
from sow.calls.batch_look import Work
from sow.clock import format_time
from sow.schema.batch import Action, ItemState
from sow.schema.task import TaskStatus

pytestmark = pytest.mark.slow  # process after process

LONG_AGO = 1_000_000.0


@pytest.fixture
def tree(desk: Desk) -> Path:
    """A repository with one commit, and its `.sow` outside of git."""
    root = desk.workspace.root
    plain(root, "init", "-q", "-b", "main")
    name_author(root)
    (root / ".gitignore").write_text(".sow\n")
    (root / "file").write_text("one\n")
    plain(root, "add", ".gitignore", "file")
    plain(root, "commit", "-q", "-m", "First")
    return root


def standing(work: Work, task: str = "010") -> Standing:
    return next(found for found in look(work).standings if found.task == task)


def done_by_hand(desk: Desk, task: str = "010") -> None:
    """Complete a task without a clone, which was begun a minute ago."""
    begun = format_time(time.time() - 60)
    desk.task(task, TaskStatus.COMPLETED, started_at=begun, completed_at=format_time(time.time()))


@pytest.mark.parametrize("status", [TaskStatus.COMPLETED, TaskStatus.NEEDS_REVIEW])
def test_work_in_no_commit_wants_a_person_and_its_dependant_waits(
    desk: Desk, tree: Path, status: TaskStatus
) -> None:
    done_by_hand(desk)
    if status is TaskStatus.NEEDS_REVIEW:
        review = {"verdict": "accepted", "by": "A Person", "at": format_time(time.time())}
        desk.change("010", status=status, review=review)
    desk.task("020", depends_on=["010"])
    (tree / "made here").write_text("x\n")
    (tree / "file").write_text("two\n")
    work = begin(desk, "010", "020", merge=True)
    found = standing(work)
    assert found.state is ItemState.NEEDS_PERSON
    assert found.reason == "it was done without a clone and is not committed: file, made here"
    assert standing(work, "020").state is ItemState.WAITING


def test_the_command_that_is_named_leads_on(desk: Desk, tree: Path) -> None:
    done_by_hand(desk)
    (tree / "made here").write_text("x\n")
    work = begin(desk, "010", merge=True)
    turn(work)
    assert items(work) == {"010": ItemState.NEEDS_PERSON}
    commit, _, again = standing(work).command.rpartition(" && ")
    assert again == f"sow batch resume {work.batch.id}"
    environ = {"PATH": os.environ["PATH"], "HOME": str(desk.base)}
    subprocess.run(["/bin/sh", "-c", commit], cwd=desk.base, env=environ, check=True)
    assert plain(tree, "status", "--porcelain") == ""
    turn(work)
    assert items(work) == {"010": ItemState.DONE}


def test_what_was_changed_before_it_began_is_not_its_own(desk: Desk, tree: Path) -> None:
    (tree / "notes").write_text("mine\n")
    os.utime(tree / "notes", (LONG_AGO, LONG_AGO))
    done_by_hand(desk)
    assert standing(begin(desk, "010", merge=True)).state is ItemState.DONE


def test_who_depends_on_it_from_another_batch_does_not_begin_without_it(
    desk: Desk, tree: Path
) -> None:
    (tree / "made").write_text("x\n")
    done_by_hand(desk)
    desk.task("020", depends_on=["010"])
    work = begin(desk, "020", merge=True)
    found = standing(work, "020")
    assert found.state is ItemState.NEEDS_PERSON
    assert found.reason == "task 010 was done without a clone and is not committed: made"
    assert shlex.split(found.command)[:5] == ["git", "-C", str(tree), "add", "--"]
    plain(tree, "add", "made")
    plain(tree, "commit", "-q", "-m", "Made")
    (tree / "later").write_text("of somebody else\n")
    os.utime(tree / "later", (time.time() + 60, time.time() + 60))
    assert standing(work, "020").action is Action.SPAWN


def test_what_sow_writes_of_the_project_is_no_work(desk: Desk, tree: Path) -> None:
    (tree / ".gitignore").write_text(".sow/run\n")
    desk.task("010", TaskStatus.IN_PROGRESS, started_at=format_time(time.time() - 60))
    plain(tree, "add", "-A")
    plain(tree, "commit", "-q", "-m", "The project")
    desk.change("010", status=TaskStatus.COMPLETED, completed_at=format_time(time.time()))
    assert plain(tree, "status", "--porcelain") != ""
    assert standing(begin(desk, "010", merge=True)).state is ItemState.DONE


def test_a_batch_that_does_not_merge_asks_for_no_commit(desk: Desk, tree: Path) -> None:
    done_by_hand(desk)
    (tree / "made").write_text("x\n")
    assert standing(begin(desk, "010", review=True)).state is ItemState.DONE
