"""Every pair of statuses, and what a way through them does to times, session and iteration."""

from datetime import UTC, datetime, timedelta
from itertools import product

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sow.errors import StateError
from sow.schema.task import SessionFacts, Task, TaskStatus
from sow.state.transitions import (
    ALLOWED,
    TERMINAL,
    begin_resume,
    check,
    clear_session,
    enter,
    moment,
    reopen,
    take_back,
    undo,
)

steady = settings(
    max_examples=min(60, settings.default.max_examples),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
"""A loaded machine is no failure."""

NOON = 1_769_860_800.0
NOON_TIME = datetime(2026, 1, 31, 12, tzinfo=UTC)
S = TaskStatus

TABLE = {
    S.PENDING: {S.IN_PROGRESS, S.ABANDONED},
    S.IN_PROGRESS: {S.PAUSED, S.NEEDS_REVIEW, S.FAILED, S.COMPLETED, S.ABANDONED},
    S.PAUSED: {S.IN_PROGRESS, S.COMPLETED, S.ABANDONED, S.FAILED},
    S.NEEDS_REVIEW: {S.IN_PROGRESS, S.COMPLETED, S.ABANDONED, S.FAILED},
    S.FAILED: {S.IN_PROGRESS, S.COMPLETED, S.ABANDONED},
    S.COMPLETED: set(),
    S.ABANDONED: set(),
}


def task(status: TaskStatus = S.PENDING, **fields) -> Task:
    return Task(
        id="010",
        name="A task",
        phase="implementation",
        assigned_agent="implementer",
        status=status,
        created_at=NOON_TIME,
        updated_at=NOON_TIME,
        **fields,
    )


def with_session(status: TaskStatus, **fields) -> Task:
    facts = SessionFacts(executor="claude-code", started=True)
    return task(status, session_id="s-1", session=facts, **fields)


def apply(before: Task, changes: dict) -> Task:
    return msgspec.structs.replace(before, **changes)


def test_the_table_is_the_contract():
    assert {status: set(allowed) for status, allowed in ALLOWED.items()} == TABLE


@pytest.mark.parametrize(("status", "wanted"), list(product(S, S)))
def test_every_pair(status, wanted):
    before = task(status)
    if wanted is status:
        assert enter(before, wanted, now=NOON) == {}
    elif wanted in TABLE[status]:
        after = apply(before, enter(before, wanted, now=NOON))
        assert after.status is wanted
        assert (after.started_at == NOON_TIME) is (wanted is S.IN_PROGRESS)
        assert (after.completed_at == NOON_TIME) is (wanted is S.COMPLETED)
    else:
        with pytest.raises(StateError, match="cannot go from") as caught:
            enter(before, wanted, now=NOON)
        assert f"from {status} to {wanted}" in caught.value.message
        for word in TABLE[status] or {"sow task reopen 010"}:
            assert word in caught.value.hint


@pytest.mark.parametrize("wanted", sorted(TERMINAL))
def test_a_terminal_status_clears_the_session_unless_told_not_to(wanted):
    before = with_session(S.IN_PROGRESS)
    assert apply(before, enter(before, wanted, now=NOON)).session_id is msgspec.UNSET
    assert apply(before, enter(before, wanted, now=NOON)).session is msgspec.UNSET
    kept = apply(before, enter(before, wanted, now=NOON, keep_session=True))
    assert kept.session_id == "s-1"
    assert apply(kept, clear_session(kept)).session_id is msgspec.UNSET


def test_clearing_no_session_changes_nothing():
    assert clear_session(task()) == {}


@pytest.mark.parametrize("status", [S.PAUSED, S.NEEDS_REVIEW, S.FAILED])
def test_other_statuses_keep_the_session(status):
    before = with_session(S.IN_PROGRESS)
    assert apply(before, enter(before, status, now=NOON)).session_id == "s-1"


def test_the_first_start_is_kept():
    begun = apply(task(), enter(task(), S.IN_PROGRESS, now=NOON))
    paused = apply(begun, enter(begun, S.PAUSED, now=NOON + 60))
    again = apply(paused, enter(paused, S.IN_PROGRESS, now=NOON + 120))
    assert again.started_at == NOON_TIME


@pytest.mark.parametrize(
    ("status", "iteration"),
    [(S.PAUSED, 3), (S.IN_PROGRESS, 3), (S.PENDING, 3), (S.NEEDS_REVIEW, 4), (S.FAILED, 4)],
)
def test_a_resume_counts_an_iteration_after_a_review_or_failure_only(status, iteration):
    before = task(status, iteration=3)
    after = apply(before, begin_resume(before, NOON))
    assert after.status is S.IN_PROGRESS
    assert after.iteration == iteration


@pytest.mark.parametrize("status", sorted(TERMINAL))
def test_a_finished_task_is_not_resumed(status):
    with pytest.raises(StateError, match="cannot go from"):
        begin_resume(task(status), NOON)


@pytest.mark.parametrize("prior", [S.PENDING, S.PAUSED, S.NEEDS_REVIEW, S.FAILED])
@pytest.mark.parametrize("resumed", [True, False])
def test_undo_is_the_inverse(prior, resumed):
    if prior is S.PENDING and resumed:
        return  # a pending task is spawned
    earlier = NOON_TIME - timedelta(days=1)
    before = task(prior, iteration=3, **({} if prior is S.PENDING else {"started_at": earlier}))
    forward = begin_resume(before, NOON) if resumed else enter(before, S.IN_PROGRESS, now=NOON)
    running = apply(before, forward)
    assert running != before
    assert apply(running, undo(running, prior, resumed=resumed)) == before


@pytest.mark.parametrize("status", [status for status in S if status is not S.IN_PROGRESS])
def test_undo_leaves_a_status_that_the_agent_has_set(status):
    assert undo(task(status), S.PENDING) == {}


@pytest.mark.parametrize("status", list(S))
def test_reopen(status):
    before = with_session(status, completed_at=NOON_TIME, iteration=2)
    if status in TERMINAL:
        after = apply(before, reopen(before))
        assert after.status is S.PENDING
        assert after.completed_at is msgspec.UNSET
        assert after.session_id is msgspec.UNSET
        assert after.iteration == 2
    elif status is S.PENDING:
        assert reopen(before) == {}
    else:
        with pytest.raises(StateError, match="cannot go from"):
            reopen(before)


@steady
@given(st.lists(st.sampled_from([*S, "resume", "reopen"]), max_size=30))
def test_no_way_through_breaks_what_always_holds(steps):
    now = task()
    for number, step in enumerate(steps):
        before = now
        try:
            if step == "resume":
                changes = begin_resume(now, NOON + number)
            elif step == "reopen":
                changes = reopen(now)
            else:
                changes = enter(now, step, now=NOON + number)
        except StateError:
            continue
        now = apply(now, changes)
        assert (now.completed_at is not msgspec.UNSET) is (now.status is S.COMPLETED)
        assert now.iteration - before.iteration in (0, 1)
        assert before.status is not S.IN_PROGRESS or now.started_at is not msgspec.UNSET
        assert not (before.status in TERMINAL and now.status not in (before.status, S.PENDING))


def test_check_allows_what_the_table_allows():
    check(task(S.PENDING), S.IN_PROGRESS)
    with pytest.raises(StateError, match="cannot go from"):
        check(task(S.PENDING), S.COMPLETED)


def test_a_moment_has_whole_seconds():
    assert moment(NOON + 0.9) == NOON_TIME


@pytest.mark.parametrize("status", TaskStatus)
def test_a_report_that_is_taken_back_leaves_the_task_in_progress_as_it_was(status):
    begun = apply(task(), enter(task(), S.IN_PROGRESS, now=NOON))
    if status in (S.PENDING, S.IN_PROGRESS):
        assert take_back(task(status)) == {}
        return
    reported = apply(begun, enter(begun, status, now=NOON))
    assert apply(reported, take_back(reported)) == begun
