"""Which task waits for what, and which of them waits in vain."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sow.schema.task import SessionFacts, Task, TaskStatus
from sow.state.waiting import Among, Standing

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)


def a_task(task_id: str, status: str = "pending", *depends_on: str, **fields: Any) -> Task:
    return Task(
        id=task_id,
        name="x",
        phase="implementation",
        status=TaskStatus(status),
        assigned_agent="tester",
        depends_on=list(depends_on),
        created_at=NOON,
        updated_at=NOON,
        **fields,
    )


def standing(*tasks: Task) -> dict[str, Standing | None]:
    among = Among(tasks)
    return {task.id: among.standing_of(task) for task in tasks}


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ("completed", Standing.READY),
        ("pending", Standing.WAITING),
        ("in_progress", Standing.WAITING),
        ("paused", Standing.WAITING),
        ("needs_review", Standing.WAITING),
        ("failed", Standing.BLOCKED),
        ("abandoned", Standing.BLOCKED),
    ],
)
def test_a_task_stands_as_what_it_waits_for_does(status: str, expected: Standing) -> None:
    first, second = a_task("010", status), a_task("020", "pending", "010")
    among = Among([first, second])
    assert among.standing_of(second) is expected
    assert among.unmet(second) == ({} if status == "completed" else {"010": status})
    assert bool(among.dead_ends(second)) == (expected is Standing.BLOCKED)


def test_what_waits_for_a_blocked_task_is_blocked_too() -> None:
    tasks = [
        a_task("010", "failed"),
        a_task("020", "pending", "010"),
        a_task("030", "pending", "020"),
        a_task("040", "pending", "050"),
        a_task("050"),
    ]
    assert standing(*tasks) == {
        "010": None,
        "020": Standing.BLOCKED,
        "030": Standing.BLOCKED,
        "040": Standing.WAITING,
        "050": Standing.READY,
    }


def test_a_task_that_is_not_there_blocks() -> None:
    task = a_task("020", "pending", "999")
    assert Among([task]).unmet(task) == {"999": "missing"}
    assert standing(task) == {"020": Standing.BLOCKED}


def test_a_circle_written_by_hand_blocks() -> None:
    tasks = [a_task("010", "pending", "020"), a_task("020", "pending", "010")]
    assert set(standing(*tasks).values()) == {Standing.BLOCKED}


def test_a_task_whose_job_is_held_waits_and_what_has_run_does_not() -> None:
    started = SessionFacts(executor="claude-code", started=True)
    tasks = [
        a_task("010"),
        a_task("020", "in_progress", "010"),
        a_task("030", "in_progress", "010", session_id="x", session=started),
        a_task("040", "in_progress"),
    ]
    found = standing(*tasks)
    assert (found["020"], found["030"], found["040"]) == (Standing.WAITING, None, None)


ids = st.integers(0, 9).map(lambda n: f"{n:03d}")
words = st.sampled_from([status.value for status in TaskStatus])


@given(st.dictionaries(ids, st.tuples(words, st.lists(ids, max_size=3)), max_size=10))
def test_each_task_to_begin_has_one_standing_that_its_dependencies_explain(
    drawn: dict[str, tuple[str, list[str]]],
) -> None:
    tasks = [a_task(task_id, status, *waits) for task_id, (status, waits) in drawn.items()]
    among = Among(tasks)
    for task in tasks:
        unmet, found = among.unmet(task), among.standing_of(task)
        if found is Standing.READY:
            assert (task.status, unmet) == (TaskStatus.PENDING, {})
        if found is Standing.WAITING:
            assert unmet
            assert not among.dead_ends(task)
        if found is Standing.BLOCKED:
            assert among.dead_ends(task) or len(unmet) > 0
        if found is None:
            assert task.status is not TaskStatus.PENDING
