"""Placing a review: admitted by the task's status, found again, refused beside another job."""

import subprocess

import pytest
from calls.desk import Desk
from reports.job_cases import NOW

from sow.agents.roles import UnknownAgent
from sow.calls.caller import WaitsForItself
from sow.calls.cancel import cancel_job
from sow.calls.idempotency import TaskHasJob
from sow.calls.kinds import place
from sow.calls.request import Placed, Request
from sow.errors import StateError
from sow.executors.executor_errors import ExecutorBinaryNotFound
from sow.ids import TaskId
from sow.jobs import jobs, leases
from sow.schema.causes import Cause
from sow.schema.job import Job, JobState, Verb
from sow.schema.job_terms import ReviewTerms
from sow.schema.task import TaskStatus
from sow.state.verdicts import JUDGED


def review(task: str = "010", **more: object) -> Request:
    return Request(verb=Verb.REVIEW, task_id=TaskId(task), **more)  # type: ignore[arg-type]


def put(desk: Desk, request: Request) -> Placed:
    return place(desk.caller, desk.database, desk.config, request)


def end(desk: Desk, job: Job) -> None:
    leases.withdraw(desk.database, job.id)
    jobs.change_job(
        desk.database, job.id, state=JobState.DONE, cause=Cause.REPORTED, ended_at=NOW + 1
    )


@pytest.fixture
def ready(desk: Desk) -> Desk:
    """A task whose work can be judged."""
    desk.program("claude")
    desk.task(status=TaskStatus.NEEDS_REVIEW)
    desk.with_session()
    return desk


@pytest.mark.parametrize("status", list(TaskStatus))
def test_what_there_is_to_judge_is_reviewed_and_stays_as_it_is(
    desk: Desk, status: TaskStatus
) -> None:
    desk.program("claude")
    desk.task(status=status)
    before = desk.read()
    if status not in JUDGED:
        with pytest.raises(StateError, match=": there is no work to review"):
            put(desk, review())
        assert not jobs.newest_id(desk.database)
        return
    job = put(desk, review()).job
    assert (job.state, job.agent, job.executor_name) == (
        JobState.QUEUED,
        "reviewer",
        "claude-code",
    )
    assert job.terms == ReviewTerms(commit=None), "there is no git here"
    assert desk.read() == before


def test_what_is_checked_out_is_judged_of_a_task_without_a_clone(ready: Desk) -> None:
    root = ready.workspace.root
    for words in (
        ("init", "-q"),
        ("add", "-A"),
        ("-c", "user.name=A", "-c", "user.email=a@example.org", "commit", "-q", "-m", "First"),
    ):
        subprocess.run(["git", *words], cwd=root, check=True)
    head = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=root, check=True, capture_output=True, text=True
    ).stdout.strip()
    assert put(ready, review()).job.terms == ReviewTerms(commit=head)


def test_the_same_review_again_is_the_same_job(ready: Desk) -> None:
    first = put(ready, review())
    assert put(ready, review()) == Placed(first.job, attached=True)


@pytest.mark.parametrize("other", [{"agent": "security-reviewer"}, {"prompt": "Names?"}], ids=str)
def test_another_review_waits_for_its_turn(ready: Desk, other: dict[str, str]) -> None:
    put(ready, review())
    with pytest.raises(TaskHasJob, match=r"job 1 \(review by claude-code, queued\)"):
        put(ready, review(**other))


def test_a_task_that_is_reviewed_takes_no_other_job(ready: Desk) -> None:
    put(ready, review())
    with pytest.raises(TaskHasJob):
        put(ready, ready.resume())


def test_an_outcome_that_is_owed_is_found_and_run_anew_when_asked(ready: Desk) -> None:
    job = put(ready, review()).job
    end(ready, job)
    ready.owe(job)
    found = put(ready, review())
    assert (found.job.id, found.owed, found.anew_with) == (job.id, True, "--again")
    assert put(ready, review(again=True)).job.id != job.id


def test_a_review_of_another_commit_is_another_review(ready: Desk) -> None:
    job = put(ready, review()).job
    end(ready, job)
    ready.owe(job)
    jobs.change_job(ready.database, job.id, terms=ReviewTerms(commit="1" * 40))
    assert put(ready, review()).job.id != job.id


def test_an_agent_has_not_its_own_work_reviewed(ready: Desk) -> None:
    job = ready.run(task_id=TaskId("010"))
    with pytest.raises(WaitsForItself):
        place(ready.as_agent_of(job), ready.database, ready.config, review())


def test_a_role_that_is_unknown_and_a_program_that_is_missing_are_told(desk: Desk) -> None:
    desk.task(status=TaskStatus.NEEDS_REVIEW)
    with pytest.raises(UnknownAgent):
        put(desk, review(agent="revewer"))
    desk.configure(
        {
            "agents": {
                "executors": {
                    "mine": {"type": "command", "settings": {"command": ["no-such-program"]}}
                },
                "bindings": {"reviewer": "mine"},
            }
        }
    )
    with pytest.raises(ExecutorBinaryNotFound):
        put(desk, review())
    assert not jobs.newest_id(desk.database)


def test_a_review_that_waits_is_cancelled_and_owes_its_task_nothing(ready: Desk) -> None:
    job = put(ready, review()).job
    ended = cancel_job(ready.caller, ready.database, job).job
    assert (ended.state, ended.owes_task, ended.outcome_status) == (JobState.CANCELLED, False, None)
    assert ready.read().status is TaskStatus.NEEDS_REVIEW
