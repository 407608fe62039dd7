"""A cancel of each job in each state, of what its agent has queued, and its wait for the end."""

from typing import Any

import msgspec
import pytest
from calls.desk import WORKER, Desk
from reports.job_cases import NOW

from sow.calls.autostart import NoWorker
from sow.calls.caller import WouldEndItself
from sow.calls.cancel import (
    Cancelled,
    EndIsUnverifiable,
    NotEnded,
    NotGivenBack,
    NothingToCancel,
    OpenOnTerminal,
    TooLate,
    cancel_job,
    cancel_to_end,
    job_to_cancel,
    not_ended,
)
from sow.calls.live_jobs import TaskIsRunning, end_live_job, refuse_while_live
from sow.calls.wait import Progress
from sow.cli.cancel import How, cancel_tasks
from sow.ids import ProjectId, TaskId
from sow.jobs import elsewhere, jobs, leases
from sow.processes import process_facts
from sow.schema.causes import Cause
from sow.schema.job import Job, JobState, Verb
from sow.schema.job_terms import CheckTerms, JobTerms, MergeTerms
from sow.schema.task import TaskStatus
from sow.state.state_errors import UnknownTask

WAITING = [JobState.PREPARING, JobState.QUEUED, JobState.BACKOFF, JobState.PARKED]


def cancel(desk: Desk, job: Job, *, keep_children: bool = False) -> Cancelled:
    return cancel_job(desk.caller, desk.database, job, keep_children=keep_children)


@pytest.mark.parametrize("state", WAITING)
def test_a_job_that_waits_is_ended_at_once_and_its_task_given_back(
    desk: Desk, state: JobState
) -> None:
    desk.task()
    job = desk.queue()
    jobs.change_job(desk.database, job.id, state=state)
    cancelled = cancel(desk, job)
    assert (cancelled.job.state, cancelled.ending) == (JobState.CANCELLED, ())
    assert desk.read().status is TaskStatus.PENDING
    assert leases.claim(desk.database, WORKER, total=9, own=9, now=1e12) is None


def test_a_job_that_waits_after_a_run_leaves_its_task_paused(desk: Desk) -> None:
    desk.task()
    job = desk.queue()
    desk.attempt(job)
    cancel(desk, job)
    assert desk.read().status is TaskStatus.PAUSED
    (attempt,) = jobs.attempts(desk.database, job.id)
    assert attempt.cause is Cause.CANCELLED, "nobody judges it any more"


def test_a_job_that_runs_is_asked_to_end(desk: Desk) -> None:
    desk.task()
    job = desk.run()
    cancelled = cancel(desk, job)
    assert [each.id for each in cancelled.ending] == [job.id]
    assert desk.job(job.id).cancel_requested_at is not None
    assert desk.read().status is TaskStatus.IN_PROGRESS


def test_asked_twice_the_first_moment_stays(desk: Desk) -> None:
    desk.task()
    job = desk.run()
    jobs.change_job(desk.database, job.id, cancel_requested_at=1.0)
    cancel(desk, job)
    assert desk.job(job.id).cancel_requested_at == 1.0


def test_an_agent_that_has_reported_is_not_ended_any_more(desk: Desk) -> None:
    desk.task("010")
    desk.task("020")
    job = desk.run(task_id="010")
    desk.queue(task_id="020", parent=job.id)
    desk.change("010", status=TaskStatus.NEEDS_REVIEW)
    with pytest.raises(TooLate) as refusal:
        cancel(desk, job)
    assert "has already set the status needs_review" in refusal.value.message
    assert "sow agent cancel 020" in refusal.value.hint


def test_a_session_that_a_person_has_open_is_not_ended_from_elsewhere(desk: Desk) -> None:
    desk.task()
    job = desk.insert(verb=Verb.OPEN, state=JobState.RUNNING, caller=process_facts.identify(1))
    with pytest.raises(OpenOnTerminal) as refusal:
        cancel(desk, job)
    assert "by process 1" in refusal.value.message


def test_a_job_that_has_ended_is_not_cancelled(desk: Desk) -> None:
    desk.task()
    job = desk.queue()
    desk.end(job.id)
    with pytest.raises(NothingToCancel) as refusal:
        cancel(desk, job)
    assert "has ended" in refusal.value.message
    assert refusal.value.ended is not None


