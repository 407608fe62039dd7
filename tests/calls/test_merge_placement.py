"""Placing a merge: in dependency order, of work that may be merged, found again, refused."""

import pytest
from calls.desk import Desk
from clones.clone_site import name_author, plain
from reports.job_cases import NOW

from sow.calls.cancel import cancel_job
from sow.calls.idempotency import TaskHasJob
from sow.calls.kinds import place
from sow.calls.kinds.merge import merge_request
from sow.calls.request import Placed, Request
from sow.clones.candidates import NotMergeable
from sow.clones.main_checkout import main_checkout
from sow.config.checks import UnknownCheck
from sow.errors import StateError
from sow.ids import TaskId
from sow.jobs import jobs, leases
from sow.schema.causes import Cause
from sow.schema.job import JobState
from sow.schema.job_terms import MergeTerms, MergeWay
from sow.schema.task import TaskStatus


@pytest.fixture
def work(desk: Desk) -> Desk:
    """Two completed tasks with branches of their own; 010 depends on 020."""
    root = desk.workspace.root
    plain(root, "init", "-q", "-b", "main")
    name_author(root)
    (root / "file").write_text("file\n")
    plain(root, "add", "file")
    plain(root, "commit", "-q", "-m", "First")
    desk.task("020", TaskStatus.COMPLETED)
    desk.task("010", TaskStatus.COMPLETED, depends_on=["020"])
    for task in ("010", "020"):
        branch(desk, task)
    return desk


def branch(desk: Desk, task: str) -> None:
    root = desk.workspace.root
    name = main_checkout(desk.workspace, desk.config.clones).place(desk.read(task)).branch
    plain(root, "switch", "-q", "-c", name)
    (root / task).write_text(task)
    plain(root, "add", task)
    plain(root, "commit", "-q", "-m", task)
    plain(root, "switch", "-q", "main")


def request(
    desk: Desk, *tasks: str, way: MergeWay = MergeWay.MERGE, again: bool = False
) -> Request:
    named = [TaskId(task) for task in tasks or ("010", "020")]
    return merge_request(desk.caller, named, way=way, again=again)


def put(desk: Desk, asked: Request) -> Placed:
    return place(desk.caller, desk.database, desk.config, asked)


def test_it_is_queued_in_the_order_in_which_the_tasks_depend(work: Desk) -> None:
    job = put(work, request(work)).job
    assert (job.state, job.executor, job.task_id) == (JobState.QUEUED, None, "020")
    assert job.terms == MergeTerms(tasks=(TaskId("020"), TaskId("010")))
    assert work.read("010").status is TaskStatus.COMPLETED


def test_the_same_merge_in_other_words_is_the_same_job(work: Desk) -> None:
    first = put(work, request(work, "010", "020"))
    assert put(work, request(work, "020", "010", "020")) == Placed(first.job, attached=True)
    with pytest.raises(TaskHasJob, match="task 020 and task 010 have a job"):
        put(work, request(work, way=MergeWay.SQUASH))


def test_each_of_its_tasks_takes_no_other_job(work: Desk) -> None:
    put(work, request(work))
    work.task("030")
    for task in ("010", "020"):
        with pytest.raises(TaskHasJob):
            put(work, request(work, task))
        work.change(task, status=TaskStatus.PENDING)
        with pytest.raises(TaskHasJob):
            put(work, work.spawn(task))
    assert put(work, work.spawn("030")).job.task_id == "030"


def test_a_task_at_work_is_not_merged(work: Desk) -> None:
    work.insert(task_id=TaskId("010"), state=JobState.RUNNING)
    with pytest.raises(TaskHasJob):
        put(work, request(work))


def test_what_cannot_be_merged_is_refused_at_once(work: Desk) -> None:
    work.change("010", status=TaskStatus.NEEDS_REVIEW)
    with pytest.raises(NotMergeable):
        put(work, request(work))
    work.change("010", status=TaskStatus.COMPLETED)
    with pytest.raises(NotMergeable, match="depends on task 020"):
        put(work, request(work, "010"))
    assert jobs.newest_id(work.database) == 0


def test_a_check_that_is_not_there_is_refused_at_once(work: Desk) -> None:
    work.workspace.repository_config.write_text("clones: {merge_check: unit}\n")
    with pytest.raises(UnknownCheck):
        put(work, request(work))


def test_the_agent_of_a_task_does_not_merge_it(work: Desk) -> None:
    job = work.insert(task_id=TaskId("010"), state=JobState.RUNNING)
    caller = work.as_agent_of(job, SOW_TASK_ID="010", SOW_AGENT="orchestrator")
    with pytest.raises(StateError):
        place(caller, work.database, work.config, request(work))


def test_the_author_is_refused_though_its_job_is_not_on_record(work: Desk) -> None:
    job = work.insert(task_id=TaskId("030"), state=JobState.DONE, ended_at=NOW)
    work.database.run("delete from job")
    caller = work.as_agent_of(job, SOW_TASK_ID="010", SOW_AGENT="orchestrator")
    with pytest.raises(StateError, match="cannot merge it"):
        place(caller, work.database, work.config, request(work))


def test_one_that_waits_is_cancelled_by_any_of_its_tasks(work: Desk) -> None:
    put(work, request(work))
    live = jobs.live_job(work.database, work.job(1).project_id, TaskId("010"))
    assert live is not None
    ended = cancel_job(work.caller, work.database, live).job
    assert ended.state is JobState.CANCELLED
    assert put(work, request(work, again=True)).job.id != ended.id


def test_an_outcome_that_is_owed_is_found(work: Desk) -> None:
    job = put(work, request(work)).job
    leases.withdraw(work.database, job.id)
    changes = {"state": JobState.FAILED, "cause": Cause.MERGE_CONFLICT, "ended_at": NOW + 1}
    jobs.change_job(work.database, job.id, **changes)
    work.owe(job)
    found = put(work, request(work))
    assert (found.job.id, found.owed, found.anew_with) == (job.id, True, "--again")
    assert put(work, request(work, again=True)).job.id != job.id
