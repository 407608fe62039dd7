"""Several requests of one call: each step of them in one commit, each with its own answer."""

from collections.abc import Iterable
from typing import Any

import pytest
from calls.desk import Desk
from reports.job_cases import NOW

from sow.calls import kinds, resolution
from sow.calls.admission import ProjectIsEnding
from sow.calls.idempotency import TaskHasJob
from sow.calls.kinds import MOST_TOGETHER, place_in_order, work
from sow.calls.request import Placed, Request
from sow.calls.wait import Waiter
from sow.errors import ExecutorError, SowError
from sow.jobs import jobs
from sow.jobs.unrecorded_agents import StrayLooks
from sow.schema.job import Job, JobState
from sow.schema.project import Project
from sow.schema.task import TaskStatus
from sow.state.projects import change_project
from sow.state.transitions import moment

CURSOR = {"agents": {"bindings": {"implementer": "cursor"}}}
COMMITS = "pragma application_id"


def put(
    desk: Desk, requests: Iterable[Request], waiter: Waiter | None = None
) -> list[Placed | SowError]:
    placing = place_in_order(
        *(desk.caller, desk.database, desk.config, list(requests), waiter),
        time_left=lambda: None,
        on_tick=lambda _: None,
    )
    return [found for _, found in placing]


def states(desk: Desk) -> list[tuple[str, JobState]]:
    found = jobs.recent_jobs(desk.database, limit=100)
    return [(job.task_id, job.state) for job in reversed(found)]


def fails_for(monkeypatch: pytest.MonkeyPatch, task_id: str, error: BaseException) -> None:
    """Have no session for a task's job; all its group is on record by then."""
    allocate = work.allocate_session

    def fail(caller: object, resolved: object, job: Job) -> object:
        if job.task_id == task_id:
            raise error
        return allocate(caller, resolved, job)  # type: ignore[arg-type]

    monkeypatch.setattr(work, "allocate_session", fail)


@pytest.mark.slow
def test_the_jobs_of_a_group_take_each_step_with_one_commit(desk: Desk) -> None:
    """The groups are of 1, 2, 4 and 8 tasks, and of 16 from then on."""
    ids = [f"{number:03d}" for number in range(10, 10 + 10 * (15 + MOST_TOGETHER), 10)]
    for task_id in ids:
        desk.task(task_id)
    before = desk.database.value(COMMITS)
    with Waiter(desk.caller, desk.database) as waiter:
        placed = put(desk, map(desk.spawn, ids), waiter)
        assert desk.database.value(COMMITS) == before + 1 + 2 * 4, "the first one goes alone"
        assert waiter.job_ids == list(range(1, len(ids) + 1))
    assert [found.job.task_id for found in placed if isinstance(found, Placed)] == ids
    assert states(desk) == [(task_id, JobState.QUEUED) for task_id in ids]
    assert {desk.read(task_id).status for task_id in ids} == {TaskStatus.IN_PROGRESS}


