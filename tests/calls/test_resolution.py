"""What a request names, looked up; and the job that the same call placed before."""

from typing import Any

import pytest
from calls.desk import Desk

from sow.agents.roles import UnknownAgent
from sow.calls.admission import RefusedCall
from sow.calls.idempotency import TaskHasJob, refuse_other_job
from sow.calls.kinds.work import find_or_admit
from sow.calls.request import Placed, Request, Resolved
from sow.calls.resolution import resolve
from sow.errors import StateError
from sow.executors.executor_errors import SessionMissing
from sow.ids import ProjectId
from sow.jobs import jobs
from sow.schema.job import Job, JobState, Verb
from sow.schema.task import TaskStatus
from sow.state.state_errors import UnknownTask

CURSOR = {"agents": {"bindings": {"implementer": "cursor"}}}


def look(desk: Desk, request: Request) -> Placed | Resolved:
    return find_or_admit(desk.caller, desk.database, desk.config, request)


def test_a_task_s_own_role_is_taken_where_none_is_named(desk: Desk) -> None:
    desk.task()
    resolved = resolve(desk.caller, desk.config, desk.spawn())
    assert (resolved.agent, resolved.executor.name) == ("implementer", "claude-code")


@pytest.mark.parametrize("named", [True, False])
def test_a_role_that_is_none_is_refused(desk: Desk, named: bool) -> None:
    desk.task(assigned_agent="implementer" if named else "wizard")
    with pytest.raises(UnknownAgent):
        resolve(desk.caller, desk.config, desk.spawn(agent="wizard" if named else None))


def test_a_task_that_is_none_is_refused(desk: Desk) -> None:
    desk.task("010")
    with pytest.raises(UnknownTask) as refusal:
        look(desk, desk.spawn("999"))
    assert refusal.value.task_id == "999"


def test_a_resume_goes_to_who_made_the_session_and_says_so(desk: Desk) -> None:
    desk.task(status=TaskStatus.PAUSED)
    desk.with_session(executor="claude-code")
    desk.configure(CURSOR)
    resolved = resolve(desk.caller, desk.config, desk.resume())
    assert resolved.executor.name == "claude-code"
    assert "implementer now uses the executor cursor" in resolved.notes[0]
    spawned = resolve(desk.caller, desk.config, desk.spawn())
    assert (spawned.executor.name, spawned.notes) == ("cursor", ())


def test_a_resume_without_a_maker_on_record_goes_to_the_bound_one(desk: Desk) -> None:
    desk.task(status=TaskStatus.PAUSED, session_id="by another tool")
    assert resolve(desk.caller, desk.config, desk.resume()).notes == ()


def live(desk: Desk, **fields: Any) -> Job:
    desk.task()
    return desk.queue(**fields)


def test_the_same_call_attaches_to_its_job_while_that_lives(desk: Desk) -> None:
    job = live(desk)
    found = look(desk, desk.spawn())
    assert isinstance(found, Placed)
    assert (found.job.id, found.attached, found.owed) == (job.id, True, False)


@pytest.mark.parametrize(
    ("other", "hint"),
    [
        ({"prompt": "another"}, "`sow agent cancel 010`"),
        ({"fresh": True}, "`sow agent cancel 010`"),
        ({"agent": "tester"}, "`sow agent cancel 010`"),
        ({"verb": Verb.RESUME}, "`sow agent cancel 010`"),
        ({"verb": Verb.OPEN}, "closing the session in its terminal"),
    ],
)
def test_another_call_is_refused_while_a_job_lives(
    desk: Desk, other: dict[str, Any], hint: str
) -> None:
    job = live(desk, **other)
    with pytest.raises(TaskHasJob) as refusal:
        look(desk, desk.spawn())
    assert refusal.value.job.id == job.id
    assert hint in refusal.value.hint


def test_the_same_call_by_another_executor_is_another_call(desk: Desk) -> None:
    live(desk)
    desk.configure(CURSOR)
    with pytest.raises(TaskHasJob):
        look(desk, desk.spawn())


def test_a_job_whose_agent_has_reported_is_said_to_be_ending(desk: Desk) -> None:
    live(desk, prompt="another")
    desk.change(status=TaskStatus.NEEDS_REVIEW)
    with pytest.raises(TaskHasJob) as refusal:
        look(desk, desk.spawn())
    assert "Its agent has set the status needs_review and ends soon." in refusal.value.hint