def family(desk: Desk) -> tuple[Job, Job, Job]:
    for task in ("010", "020", "030"):
        desk.task(task)
    top = desk.run(task_id="010")
    child = desk.run(task_id="020", parent=top.id)
    return top, child, desk.queue(task_id="030", parent=child.id)


def test_what_its_agent_has_queued_ends_with_it_all_generations(desk: Desk) -> None:
    top, child, grandchild = family(desk)
    cancelled = cancel(desk, top)
    assert [job.id for job in cancelled.children] == [child.id, grandchild.id]
    assert [job.id for job in cancelled.ending] == [top.id, child.id]
    assert desk.job(grandchild.id).state is JobState.CANCELLED
    assert desk.read("030").status is TaskStatus.PENDING


def test_children_that_are_to_be_kept_go_on(desk: Desk) -> None:
    top, child, grandchild = family(desk)
    cancelled = cancel(desk, top, keep_children=True)
    assert [job.id for job in cancelled.kept] == [child.id, grandchild.id]
    assert desk.job(child.id).cancel_requested_at is None


def test_a_child_that_has_reported_is_left_to_end(desk: Desk) -> None:
    top, child, _ = family(desk)
    desk.change("020", status=TaskStatus.NEEDS_REVIEW)
    cancel(desk, top)
    assert desk.job(child.id).cancel_requested_at is None


def test_a_child_that_a_person_has_open_goes_on(desk: Desk) -> None:
    desk.task("010")
    desk.task("020")
    top = desk.run(task_id="010")
    held = desk.insert(task_id="020", verb=Verb.OPEN, state=JobState.RUNNING, parent=top.id)
    assert [job.id for job in cancel(desk, top).kept] == [held.id]


def test_the_same_cancel_goes_on_where_one_broke_off(desk: Desk) -> None:
    """The job is cancelled; its child was asked to end, and its own task is not given back."""
    top, child, _ = family(desk)
    desk.database.run("delete from lease where job_id = ?", (top.id,))
    jobs.change_job(
        desk.database,
        top.id,
        state=JobState.CANCELLED,
        owes_task=True,
        outcome_status=TaskStatus.PENDING,
    )
    jobs.change_job(desk.database, child.id, cancel_requested_at=1.0)
    cancelled = cancel(desk, desk.job(top.id))
    assert [job.id for job in cancelled.children] == [child.id]
    assert desk.read("010").status is TaskStatus.PENDING
    jobs.change_job(desk.database, child.id, cancel_requested_at=None)
    with pytest.raises(NothingToCancel) as refusal:
        cancel(desk, desk.job(top.id))
    assert "is cancelled already, with the status pending" in refusal.value.message


def step(desk: Desk, terms: JobTerms | None = None, **fields: Any) -> Job:
    """Queue a job without an agent: a check of the project, or what `fields` say."""
    wanted = {"verb": Verb.CHECK, "task_id": "", "agent": "", "executor": None, **fields}
    job = desk.insert(terms=terms or CheckTerms(names=("unit",)), **wanted)
    leases.enqueue(desk.database, job.id, now=NOW)
    return desk.job(job.id)


def merge_of_two(desk: Desk) -> Job:
    tasks = (TaskId("010"), TaskId("020"))
    for task in tasks:
        desk.task(task, TaskStatus.COMPLETED)
    return step(desk, MergeTerms(tasks=tasks), verb=Verb.MERGE, task_id="010")


def test_a_step_that_is_cancelled_already_has_left_no_status(desk: Desk) -> None:
    about_the_project, merge = step(desk), merge_of_two(desk)
    refused = []
    for job in (about_the_project, merge):
        cancel(desk, job)
        with pytest.raises(NothingToCancel) as refusal:
            cancel(desk, job)
        refused.append((refusal.value.message, refusal.value.hint))
    assert refused == [
        (
            "nothing to cancel for the project: job 1 is cancelled already",
            "`sow job show 1` shows how it ended.",
        ),
        (
            "nothing to cancel for task 010 and task 020: job 2 is cancelled already",
            "`sow job list --task 010` shows its past jobs.",
        ),
    ]