def test_one_that_cannot_be_placed_does_not_stop_the_others_of_its_group(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    for task_id in ("010", "020", "030"):
        desk.task(task_id)
    fails_for(monkeypatch, "020", ExecutorError("no session", hint=""))
    with Waiter(desk.caller, desk.database) as waiter:
        found = put(desk, map(desk.spawn, ("010", "020", "030")), waiter)
        assert waiter.job_ids == [1, 3]
    assert [type(each) for each in found] == [Placed, ExecutorError, Placed]
    assert states(desk) == [
        ("010", JobState.QUEUED),
        ("020", JobState.CANCELLED),
        ("030", JobState.QUEUED),
    ]
    assert desk.read("020").status is TaskStatus.PENDING
    assert not desk.is_owed(2)


def test_where_a_group_cannot_be_put_on_record_each_is_placed_alone(desk: Desk) -> None:
    """Both requests for 020 find no job of it; only one of them can have it."""
    for task_id in ("010", "020", "030"):
        desk.task(task_id)
    others = desk.spawn("020", prompt="of another call")
    asked = [desk.spawn("010"), desk.spawn("020"), others, desk.spawn("030")]
    with Waiter(desk.caller, desk.database) as waiter:
        found = put(desk, asked, waiter)
        assert waiter.job_ids == [1, 2, 3]
    assert [type(each) for each in found] == [Placed, Placed, TaskHasJob, Placed]
    assert [task_id for task_id, _ in states(desk)] == ["010", "020", "030"]


def test_a_group_s_tasks_with_jobs_on_record_are_looked_at_each(desk: Desk) -> None:
    """Of the second group 020 has a call's job that died, and 030 the job of another call."""
    for task_id in ("010", "020", "030", "040"):
        desk.task(task_id)
    desk.change("020", status=TaskStatus.IN_PROGRESS)
    desk.insert(
        task_id="020",
        state=JobState.CANCELLED,
        owes_task=True,
        outcome_status=TaskStatus.PENDING,
    )
    desk.queue(task_id="030", prompt="of another call")
    with Waiter(desk.caller, desk.database) as waiter:
        found = put(desk, map(desk.spawn, ("010", "020", "030", "040")), waiter)
    assert [type(each) for each in found] == [Placed, Placed, TaskHasJob, Placed]
    assert not desk.job(1).owes_task
    assert [each.job.task_id for each in found if isinstance(each, Placed)] == ["010", "020", "040"]


def test_an_owed_outcome_is_found_in_a_group(desk: Desk) -> None:
    for task_id in ("010", "020", "030"):
        desk.task(task_id)
    with Waiter(desk.caller, desk.database) as gone:
        [left] = put(desk, [desk.spawn("020")], gone)
    assert isinstance(left, Placed)
    desk.change("020", status=TaskStatus.NEEDS_REVIEW)
    ended = {"state": JobState.DONE, "outcome_status": TaskStatus.NEEDS_REVIEW}
    jobs.change_job(desk.database, left.job.id, ended_at=NOW, **ended)
    again = put(desk, map(desk.spawn, ("010", "020", "030")), None)
    how = [(each.attached, each.owed) for each in again if isinstance(each, Placed)]
    assert how == [(False, False), (False, True), (False, False)]


def test_no_group_is_placed_for_a_project_that_ends_while_it_is_admitted(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    for task_id in ("010", "020", "030"):
        desk.task(task_id)
    look = StrayLooks.refuse_any

    def end_then_look(*arguments: Any) -> None:
        ending = {"how": "abandoned", "by": "person", "at": moment(NOW), "remove": False}
        change_project(desk.workspace, lambda _: {"ending": ending}, now=NOW)
        look(*arguments)

    monkeypatch.setattr(StrayLooks, "refuse_any", end_then_look)
    found = put(desk, map(desk.spawn, ("010", "020", "030")))
    assert [type(each) for each in found] == [ProjectIsEnding] * 3
    assert states(desk) == []


def test_the_project_is_read_once_for_a_group(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second group is of two tasks, and without jobs nobody asks for more."""
    for task_id in ("010", "020", "030"):
        desk.task(task_id)
    read, reads = kinds.read_project, []

    def count(*arguments: Any) -> Project:
        reads.append(arguments)
        return read(*arguments)

    for module in (kinds, resolution):
        monkeypatch.setattr(module, "read_project", count)
    put(desk, map(desk.spawn, ("010", "020", "030")))
    assert len(reads) == 2


def test_an_interrupted_group_leaves_nothing_of_it(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = ("010", "020", "030")
    for task_id in ids:
        desk.task(task_id)
    fails_for(monkeypatch, "030", KeyboardInterrupt())
    with (
        Waiter(desk.caller, desk.database) as waiter,
        pytest.raises(KeyboardInterrupt),
    ):
        put(desk, map(desk.spawn, ids), waiter)
    assert states(desk) == [
        ("010", JobState.QUEUED),
        ("020", JobState.CANCELLED),
        ("030", JobState.CANCELLED),
    ]
    assert [desk.read(task_id).status for task_id in ids] == [
        TaskStatus.IN_PROGRESS,
        TaskStatus.PENDING,
        TaskStatus.PENDING,
    ]
    assert not desk.is_owed(2)
    assert not desk.is_owed(3)


def test_what_a_command_makes_a_session_for_waits_for_nobody_s(desk: Desk) -> None:
    """The first job is in the queue before the second one's session is made."""
    desk.configure(CURSOR)
    desk.program("cursor-agent", "echo 11111111-2222-4333-8444-555555555555")
    for task_id in ("010", "020", "030"):
        desk.task(task_id)
    placing = place_in_order(
        *(desk.caller, desk.database, desk.config),
        [desk.spawn(task_id) for task_id in ("010", "020", "030")],
        None,
        time_left=lambda: None,
        on_tick=lambda _: None,
    )
    next(placing)
    next(placing)
    assert states(desk) == [("010", JobState.QUEUED), ("020", JobState.QUEUED)]
    placing.close()