def test_the_job_of_another_project_s_task_is_no_other_call(desk: Desk) -> None:
    desk.task()
    job = desk.insert(task_id="010", state=JobState.RUNNING)
    jobs.change_job(desk.database, job.id, project_id=ProjectId("another"))
    assert isinstance(look(desk, desk.spawn()), Resolved)


def ended(desk: Desk, status: TaskStatus, **fields: Any) -> Job:
    job = live(desk, **fields)
    desk.end(job.id, status)
    desk.owe(job)
    return job


def test_an_owed_outcome_of_the_same_call_is_found(desk: Desk) -> None:
    job = ended(desk, TaskStatus.FAILED)
    found = look(desk, desk.spawn())
    assert isinstance(found, Placed)
    assert (found.job.id, found.owed, found.anew_with) == (job.id, True, "--again")


def test_where_the_session_has_started_only_a_fresh_spawn_runs_it_anew(desk: Desk) -> None:
    ended(desk, TaskStatus.NEEDS_REVIEW)
    desk.with_session()
    found = look(desk, desk.spawn())
    assert isinstance(found, Placed)
    assert found.anew_with == "--fresh"


def test_no_option_runs_anew_what_was_completed(desk: Desk) -> None:
    ended(desk, TaskStatus.COMPLETED)
    found = look(desk, desk.spawn())
    assert isinstance(found, Placed)
    assert found.anew_with is None


@pytest.mark.parametrize(("has_session", "anew_with"), [(True, "--again"), (False, None)])
def test_a_resume_is_never_offered_to_be_made_fresh(
    desk: Desk, has_session: bool, anew_with: str | None
) -> None:
    ended(desk, TaskStatus.PAUSED, verb=Verb.RESUME, prompt="Go on.")
    if has_session:
        desk.with_session()
    found = look(desk, desk.resume())
    assert isinstance(found, Placed)
    assert found.anew_with == anew_with


@pytest.mark.parametrize("how", ["again", "another call", "task has moved", "nobody is owed"])
def test_an_outcome_that_is_not_for_this_call_is_left(desk: Desk, how: str) -> None:
    job = ended(desk, TaskStatus.FAILED)
    if how == "task has moved":
        desk.change(status=TaskStatus.IN_PROGRESS)
    if how == "nobody is owed":
        desk.database.run("delete from waiter")
    request = desk.spawn(again=how == "again", prompt="more" if how == "another call" else "")
    assert isinstance(look(desk, request), Resolved)
    assert desk.job(job.id).state is JobState.DONE


def test_the_status_table_is_asked(desk: Desk) -> None:
    desk.task(status=TaskStatus.COMPLETED)
    for request in (desk.spawn(), desk.resume()):
        with pytest.raises(RefusedCall):
            look(desk, request)


def test_a_resume_needs_a_session(desk: Desk) -> None:
    desk.task()
    with pytest.raises(SessionMissing):
        look(desk, desk.resume())


def test_dependencies_are_asked_for_unless_they_are_to_be_ignored(desk: Desk) -> None:
    desk.task("010")
    desk.task("020", depends_on=["010"])
    with pytest.raises(StateError, match="tasks that are not completed: 010 "):
        look(desk, desk.spawn("020"))
    assert isinstance(look(desk, desk.spawn("020", ignore_deps=True)), Resolved)
    desk.change("010", status=TaskStatus.COMPLETED)
    assert isinstance(look(desk, desk.spawn("020")), Resolved)


def test_without_a_queue_there_is_no_job_to_find(desk: Desk) -> None:
    live(desk)
    desk.change(status=TaskStatus.PENDING)
    found = find_or_admit(desk.caller, None, desk.config, desk.spawn())
    assert isinstance(found, Resolved)


def test_a_call_of_which_there_cannot_be_two_is_refused_while_any_job_lives(desk: Desk) -> None:
    desk.task()
    resolved = resolve(desk.caller, desk.config, desk.spawn())
    refuse_other_job(desk.database, resolved)
    desk.queue()
    with pytest.raises(TaskHasJob):
        refuse_other_job(desk.database, resolved)
