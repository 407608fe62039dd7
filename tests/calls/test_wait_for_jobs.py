"""Waiting for jobs by their numbers: of any task, of none, and of whatever kind."""

from typing import Any

import pytest
from calls.desk import Desk
from reports.job_cases import NOW

from sow.calls import wait as wait_module
from sow.calls.call import (
    CallProgress,
    Listener,
    Result,
    Terms,
    jobs_left,
    left_to_wait_for,
    wait_on_record,
)
from sow.calls.caller import WaitsForItself
from sow.calls.kinds import place
from sow.calls.request import Request
from sow.calls.wait import MOST_REST_SECONDS, Progress, Waiter
from sow.cli.call_options import WaitOptions
from sow.cli.detaching import say_detached
from sow.errors import SowError
from sow.ids import JobId, TaskId
from sow.jobs import jobs, leases, waiters
from sow.jobs.jobs import UnknownJob
from sow.schema.causes import Cause
from sow.schema.job import Job, JobState, Verb
from sow.schema.job_terms import CheckTerms, MergeTerms
from sow.schema.task import TaskStatus
from sow.state.state_errors import WorkArrives


def project_check(desk: Desk) -> Job:
    terms = CheckTerms(names=("unit",))
    request = Request(verb=Verb.CHECK, task_id=TaskId(""), terms=terms)
    return place(desk.caller, desk.database, desk.config, request).job


def pass_step(desk: Desk, job: Job) -> None:
    leases.withdraw(desk.database, job.id)
    ends = {"state": JobState.DONE, "cause": Cause.PASSED, "ended_at": NOW + 1}
    jobs.change_job(desk.database, job.id, **ends)
    waiters.ring_job(desk.database, desk.workspace, job.id)


def merge_of_two(desk: Desk) -> Job:
    """Queue one merge of two completed tasks."""
    tasks = (TaskId("010"), TaskId("020"))
    for task in tasks:
        desk.task(task, TaskStatus.COMPLETED)
    job = desk.insert(verb=Verb.MERGE, agent="", executor=None, terms=MergeTerms(tasks=tasks))
    leases.enqueue(desk.database, job.id, now=NOW)
    return desk.job(job.id)


def wait(
    desk: Desk, *numbers: int, listener: Listener | None = None
) -> tuple[Result, CallProgress]:
    call_progress = CallProgress([], job_ids=[JobId(number) for number in numbers])
    result = wait_on_record(
        desk.caller, desk.database, desk.config, Terms(), listener or Listener(), call_progress
    )
    return result, call_progress


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
        pass_step(desk, check)

    result, call_progress = wait(desk, check.id, first.id, listener=Listener(progress=passes))
    known = [(outcome.job, outcome.task, outcome.exit_code) for outcome in result.ended]
    assert sorted(known) == [(first.id, "010", 0), (check.id, None, 0)]
    assert not desk.is_owed(first.id)
    assert jobs_left(call_progress) == []


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
    call_progress = CallProgress([], job_ids=[job.id, check.id], delivered={job.id})
    options = WaitOptions(as_json=False, wait="9m", names_jobs=True)
    assert say_detached(desk.caller, desk.database, call_progress, options) == 130
    words = capsys.readouterr().err
    assert f"To wait again: `sow job wait {check.id} --wait 9m`." in words
    assert f"To end it: `sow job cancel {check.id}`." in words


def test_one_merge_of_two_tasks_is_waited_for_and_told_once(desk: Desk) -> None:
    desk.staff()
    merge = merge_of_two(desk)
    call_progress = CallProgress([TaskId("010"), TaskId("020")])

    def passes(progress: Progress) -> None:
        assert progress.job_ids == [merge.id]
        assert left_to_wait_for(desk.caller, desk.database, call_progress) == ["010"]
        pass_step(desk, merge)

    def waits(call_progress: CallProgress) -> Result:
        listener = Listener(progress=passes)
        return wait_on_record(
            desk.caller, desk.database, desk.config, Terms(), listener, call_progress
        )

    assert [outcome.job for outcome in waits(call_progress).ended] == [merge.id]
    assert left_to_wait_for(desk.caller, desk.database, call_progress) == []
    again = waits(CallProgress([TaskId("020"), TaskId("010")]))
    assert [outcome.job for outcome in again.ended] == [merge.id]
    assert waiters.of_job(desk.database, merge.id) == []


def end(desk: Desk, *ended: Job) -> None:
    for job in ended:
        desk.end(job.id)
        waiters.ring_job(desk.database, desk.workspace, job.id)


def test_jobs_that_end_soon_after_others_are_looked_at_together(desk: Desk) -> None:
    """The look that has delivered an outcome is followed by a rest, as long as others are left."""
    for task in ("010", "020", "030"):
        desk.task(task)
    first, second, third = (desk.queue(task_id=task) for task in ("010", "020", "030"))
    looks: list[list[JobId]] = []
    rests: list[float] = []

    def rest(seconds: float) -> None:
        rests.append(seconds)
        end(desk, third)

    with Waiter(desk.caller, desk.database, rest=rest) as waiter:
        waiter.begin([first.id, second.id, third.id])
        end(desk, first, second)
        left = waiter.wait(seconds=30, on_end=lambda ended: looks.append([job.id for job in ended]))
    assert left == []
    assert looks == [[first.id, second.id], [third.id]]
    assert len(rests) == 1
    assert 0 < rests[0] <= MOST_REST_SECONDS


def test_the_end_of_a_job_is_told_at_once_where_none_was_told_just_before(desk: Desk) -> None:
    desk.task()
    job = desk.queue()

    def rest(_: float) -> None:
        raise AssertionError("nobody may wait for this outcome")

    with Waiter(desk.caller, desk.database, rest=rest) as waiter:
        waiter.begin([job.id])
        ended: list[Job] = []
        waiter.wait(seconds=30, on_tick=lambda _: end(desk, job), on_end=ended.extend)
    assert [each.id for each in ended] == [job.id]


def test_a_job_that_is_named_twice_is_on_a_waiters_record_once(desk: Desk) -> None:
    desk.task()
    job = desk.queue()
    for name_twice in (Waiter.begin, Waiter.take_up):
        with Waiter(desk.caller, desk.database) as waiter:
            name_twice(waiter, [job.id, job.id])
            name_twice(waiter, [job.id])
            assert waiter.job_ids == [job.id]
            waiter.delivered(job.id)
    assert waiters.of_job(desk.database, job.id) == []


def test_a_job_is_waited_for_until_another_process_has_brought_its_work_home(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.task()
    job = desk.queue()
    desk.end(job.id)
    jobs.change_job(desk.database, job.id, owes_task=True)
    given_back: list[JobId] = []

    def give_back(*_: Any, **__: Any) -> bool:
        if not given_back:
            raise WorkArrives("010", desk.workspace.arrival_lock("010"))
        return jobs.pay_task(desk.database, job.id)

    monkeypatch.setattr(wait_module, "give_back", give_back)
    ended: list[JobId] = []

    def tick(progress: Progress) -> None:
        assert (progress.job_ids, ended) == ([job.id], [])
        given_back.append(job.id)
        waiters.ring_job(desk.database, desk.workspace, job.id)

    with Waiter(desk.caller, desk.database) as waiter:
        waiter.begin([job.id])
        left = waiter.wait(
            seconds=30, on_tick=tick, on_end=lambda given: ended.extend(job.id for job in given)
        )
    assert left == []
    assert ended == [job.id]
