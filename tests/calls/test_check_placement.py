"""Placing a check: found again, refused beside another job, queued in one commit, and cancelled."""

import pytest
from calls.desk import Desk
from clones.clone_site import name_author, plain
from reports.job_cases import NOW

from sow.calls.call import CallProgress, Listener, Terms, begin, call
from sow.calls.caller import WaitsForItself
from sow.calls.cancel import cancel_job
from sow.calls.idempotency import OutcomeIsOwed, TaskHasJob
from sow.calls.job_end import give_back
from sow.calls.kinds import place
from sow.calls.request import Placed, Request
from sow.calls.wait import Progress, Waiter
from sow.errors import StateError
from sow.ids import JobId, TaskId
from sow.jobs import jobs, leases, waiters
from sow.schema.causes import Cause
from sow.schema.job import Job, JobState, Verb
from sow.schema.job_terms import CheckTerms
from sow.schema.output.outcome import Outcome
from sow.schema.task import SessionFacts, TaskClone, TaskStatus
from sow.state.projects import change_project


def check(*names: str, task: str = "010", again: bool = False) -> Request:
    terms = CheckTerms(names=names or ("unit",))
    return Request(verb=Verb.CHECK, task_id=TaskId(task), terms=terms, again=again)


def put(desk: Desk, request: Request) -> Placed:
    return place(desk.caller, desk.database, desk.config, request)


def end(desk: Desk, job: Job, state: JobState = JobState.DONE) -> None:
    leases.withdraw(desk.database, job.id)
    jobs.change_job(desk.database, job.id, state=state, cause=Cause.PASSED, ended_at=NOW + 1)
    waiters.ring_job(desk.database, desk.workspace, job.id)


@pytest.mark.parametrize("status", list(TaskStatus))
def test_a_check_is_queued_and_its_task_stays_as_it_is(desk: Desk, status: TaskStatus) -> None:
    desk.task(status=status)
    before = desk.read()
    job = put(desk, check("unit", "lint")).job
    assert (job.state, job.executor, job.agent) == (JobState.QUEUED, None, "")
    assert job.terms == CheckTerms(names=("unit", "lint"))
    assert desk.read() == before


def test_the_same_check_again_is_the_same_job(desk: Desk) -> None:
    desk.task()
    first = put(desk, check())
    assert put(desk, check()) == Placed(first.job, attached=True)


class KilledOnRecord(Waiter):
    """A call that is killed as it goes on record as the one that waits."""

    def expect(self, job_id: JobId) -> None:
        raise KeyboardInterrupt(job_id)


def test_a_call_that_is_killed_before_it_is_owed_the_outcome_has_queued_nothing(desk: Desk) -> None:
    desk.task()
    with (
        KilledOnRecord(desk.caller, desk.database) as waiter,
        pytest.raises(KeyboardInterrupt),
    ):
        place(desk.caller, desk.database, desk.config, check(), waiter)
    assert jobs.newest_id(desk.database) == JobId(0)
    assert desk.database.row("select 1 from task") is None


@pytest.mark.parametrize("other", [check("lint"), check("unit", "lint")])
def test_another_check_waits_for_its_turn(desk: Desk, other: Request) -> None:
    desk.task()
    put(desk, check())
    with pytest.raises(TaskHasJob, match=r"job 1 \(check, queued\)"):
        put(desk, other)


def test_a_task_that_is_checked_takes_no_agent(desk: Desk) -> None:
    desk.task()
    put(desk, check())
    with pytest.raises(TaskHasJob):
        put(desk, desk.spawn())


def test_a_task_with_an_agent_takes_no_check(desk: Desk) -> None:
    desk.task()
    put(desk, desk.spawn())
    with pytest.raises(TaskHasJob):
        put(desk, check())


def test_a_task_whose_clone_is_gone_is_not_checked_but_named_the_way_back(desk: Desk) -> None:
    known = SessionFacts(executor="claude-code", cwd=".", started=True)
    clone = TaskClone(path=str(desk.base / "gone"), branch="sow/x/010", base="0" * 40)
    desk.task(status=TaskStatus.NEEDS_REVIEW)
    desk.change("010", clone=clone, session_id="s", session=known)
    with pytest.raises(StateError, match="task 010 has no clone") as refused:
        put(desk, check())
    assert "`sow agent resume 010" in refused.value.hint, "another check would end the same way"
    assert put(desk, check(task="")).job.task_id == ""


def test_a_held_job_is_live(desk: Desk) -> None:
    desk.task()
    job = put(desk, check()).job
    leases.withdraw(desk.database, job.id)
    jobs.change_job(desk.database, job.id, state=JobState.HELD)
    with pytest.raises(TaskHasJob):
        put(desk, desk.spawn())
    assert put(desk, check()).attached


def test_the_project_and_its_tasks_are_checked_side_by_side(desk: Desk) -> None:
    desk.task()
    put(desk, check())
    job = put(desk, check(task="")).job
    assert job.task_id == ""
    with pytest.raises(TaskHasJob, match="the project has a job"):
        put(desk, check("lint", task=""))


def test_an_outcome_that_is_owed_is_found_and_run_anew_when_asked(desk: Desk) -> None:
    desk.task()
    job = put(desk, check()).job
    end(desk, job)
    desk.owe(job)
    found = put(desk, check())
    assert (found.job.id, found.owed, found.anew_with) == (job.id, True, "--again")
    assert put(desk, check("lint")).job.id != job.id, "that is another call"