def test_one_merge_of_the_tasks_of_a_cancel_is_ended_and_printed_once(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    merge = merge_of_two(desk)
    tasks = [TaskId("010"), TaskId("020")]
    assert cancel_tasks(desk.caller, tasks, How()) == 0
    assert desk.job(merge.id).state is JobState.CANCELLED
    printed = capsys.readouterr()
    assert (printed.out.count("\n"), printed.err) == (1, "")
    assert printed.out.startswith("010, 020 cancelled (merge, job 1")


@pytest.mark.slow
def test_a_step_that_ends_before_its_cancel_is_heeded_says_how(desk: Desk) -> None:
    """A worker may be about to write that the check has passed."""
    desk.staff()
    check = step(desk)
    leases.claim(desk.database, WORKER, total=9, own=9, now=NOW)

    def passes(_: Progress) -> None:
        desk.database.run("delete from lease where job_id = ?", (check.id,))
        ends = {"state": JobState.DONE, "cause": Cause.PASSED, "ended_at": NOW + 1}
        jobs.change_job(desk.database, check.id, **ends)

    cancelled = cancel_to_end(desk.caller, desk.database, check, on_tick=passes)
    error = TooLate(cancelled.job, cancelled.job.outcome_status)
    assert error.message == "too late to cancel job 1 of the project: it has ended (done)"
    assert error.hint == "`sow job wait 1` prints how it has ended."


def test_a_task_that_cannot_be_given_back_is_told_last(desk: Desk) -> None:
    desk.task("010")
    desk.task("020")
    top = desk.run(task_id="020")
    child = desk.queue(task_id="010", parent=top.id)
    (state,) = desk.workspace.project.glob("phases/*/tasks/010/state.yaml")
    state.write_text("task: [")
    with pytest.raises(NotGivenBack) as refusal:
        cancel(desk, top)
    assert f"job {child.id} of task 010 is cancelled" in refusal.value.message
    assert desk.job(top.id).cancel_requested_at is not None, "the others are asked all the same"
    assert desk.job(child.id).owes_task


def test_an_agent_does_not_end_itself_nor_who_called_it(desk: Desk) -> None:
    top, child, grandchild = family(desk)
    caller = desk.as_agent_of(child)
    for job in (top, child):
        with pytest.raises(WouldEndItself):
            cancel_job(caller, desk.database, job)
    assert cancel_job(caller, desk.database, grandchild).job.state is JobState.CANCELLED


def test_a_job_of_another_project_is_cancelled_and_its_task_left(desk: Desk) -> None:
    desk.task()
    job = desk.queue()
    jobs.change_job(desk.database, job.id, project_id=ProjectId("another"))
    assert cancel(desk, desk.job(job.id)).job.owes_task
    assert desk.read().status is TaskStatus.IN_PROGRESS


def find(desk: Desk, task: str = "010") -> Job:
    return job_to_cancel(desk.caller, desk.database, TaskId(task))


def test_the_job_to_cancel_is_the_live_one_else_one_whose_cancel_may_have_broken_off(
    desk: Desk,
) -> None:
    with pytest.raises(UnknownTask):
        find(desk)
    desk.task()
    with pytest.raises(NothingToCancel) as never:
        find(desk)
    assert "it has no running or waiting job" in never.value.message
    job = desk.queue()
    assert find(desk).id == job.id
    jobs.change_job(desk.database, job.id, state=JobState.CANCELLED)
    assert find(desk).id == job.id
    jobs.change_job(desk.database, job.id, state=JobState.DONE)
    with pytest.raises(NothingToCancel):
        find(desk)


def test_a_cancel_waits_for_the_end(desk: Desk) -> None:
    desk.staff()
    desk.task()
    job = desk.run()
    waited: list[Progress] = []

    def end(progress: Progress) -> None:
        waited.append(progress)
        desk.end(job.id, TaskStatus.PAUSED, JobState.CANCELLED)

    cancelled = cancel_to_end(desk.caller, desk.database, job, on_tick=end)
    assert len(waited) == 1
    assert (cancelled.job.state, cancelled.ending) == (JobState.CANCELLED, ())
    assert not desk.is_owed(job.id)


def test_a_cancel_that_is_left_while_it_waits_is_owed_nothing(desk: Desk) -> None:
    """The caller of the job is told how it has ended; the cancel has only asked for that."""
    desk.staff()
    desk.task()
    job = desk.run()

    def leave(_: Progress) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cancel_to_end(desk.caller, desk.database, job, on_tick=leave)
    assert not desk.is_owed(job.id)
    assert desk.job(job.id).cancel_requested_at is not None


def test_a_cancel_of_what_waits_needs_no_worker(desk: Desk) -> None:
    desk.task()
    assert cancel_to_end(desk.caller, desk.database, desk.queue()).ending == ()


def test_a_cancel_of_what_runs_needs_one(desk: Desk) -> None:
    desk.task()
    job = desk.run()
    with pytest.raises(NoWorker):
        cancel_to_end(desk.caller, desk.database, job)
    assert desk.job(job.id).cancel_requested_at is not None


def in_doubt(desk: Desk, job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the job's agent run below a supervisor of another pid namespace, where no lock tells."""
    monkeypatch.setattr(elsewhere, "is_local", lambda _: False)
    supervisor = process_facts.identify(1)
    assert supervisor is not None
    desk.attempt(job, supervisor=msgspec.structs.replace(supervisor, pid_namespace="1"))


def test_what_nobody_can_tell_of_is_not_waited_for(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.task()
    job = desk.run()
    in_doubt(desk, job, monkeypatch)
    cancelled = cancel_to_end(desk.caller, desk.database, job)
    assert [each.id for each in cancelled.ending] == [job.id]
    error = not_ended(desk.caller, desk.database, cancelled.job)
    assert isinstance(error, EndIsUnverifiable)
    assert f"sow job resolve {job.id} --gone" in error.hint


def test_what_has_not_ended_in_time_is_said_so(desk: Desk) -> None:
    desk.task()
    error = not_ended(desk.caller, desk.database, desk.run())
    assert isinstance(error, NotEnded)
    assert "has not ended in 60 s" in error.message


def test_a_task_with_a_live_job_is_not_ended_by_hand(desk: Desk) -> None:
    desk.task()
    refuse_while_live(desk.workspace, TaskId("010"), has_option=True)
    desk.queue()
    with pytest.raises(TaskIsRunning) as refusal:
        refuse_while_live(desk.workspace, TaskId("010"), has_option=True)
    assert "--cancel-job" in refusal.value.hint
    with pytest.raises(TaskIsRunning) as refusal:
        refuse_while_live(desk.workspace, TaskId("010"), has_option=False)
    assert "sow agent cancel 010" in refusal.value.hint
    desk.change(status=TaskStatus.FAILED)
    with pytest.raises(TaskIsRunning) as refusal:
        refuse_while_live(desk.workspace, TaskId("010"), has_option=True)
    assert "its agent has set the status failed and ends soon" in refusal.value.hint


def test_a_live_job_is_ended_with_all_that_it_has_queued_and_shown(desk: Desk) -> None:
    desk.task("010")
    desk.task("020")
    shown: list[Job] = []
    end_live_job(desk.workspace, TaskId("010"), desk.caller.environ, shown.append)
    assert shown == []
    top = desk.queue(task_id="010")
    child = desk.queue(task_id="020", parent=top.id)
    desk.owe(child)
    end_live_job(desk.workspace, TaskId("010"), desk.caller.environ, shown.append)
    assert [(job.id, job.state) for job in shown] == [
        (top.id, JobState.CANCELLED),
        (child.id, JobState.CANCELLED),
    ]
    assert not desk.is_owed(child.id), "it has been shown"


def test_a_live_job_that_does_not_end_keeps_its_task(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.task()
    job = desk.run()
    in_doubt(desk, job, monkeypatch)
    with pytest.raises(TaskIsRunning):
        end_live_job(desk.workspace, TaskId("010"), desk.caller.environ, lambda _: None)


def test_without_a_queue_nothing_lives(desk: Desk) -> None:
    desk.task()
    desk.database.close()
    for path in desk.workspace.run.glob("queue.db*"):
        path.unlink()
    refuse_while_live(desk.workspace, TaskId("010"), has_option=True)
