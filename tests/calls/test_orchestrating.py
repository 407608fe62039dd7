"""The task of an orchestrator: one at a time, gone on with by the same call, beside the others."""

from typing import Any

import pytest
from calls.desk import PROJECT, Desk
from msgspec.structs import replace

from sow.calls.batch_changes import tasks_of
from sow.calls.ending import end_project
from sow.calls.orchestrating import (
    GO_ON,
    is_orchestrators,
    orchestrator_task,
    request_for,
)
from sow.errors import StateError
from sow.ids import TaskId
from sow.schema.batch import Selection
from sow.schema.job import Job, JobState, Verb
from sow.schema.project import EndingWord
from sow.schema.task import Task, TaskStatus
from sow.situation.looking import look
from sow.situation.next_steps import next_steps
from sow.state.authors import Author
from sow.state.tasks import find_task, list_tasks


def begin(desk: Desk, goal: str = "Sign in") -> Task:
    return orchestrator_task(desk.workspace, goal, now=desk.caller.now())


def commands(desk: Desk, caller: Any = None) -> list[str]:
    now = look(caller or desk.caller, is_at_terminal=True)
    return [step.command for step in next_steps(now)]


def test_it_is_an_ordinary_task_that_no_guard_counts(desk: Desk) -> None:
    task = begin(desk)
    assert (task.id, task.phase, task.assigned_agent) == ("010", "project", "orchestrator")
    assert is_orchestrators(task)
    assert "Sign in" in find_task(desk.workspace, "010").description.read_text()
    facts = look(desk.caller, is_at_terminal=True).facts
    assert facts is not None
    assert facts.tasks == ()


def test_there_is_one_at_a_time(desk: Desk) -> None:
    task = begin(desk)
    assert begin(desk) == begin(desk, "") == task
    with pytest.raises(StateError, match="already orchestrates this project, with another"):
        begin(desk, "Sign out")
    desk.change(status=TaskStatus.COMPLETED)
    assert begin(desk, "Sign out").id == "020"
    assert len(list_tasks(desk.workspace)) == 2


def test_the_same_call_goes_on_with_it(desk: Desk) -> None:
    task = begin(desk)
    assert request_for(task, None, is_owed=False).verb is Verb.SPAWN
    desk.with_session()
    task = desk.change(status=TaskStatus.IN_PROGRESS)
    assert request_for(task, None, is_owed=False).verb is Verb.RESUME
    task = desk.change(status=TaskStatus.FAILED)
    assert request_for(task, None, is_owed=False).verb is Verb.RESUME
    task = desk.change(status=TaskStatus.PAUSED)
    with pytest.raises(
        StateError, match=", which orchestrates this project, is paused because its"
    ) as asks:
        request_for(task, None, is_owed=False)
    assert "sow agent answer 010" in (asks.value.hint or "")
    task = desk.change(status=TaskStatus.NEEDS_REVIEW)
    with pytest.raises(
        StateError, match=", which orchestrates this project, reports that it"
    ) as done:
        request_for(task, None, is_owed=False)
    assert "sow task set 010 status completed" in (done.value.hint or "")


def test_one_that_is_at_work_is_found_and_one_that_was_missed_is_told(desk: Desk) -> None:
    task = begin(desk)
    job = desk.insert(task_id="010", verb=Verb.RESUME, prompt="Yes.", state=JobState.RUNNING)
    found = request_for(replace(task, status=TaskStatus.IN_PROGRESS), job, is_owed=False)
    assert (found.verb, found.prompt) == (Verb.RESUME, "Yes.")
    ended: Job = replace(job, state=JobState.DONE, outcome_status=TaskStatus.PAUSED)
    paused = replace(task, status=TaskStatus.PAUSED)
    assert request_for(paused, ended, is_owed=True).prompt == "Yes."
    with pytest.raises(
        StateError, match=(", which orchestrates this project, is paused because its")
    ):
        request_for(paused, ended, is_owed=False)


def test_one_that_was_cancelled_asks_nothing_and_is_begun_again_by_the_same_call(
    desk: Desk,
) -> None:
    begin(desk)
    desk.with_session()
    job = desk.run(task_id=TaskId("010"), agent="orchestrator")
    desk.end(job.id, TaskStatus.PAUSED, JobState.CANCELLED)
    task = desk.read()
    found = request_for(task, desk.job(job.id), is_owed=False)
    assert (found.verb, found.prompt) == (Verb.RESUME, GO_ON)
    assert commands(desk) == ["sow start --headless"]
    asked = desk.insert(
        task_id=TaskId("010"), prior_status=TaskStatus.PAUSED, state=JobState.CANCELLED
    )
    with pytest.raises(
        StateError, match=(", which orchestrates this project, is paused because its")
    ):
        request_for(task, asked, is_owed=False)


def test_an_orchestrator_is_not_told_to_go_on_with_itself(desk: Desk) -> None:
    begin(desk)
    job = desk.run(task_id="010", agent="orchestrator", phase="project")
    desk.staff()
    assert commands(desk) == ["sow agent wait 010"]
    inside = commands(desk, desk.as_agent_of(job, SOW_TASK_ID="010", SOW_AGENT="orchestrator"))
    assert not any("010" in command.split() for command in inside)
    assert inside[0].startswith("sow task ")


@pytest.mark.parametrize(
    ("status", "command"),
    [
        (TaskStatus.PENDING, "sow start --headless"),
        (TaskStatus.PAUSED, 'sow agent answer 010 "<your answer>"'),
        (TaskStatus.NEEDS_REVIEW, "sow task set 010 status completed"),
    ],
)
def test_beside_it_a_person_has_only_what_concerns_it(
    desk: Desk, status: TaskStatus, command: str
) -> None:
    begin(desk)
    desk.with_session()
    desk.change(status=status)
    desk.task("020")
    assert commands(desk) == [command]


def test_what_a_person_has_to_approve_comes_before_its_question(desk: Desk) -> None:
    from sow.lifecycle.stages import ProjectType
    from sow.state.projects import change_project

    begin(desk)
    desk.with_session()
    desk.change(status=TaskStatus.PAUSED)
    desk.task("020")
    fields = {"type": ProjectType.STANDARD, "state": "planning"}
    change_project(desk.workspace, lambda _: fields, now=desk.caller.now())
    assert commands(desk) == ["sow approve plan", 'sow agent answer 010 "<your answer>"']


def test_a_batch_of_all_that_is_left_leaves_it_out(desk: Desk) -> None:
    begin(desk)
    desk.task("020")
    assert tasks_of(desk.caller, desk.database, PROJECT, Selection()) == ["020"]
    assert tasks_of(desk.caller, desk.database, PROJECT, Selection(phase="project")) == ["010"]


def test_one_that_has_ended_its_project_reports_once(desk: Desk) -> None:
    begin(desk)
    job = desk.run(task_id="010", agent="orchestrator")
    caller = desk.as_agent_of(job, SOW_TASK_ID="010", SOW_AGENT="orchestrator")
    end_project(caller, EndingWord.ABANDONED, remove=False, by=Author("orchestrator"))
    assert commands(desk, caller) == ["sow task set status completed"]
    desk.change("010", status=TaskStatus.COMPLETED)
    assert commands(desk, caller) == ["sow task show 010"]