def test_again_queues_another(desk: Desk) -> None:
    desk.task()
    job = put(desk, check()).job
    end(desk, job)
    desk.owe(job)
    assert put(desk, check(again=True)).job.id != job.id
    assert not desk.is_owed(job.id), "whoever asks anew is owed the old one no more"


def test_a_detached_check_whose_outcome_is_owed_says_so(desk: Desk) -> None:
    desk.task()
    job = put(desk, check()).job
    end(desk, job)
    desk.owe(job)
    requests = [check()]
    call_progress = begin(desk.database, requests)
    detached = Terms(detach=True)
    with pytest.raises(OutcomeIsOwed):
        call(desk.caller, desk.database, desk.config, requests, detached, Listener(), call_progress)


def test_an_agent_cannot_check_its_own_task(desk: Desk) -> None:
    desk.task()
    job = desk.run()
    with pytest.raises(WaitsForItself):
        place(desk.as_agent_of(job), desk.database, desk.config, check())


def test_an_agent_whose_end_was_asked_for_queues_no_check(desk: Desk) -> None:
    desk.task()
    desk.task("020")
    job = desk.run(task_id=TaskId("020"))
    jobs.change_job(desk.database, job.id, cancel_requested_at=NOW)
    with pytest.raises(StateError, match="so it cannot queue other jobs"):
        place(desk.as_agent_of(job), desk.database, desk.config, check())
    assert jobs.newest_id(desk.database) == job.id


@pytest.mark.parametrize("state", [JobState.QUEUED, JobState.HELD])
def test_a_check_that_waits_is_cancelled_at_once(desk: Desk, state: JobState) -> None:
    desk.task(status=TaskStatus.NEEDS_REVIEW)
    job = put(desk, check()).job
    if state is JobState.HELD:
        leases.withdraw(desk.database, job.id)
        jobs.change_job(desk.database, job.id, state=state)
    ended = cancel_job(desk.caller, desk.database, job).job
    assert (ended.state, ended.owes_task, ended.outcome_status) == (JobState.CANCELLED, False, None)
    assert desk.read().status is TaskStatus.NEEDS_REVIEW


def test_a_task_that_is_owed_its_status_gets_it_beside_a_check(desk: Desk) -> None:
    """An earlier job could not give its task back; a check has taken nothing that it could keep."""
    desk.task(status=TaskStatus.IN_PROGRESS)
    lost = desk.insert(state=JobState.CANCELLED, owes_task=True, outcome_status=TaskStatus.PENDING)
    desk.insert(state=JobState.QUEUED, verb=Verb.CHECK, executor=None, agent="")
    assert give_back(desk.workspace, desk.database, desk.job(lost.id), now=NOW)
    assert desk.read().status is not TaskStatus.IN_PROGRESS


def test_a_call_waits_for_a_held_job_without_a_worker_and_delivers_its_end(desk: Desk) -> None:
    """No worker can do anything for it: none is started, however long that takes."""
    desk.task()
    job = put(desk, check()).job
    leases.withdraw(desk.database, job.id)
    jobs.change_job(desk.database, job.id, state=JobState.HELD)
    outcomes: list[Outcome] = []

    def progress(_: Progress) -> None:
        end(desk, job)

    requests = [check()]
    call_progress: CallProgress = begin(desk.database, requests)
    listener = Listener(progress=progress, ended=outcomes.append)
    call(desk.caller, desk.database, desk.config, requests, Terms(), listener, call_progress)
    (outcome,) = outcomes
    assert (outcome.job, outcome.exit_code, outcome.checks) == (job.id, 0, ("unit",))


def test_what_is_held_is_released_all_at_once(desk: Desk) -> None:
    desk.task()
    desk.task("020")
    for task in ("010", "020"):
        job = put(desk, check(task=task)).job
        leases.withdraw(desk.database, job.id)
        jobs.change_job(desk.database, job.id, state=JobState.HELD, reason="held")
    assert leases.release_held(desk.database, [JobId(1), JobId(2)], now=NOW) == [JobId(1), JobId(2)]
    assert [job.state for job in jobs.active_jobs(desk.database)] == [JobState.QUEUED] * 2
    assert not jobs.without_row(desk.database)
    assert leases.release_held(desk.database, [JobId(1), JobId(2)], now=NOW) == []


def test_a_check_of_the_project_is_one_of_the_projects_branch(desk: Desk) -> None:
    root = desk.workspace.root
    plain(root, "init", "-q", "-b", "main")
    name_author(root)
    plain(root, "commit", "-q", "--allow-empty", "-m", "First")
    change_project(desk.workspace, lambda _: {"branch": "main"}, now=NOW)
    plain(root, "switch", "-q", "--detach")
    end(desk, put(desk, check(task="")).job)
    plain(root, "switch", "-q", "-c", "other")  # it is the same commit
    end(desk, put(desk, check(task="")).job)
    plain(root, "commit", "-q", "--allow-empty", "-m", "Elsewhere")
    with pytest.raises(StateError, match="other is checked out, but the project's branch is main"):
        put(desk, check(task=""))
    desk.task()
    put(desk, check())
