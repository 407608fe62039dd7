"""What counts as an author's word in a batch, and whose word completes a task of one."""

from collections.abc import Callable

import pytest
from calls.batch_desk import begin, items, turn
from calls.desk import Desk

from sow.calls import batch_changes
from sow.cli.root import run
from sow.errors import ExitCode
from sow.ids import TaskId
from sow.schema.batch import ItemState
from sow.schema.task import TaskStatus

COMPLETED = ("task", "set", "010", "status", "completed")
Author = Callable[..., None]


@pytest.fixture
def author(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Author:
    """Return a function that has the agent of task 010 call it complete."""

    def completes(code: int = ExitCode.OK) -> None:
        with monkeypatch.context() as patched:
            patched.chdir(desk.workspace.root)
            patched.setenv("SOW_ROOT", str(desk.workspace.root))
            patched.setenv("SOW_JOB_ID", "1")
            patched.setenv("SOW_TASK_ID", "010")
            patched.setenv("SOW_AGENT", "implementer")
            assert run(COMPLETED) == code

    return completes


def test_it_waits_for_a_verdict_and_the_author_is_told(
    desk: Desk, author: Author, capsys: pytest.CaptureFixture[str]
) -> None:
    desk.task("010")
    turn(begin(desk))
    author()
    assert desk.read().status is TaskStatus.NEEDS_REVIEW
    printed = capsys.readouterr()
    assert printed.out == "Task 010: status is needs_review\n"
    assert "completed counts as needs_review here: task 010 belongs to batch 1" in printed.err


def test_it_does_where_the_batch_was_paused_meanwhile(desk: Desk, author: Author) -> None:
    desk.task("010")
    work = begin(desk)
    turn(work)
    batch_changes.pause(desk.database, work.batch)
    author()
    assert desk.read().status is TaskStatus.NEEDS_REVIEW


def test_it_does_where_somebody_else_had_placed_the_job(desk: Desk, author: Author) -> None:
    desk.task("010")
    desk.queue(task_id="010")
    begin(desk, "010")
    author()
    assert desk.read().status is TaskStatus.NEEDS_REVIEW


def test_it_stands_where_the_task_was_taken_out_of_the_batch(desk: Desk, author: Author) -> None:
    desk.task("010")
    work = begin(desk)
    turn(work)
    batch_changes.remove(desk.caller, desk.database, work.batch, [TaskId("010")])
    author()
    assert desk.read().status is TaskStatus.COMPLETED


def test_nothing_is_changed_where_the_queue_cannot_be_asked(desk: Desk, author: Author) -> None:
    desk.task("010")
    turn(begin(desk))
    desk.database.close()
    desk.workspace.queue_db.write_bytes(b"no database at all, " * 200)
    author(ExitCode.QUEUE)
    assert desk.read().status is TaskStatus.IN_PROGRESS


def test_a_person_s_own_word_completes(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.task("010")
    work = begin(desk)
    turn(work)
    desk.end(1)
    turn(work)
    assert items(work) == {"010": ItemState.NEEDS_PERSON}
    monkeypatch.chdir(desk.workspace.root)
    monkeypatch.setenv("SOW_CONFIG", desk.caller.environ["SOW_CONFIG"])  # no worker is started
    assert run(COMPLETED) == ExitCode.OK
    assert desk.read().status is TaskStatus.COMPLETED
    turn(work)
    assert items(work) == {"010": ItemState.DONE}
