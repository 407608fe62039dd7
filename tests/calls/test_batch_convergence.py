"""A batch's turn comes to its end, and the batch is told all that its next one depends on."""

from pathlib import Path

import pytest
from calls.batch_desk import batch, begin, look, turn
from calls.desk import NOW, PROJECT, WORKER, Desk

from sow.calls import batch_turn
from sow.calls.batch_look import Work
from sow.calls.batch_turn import EndlessTurn
from sow.calls.job_end import conclude
from sow.clock import format_time
from sow.jobs import batch_news, changes, jobs, leases
from sow.schema.batch import BatchState
from sow.schema.causes import Cause
from sow.schema.job import Job, JobState, Verb
from sow.schema.task import TaskStatus
from sow.state.places import find_task
from worker.batch_driver import BatchDriver
from worker.context import WorkerContext


@pytest.fixture
def checked(desk: Desk) -> Work:
    """Return a batch that a green check accepts; the clock was set back before that check."""
    desk.workspace.repository_config.write_text("checks: {unit: echo hello, default: [unit]}\n")
    desk.task("010")
    work = begin(desk, "010", check=True, review=False, accept="check")
    turn(work)
    desk.end(1)
    jobs.change_job(desk.database, jobs.newest_id(desk.database), ended_at=NOW + 3600)
    made = {"batch": work.batch.id, "batch_step": 2, "batch_deed": "check"}
    check = desk.insert(verb=Verb.CHECK, task_id="010", **made)
    ended = {"state": JobState.DONE, "cause": Cause.PASSED, "started_at": NOW, "ended_at": NOW + 1}
    jobs.change_job(desk.database, check.id, **ended)
    desk.change(check={"passed": True, "at": format_time(NOW)})
    return work


def test_a_green_check_accepts_work_that_ended_before_the_clock_was_set_back(
    desk: Desk, checked: Work
) -> None:
    """By the times alone the verdict was older than the work, and was given again and again."""
    turn(checked)
    assert desk.read().status is TaskStatus.COMPLETED
    assert batch_news.pending(desk.database, PROJECT) == []


def test_a_verdict_of_a_check_is_not_about_what_its_author_has_done_since(
    desk: Desk, checked: Work
) -> None:
    (accept,) = look(checked).actions
    batch_turn.do(checked, batch_turn.Step(accept.task, accept.action, accept.step))  # type: ignore[arg-type]
    later = desk.insert(verb=Verb.RESUME, task_id="010", batch=checked.batch.id)
    ended = {"state": JobState.DONE, "started_at": NOW, "ended_at": NOW - 3600}
    jobs.change_job(desk.database, later.id, **ended)
    (wanted,) = look(checked).actions
    assert wanted.action == "check"


@pytest.mark.slow
def test_a_turn_that_would_go_on_for_ever_pauses_its_batch_as_a_bug(
    desk: Desk, checked: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The thread that claims jobs takes it, so no other job would be started meanwhile."""
    done: list[str] = []
    monkeypatch.setattr(batch_turn, "do", lambda _work, step: done.append(step.action))
    with pytest.raises(EndlessTurn):
        turn(checked)
    assert done == ["accept"] * batch_turn.MOST_LOOKS
    environ = desk.caller.environ
    context = WorkerContext(desk.workspace, desk.database, WORKER, desk.config, environ)
    BatchDriver(context).drive()
    assert batch(checked).state is BatchState.PAUSED
    assert "`accept` of task 010" in batch(checked).reason
    assert "This is a bug" in batch(checked).reason
    assert batch_news.pending(desk.database, PROJECT) == []


def test_a_shortage_of_memory_is_no_bug_and_pauses_no_batch(
    desk: Desk, checked: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    def short(*_: object) -> None:
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr("sow.calls.batch_turn.take_turn", short)
        environ = desk.caller.environ
        context = WorkerContext(desk.workspace, desk.database, WORKER, desk.config, environ)
        BatchDriver(context).drive()
    assert batch(checked).state is BatchState.RUNNING
    assert batch_news.pending(desk.database, PROJECT) != [], "its turn is taken later"


def test_changes_without_end_are_no_endless_turn(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others are busy: nothing of what is done is done in vain."""
    desk.task("010")
    work = begin(desk, "010")
    looks = batch_turn.look

    def busy(*given: Work) -> object:
        batch_news.reopen(desk.database, work.batch.id)
        return looks(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(batch_turn, "look", busy)
    turn(work)
    assert batch(work).state is BatchState.RUNNING


def ended_without_its_task(desk: Desk, work: Work) -> Job:
    """End a batch's job whose task cannot be written now, and let the batch look meanwhile."""
    job = desk.job(1)
    desk.change(status=TaskStatus.NEEDS_REVIEW)
    leases.withdraw(desk.database, job.id)
    ends = {"state": JobState.FAILED, "owes_task": True, "started_at": NOW, "ended_at": NOW}
    jobs.change_job(desk.database, job.id, **ends)
    turn(work)
    assert batch_news.pending(desk.database, PROJECT) == []
    assert look(work).standings[0].has_job
    return job


@pytest.mark.parametrize("is_gone", [False, True])
def test_a_task_that_is_given_back_as_it_stands_is_news_to_its_batch(
    desk: Desk, is_gone: bool
) -> None:
    """Its item counted as at work, and nothing else would have had the batch look again."""
    desk.task("010")
    work = begin(desk, "010")
    turn(work)
    job = ended_without_its_task(desk, work)
    folder: Path = find_task(desk.workspace, "010").folder
    if is_gone:
        folder.rename(desk.base / "gone")
    seq = changes.newest(desk.database).seq
    conclude(desk.workspace, desk.database, job, now=NOW)
    assert [found.id for found in batch_news.pending(desk.database, PROJECT)] == [work.batch.id]
    assert changes.newest(desk.database).seq > seq, "a worker looks at the newest number first"
    turn(work)
    assert not look(work).standings[0].has_job
    seq = changes.newest(desk.database).seq
    conclude(desk.workspace, desk.database, desk.job(1), now=NOW)
    assert changes.newest(desk.database).seq == seq, "it is told once"
