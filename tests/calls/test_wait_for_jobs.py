"""Waiting for jobs by their numbers: of any task, of none, and of whatever kind."""

import pytest
from calls.desk import Desk
from reports.job_cases import NOW

from sow.calls.ancestry import WaitsForItself
from sow.calls.call import Listener, Result, Terms, wait_for_jobs
from sow.calls.course import Course, jobs_left
from sow.calls.placement import place
from sow.calls.request import Request
from sow.calls.wait import Progress
from sow.cli.detaching import say_detached
from sow.cli.wait_options import WaitOptions
from sow.errors import SowError
from sow.ids import JobId, TaskId
from sow.jobs import jobs, leases, waiters
from sow.jobs.jobs import UnknownJob
from sow.schema.causes import Cause
from sow.schema.job import Job, JobState, Verb
from sow.schema.job_terms import CheckTerms


def project_check(desk: Desk) -> Job:
    terms = CheckTerms(names=("unit",))
    request = Request(verb=Verb.CHECK, task_id=TaskId(""), terms=terms)
    return place(desk.caller, desk.database, desk.config, request).job


def pass_check(desk: Desk, job: Job) -> None:
    leases.withdraw(desk.database, job.id)
    ends = {"state": JobState.DONE, "cause": Cause.PASSED, "ended_at": NOW + 1}
    jobs.change_job(desk.database, job.id, **ends)
    waiters.ring_job(desk.database, desk.workspace, job.id)


def wait(desk: Desk, *numbers: int, listener: Listener | None = None) -> tuple[Result, Course]:
    course = Course([], job_ids=[JobId(number) for number in numbers])
    result = wait_for_jobs(
        desk.caller, desk.database, desk.config, Terms(), listener or Listener(), course
    )
    return result, course


def test_an_agents_earlier_job_and_a_check_of_the_project_are_told(desk: Desk) -> None:
    desk.staff()
    desk.task()
    first = desk.queue()
    desk.end(first.id)
    desk.owe(first)
    desk.end(desk.queue().id)
    check = project_check(desk)

    def passes(progress: Progress) -> None:
        assert progress.job_ids == [check.id]
        pass_check(desk, check)

    result, course = wait(desk, check.id, first.id, listener=Listener(progress=passes))
    known = [(outcome.job, outcome.task, outcome.exit_code) for outcome in result.ended]
    assert sorted(known) == [(first.id, "010", 0), (check.id, None, 0)]
    assert not desk.is_owed(first.id)
    assert jobs_left(course) == []


def test_of_several_one_that_is_on_no_record_does_not_stop_the_others(desk: Desk) -> None:
    desk.task()
    job = desk.queue()
    desk.end(job.id)
    refused: list[tuple[str, SowError]] = []
    listener = Listener(refused=lambda task, error: refused.append((task, error)))
    result, _ = wait(desk, 99, job.id, listener=listener)
    assert [outcome.job for outcome in result.ended] == [job.id]
    assert [(task, type(error)) for task, error in refused] == [("", UnknownJob)]
    with pytest.raises(UnknownJob):
        wait(desk, 99)


def test_an_agent_does_not_wait_for_its_own_job(desk: Desk) -> None:
    desk.task()
    job = desk.run()
    desk.caller = desk.as_agent_of(job)
    with pytest.raises(WaitsForItself):
        wait(desk, job.id)


def test_a_wait_that_is_left_names_its_jobs(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    desk.staff()
    desk.task()
    job, check = desk.queue(), project_check(desk)
    course = Course([], job_ids=[job.id, check.id], delivered={job.id})
    options = WaitOptions(as_json=False, wait="9m", names_jobs=True)
    assert say_detached(desk.caller, desk.database, course, options) == 130
    words = capsys.readouterr().err
    assert f"To wait again: `sow job wait {check.id} --wait 9m`." in words
    assert f"To end it: `sow job cancel {check.id}`." in words
