"""A job that is held until its task's dependencies are met, and what lets it go on."""

import pytest
from calls.desk import Desk, a_dead_process
from msgspec import UNSET
from msgspec.structs import replace
from reports.job_cases import NOW

from sow.calls.cancel import cancel_job
from sow.calls.held_jobs import ReadyLook, release_ready
from sow.calls.job_end import finish
from sow.calls.kinds import place
from sow.calls.kinds.work import insert
from sow.calls.request import Placed, Request
from sow.calls.resolution import resolve
from sow.ids import JobId
from sow.jobs import jobs, leases
from sow.jobs.leases import claim
from sow.schema.job import HeldFor, Job, JobState
from sow.schema.job_terms import AuthorTerms
from sow.schema.task import TaskClone, TaskMerge, TaskStatus
from sow.state.state_errors import RefusedDependency, UnknownTask
from sow.state.tasks import set_dependencies
from sow.state.transitions import moment

COMMIT = "a" * 40


def put(desk: Desk, request: Request) -> Placed:
    return place(desk.caller, desk.database, desk.config, request)


def hold(desk: Desk, task_id: str = "020", **fields: object) -> Job:
    return put(desk, desk.spawn(task_id, when_ready=True, **fields)).job


def release(desk: Desk) -> list[JobId]:
    return release_ready(desk.workspace, desk.database, now=NOW)


@pytest.fixture
def pair(desk: Desk) -> Desk:
    """Return a desk with two tasks, the second of which waits for the first."""
    desk.task("010")
    desk.task("020", depends_on=["010"])
    return desk


def test_a_spawn_is_held_until_its_dependency_is_completed(pair: Desk) -> None:
    job = hold(pair)
    assert (job.state, job.held_for) == (JobState.HELD, HeldFor.DEPENDENCIES)
    assert job.reason == "it waits for task 010 (pending)"
    assert pair.read("020").status is TaskStatus.IN_PROGRESS
    assert release(pair) == []
    assert claim(pair.database, "w1", total=9, own=9, now=NOW) is None
    pair.change("010", status=TaskStatus.COMPLETED)
    assert release(pair) == [job.id]
    job = pair.job(job.id)
    assert (job.state, job.held_for, job.reason) == (JobState.QUEUED, None, "")
    assert release(pair) == []


def test_one_whose_dependencies_are_met_is_queued_at_once(pair: Desk) -> None:
    pair.change("010", status=TaskStatus.COMPLETED)
    assert hold(pair).state is JobState.QUEUED


def test_one_that_waits_for_no_task_is_never_held(desk: Desk) -> None:
    desk.task()
    job = hold(desk, "010")
    assert job.state is JobState.QUEUED
    changes = desk.database.rows("select kind from change where job = ?", (job.id,))
    assert "held" not in [row["kind"] for row in changes]


def test_the_work_of_an_agent_that_is_only_ending_is_waited_for(pair: Desk) -> None:
    first = pair.run(task_id="010")
    held = hold(pair)
    pair.change("010", status=TaskStatus.COMPLETED)
    assert release(pair) == []
    assert "completed, but its agent still runs" in pair.job(held.id).reason
    pair.end(first.id, TaskStatus.COMPLETED)
    assert release(pair) == [held.id]


@pytest.mark.parametrize(("in_clone", "merged", "goes_on"), [(0, 0, 0), (1, 0, 1), (0, 1, 1)])
def test_work_in_a_clone_is_waited_for_where_it_would_be_missed(
    pair: Desk, in_clone: int, merged: int, goes_on: int
) -> None:
    held = hold(pair)
    jobs.change_job(pair.database, held.id, terms=AuthorTerms(clone=bool(in_clone)))
    merge = TaskMerge(commit=COMMIT, into="main", result=COMMIT, at=moment(NOW))
    pair.change(
        "010",
        status=TaskStatus.COMPLETED,
        clone=TaskClone(path="/x", branch="b", base=COMMIT),
        merged=merge if merged else UNSET,
    )
    assert bool(release(pair)) == bool(goes_on)
    if not goes_on:
        assert pair.job(held.id).reason.endswith("(completed, but not merged): `sow merge 010`")


@pytest.mark.parametrize(
    ("status", "command"),
    [
        (TaskStatus.FAILED, '`sow agent resume 010 "…"`'),
        (TaskStatus.ABANDONED, "`sow task reopen 010`"),
    ],
)
def test_a_dependency_that_ends_in_vain_is_told_with_the_commands_that_free(
    pair: Desk, status: TaskStatus, command: str
) -> None:
    held = hold(pair)
    pair.change("010", status=status)
    assert release(pair) == []
    reason = pair.job(held.id).reason
    assert f"010 ({status})" in reason
    for words in (
        command,
        '`sow task set 020 depends_on ""`',
        "`sow agent spawn 020 --ignore-deps`",
    ):
        assert words in reason


