"""An answer: a resume that only a task takes which has asked."""

import pytest
from calls.desk import Desk

from sow.calls.admission import NothingAsked
from sow.calls.idempotency import TaskHasJob
from sow.calls.kinds import place
from sow.calls.request import Placed
from sow.executors.executor_errors import SessionMissing
from sow.schema.job import JobState, Verb
from sow.schema.task import TaskStatus

INSTEAD = {
    TaskStatus.PENDING: "sow agent spawn 010",
    TaskStatus.NEEDS_REVIEW: "sow agent review 010",
    TaskStatus.FAILED: 'sow agent resume 010 "…"',
    TaskStatus.COMPLETED: "sow task reopen 010",
    TaskStatus.ABANDONED: "sow task reopen 010",
}


def put(desk: Desk, words: str = "Yes.") -> Placed:
    request = desk.resume(prompt=words, answers=True)
    return place(desk.caller, desk.database, desk.config, request)


def test_a_paused_task_is_resumed_with_the_answer(desk: Desk) -> None:
    desk.task(status=TaskStatus.PAUSED)
    desk.with_session()
    placed = put(desk)
    assert (placed.job.verb, placed.job.state) == (Verb.RESUME, JobState.QUEUED)
    assert (placed.job.prompt, desk.read().status) == ("Yes.", TaskStatus.IN_PROGRESS)
    assert desk.read().iteration == 1
    assert "Yes." in desk.log()


@pytest.mark.parametrize(("status", "command"), INSTEAD.items())
def test_a_task_that_asks_nothing_names_what_it_takes_instead(
    desk: Desk, status: TaskStatus, command: str
) -> None:
    desk.task(status=status)
    if status not in (TaskStatus.COMPLETED, TaskStatus.ABANDONED):
        desk.with_session()
    with pytest.raises(NothingAsked) as refused:
        put(desk)
    assert f"task 010 is {status}: there is no question to answer" in refused.value.message
    assert f"`{command}`" in refused.value.hint
    assert "Yes." not in desk.log()


def test_every_status_but_paused_has_its_command() -> None:
    assert set(NothingAsked.INSTEAD) == set(TaskStatus) - {TaskStatus.PAUSED}


@pytest.mark.parametrize("started", [True, False])
def test_a_task_that_was_left_in_the_middle_is_gone_on_with(desk: Desk, started: bool) -> None:
    desk.task(status=TaskStatus.IN_PROGRESS)
    desk.with_session(started=started)
    with pytest.raises(NothingAsked) as refused:
        put(desk)
    command = 'sow agent resume 010 "Go on."' if started else "sow agent spawn 010"
    assert f"`{command}`" in refused.value.hint


def test_an_agent_that_is_at_work_is_waited_for(desk: Desk) -> None:
    desk.task()
    desk.run(task_id="010")
    desk.with_session()
    with pytest.raises(NothingAsked) as refused:
        put(desk)
    assert "`sow agent wait 010`" in refused.value.hint


def test_one_that_has_asked_and_is_only_ending_is_told_as_such(desk: Desk) -> None:
    """So that the call waits for its end (`placement_after_report`)."""
    desk.task()
    desk.run(task_id="010")
    desk.with_session()
    desk.change(status=TaskStatus.PAUSED)
    with pytest.raises(TaskHasJob):
        put(desk)


def test_the_same_answer_again_attaches(desk: Desk) -> None:
    desk.task(status=TaskStatus.PAUSED)
    desk.with_session()
    job = put(desk).job
    again = put(desk)
    assert (again.attached, again.job.id) == (True, job.id)


def test_the_same_answer_prints_the_outcome_that_was_missed(desk: Desk) -> None:
    desk.task(status=TaskStatus.PAUSED)
    desk.with_session()
    job = put(desk).job
    desk.owe(job)
    desk.end(job.id)
    again = put(desk)
    assert (again.owed, again.anew_with) == (True, None)


def test_a_paused_task_without_a_session_has_nobody_to_answer(desk: Desk) -> None:
    desk.task(status=TaskStatus.PAUSED)
    with pytest.raises(SessionMissing):
        put(desk)