def test_what_waits_for_a_blocked_task_is_told_so(pair: Desk) -> None:
    pair.task("030", depends_on=["020"])
    pair.change("010", status=TaskStatus.ABANDONED)
    reason = hold(pair, "030").reason
    assert "task 020 needs your help first: `sow task list --blocked` says why" in reason


def test_each_command_that_is_named_frees_it(pair: Desk) -> None:
    held = hold(pair)
    pair.change("010", status=TaskStatus.ABANDONED)
    set_dependencies(pair.workspace, "020", [], now=NOW)
    assert release(pair) == [held.id]


def test_the_same_call_that_minds_no_dependencies_lets_it_go_on(pair: Desk) -> None:
    held = hold(pair)
    found = put(pair, pair.spawn("020", ignore_deps=True))
    assert (found.attached, found.job.id, found.job.state) == (True, held.id, JobState.QUEUED)


def test_unknown_tasks_and_circles_are_refused_by_name(pair: Desk) -> None:
    pair.change("010", depends_on=["999"])
    with pytest.raises(UnknownTask, match="999"):
        hold(pair, "010")
    pair.change("010", depends_on=["020"])
    with pytest.raises(RefusedDependency, match="020 → 010 → 020"):
        hold(pair)
    assert pair.read("020").status is TaskStatus.PENDING


def test_a_held_job_is_cancelled_and_its_task_given_back(pair: Desk) -> None:
    held = hold(pair)
    cancel_job(pair.caller, pair.database, held)
    assert (pair.job(held.id).state, pair.read("020").status) == (
        JobState.CANCELLED,
        TaskStatus.PENDING,
    )


def test_a_call_that_died_before_it_held_the_job_leaves_it_to_be_held(pair: Desk) -> None:
    """Not queued: then it would begin before its dependencies are met."""
    resolved = resolve(pair.caller, pair.config, pair.spawn("020", when_ready=True))
    job = insert(pair.caller, pair.database, pair.config, resolved)
    jobs.change_job(pair.database, job.id, caller=a_dead_process())
    pair.change("020", status=TaskStatus.IN_PROGRESS)
    job = pair.job(job.id)
    assert finish(pair.workspace, pair.database, job, now=NOW) is JobState.HELD
    assert release(pair) == []
    pair.change("010", status=TaskStatus.COMPLETED)
    assert release(pair) == [job.id]


def test_trust_releases_what_is_held_for_it_alone(pair: Desk) -> None:
    held = hold(pair)
    assert leases.release_held(pair.database, [held.id], now=NOW) == []
    pair.change("010", status=TaskStatus.COMPLETED)
    release(pair)
    claim(pair.database, "w1", total=9, own=9, now=NOW)
    lease = leases.lease_of(pair.database, held.id)
    assert lease is not None
    leases.hold(pair.database, lease, reason="not trusted")
    assert release(pair) == []
    assert leases.release_held(pair.database, [held.id], now=NOW) == [held.id]


def test_a_job_of_another_project_is_left_alone(pair: Desk) -> None:
    held = hold(pair)
    pair.change("010", status=TaskStatus.COMPLETED)
    jobs.change_job(pair.database, held.id, project_id="other")
    assert release(pair) == []


def test_a_look_reads_the_tasks_only_where_something_has_changed(
    pair: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sow.calls import held_jobs

    reads = []
    scan = held_jobs.scan_tasks
    monkeypatch.setattr(held_jobs, "scan_tasks", lambda *words: (reads.append(1), scan(*words))[1])
    look = ReadyLook(pair.workspace, pair.database)
    assert look.look(now=NOW) == []
    assert reads == []
    held = hold(pair)
    reads.clear()
    for _ in range(3):
        assert look.look(now=NOW) == []
    assert len(reads) == 1
    pair.change("010", status=TaskStatus.COMPLETED)
    assert look.look(now=NOW) == [held.id]


@pytest.mark.parametrize(
    ("asked", "of_task", "expected"), [(None, 3, 3), (7, 3, 7), (None, None, 0)]
)
def test_a_job_has_the_priority_that_is_asked_for_else_its_task_s(
    desk: Desk, asked: int | None, of_task: int | None, expected: int
) -> None:
    desk.task("010")
    if of_task is not None:
        desk.change("010", priority=of_task)
    request = replace(desk.spawn("010"), priority=asked)
    assert put(desk, request).job.priority == expected


def test_the_higher_priority_begins_first_and_then_the_older(desk: Desk) -> None:
    for task_id, priority in (("010", 0), ("020", 5), ("030", 5), ("040", -1)):
        desk.task(task_id)
        put(desk, desk.spawn(task_id, priority=priority))
    order: list[str] = []
    while claim(desk.database, "w1", total=9, own=9, now=NOW):
        running = [job.task_id for job in jobs.active_jobs(desk.database) if job.state == "running"]
        order += [task_id for task_id in running if task_id not in order]
    assert order == ["020", "030", "010", "040"]
