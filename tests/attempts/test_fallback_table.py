"""Which executor goes on: the table, and what it changes in a job's record."""

from typing import Any

import pytest
from attempts.job_values import CLAUDE, make_job
from msgspec.structs import replace

from sow.attempts.fallback import (
    MOST_MOVES,
    OBSTACLES,
    Target,
    Way,
    after_left,
    first_free,
    has_begun,
    is_untold,
    moved,
    since_left,
    target_of,
    way_of,
    way_on,
)
from sow.executors.base import Verdict
from sow.ids import AttemptId, JobId, WorkerId
from sow.schema.amounts import Amounts
from sow.schema.causes import Cause
from sow.schema.job import Attempt, Budgets, Job, Verb
from sow.schema.job_terms import (
    AuthorTerms,
    Fallback,
    LeftExecutor,
    NextExecutor,
    ReviewTerms,
)

SECOND = replace(CLAUDE, name="second", max_parallel=3)
THIRD = replace(CLAUDE, name="third")
LIMIT = Verdict(Cause.RATE_LIMITED, "You've hit your limit\nand more", resets_at=9.0)
NEXT = (NextExecutor(executor=SECOND, limits=Amounts(usd=2.0)), NextExecutor(executor=THIRD))


def with_others(**more: Any) -> Job:
    fields: dict[str, Any] = {"terms": AuthorTerms(clone=True, fallback=Fallback(next=NEXT))}
    return make_job(**{**fields, **more})


def tried(number: int, **more: Any) -> Attempt:
    return Attempt(
        job_id=JobId(1),
        number=number,
        id=AttemptId(f"1.{number}.aa"),
        verb=Verb.SPAWN,
        worker_id=WorkerId("w"),
        created_at=1.0,
        **more,
    )


TABLE = {
    (False, False, False): Way.STAY,
    (False, False, True): Way.STAY,
    (False, True, False): Way.STAY,
    (False, True, True): Way.STAY,
    (True, False, False): Way.NEXT,
    (True, False, True): Way.NEXT,
    (True, True, False): Way.STAY,
    (True, True, True): Way.HAND_OVER,
}
"""By: is there a next executor, has work begun, does the user want it handed over."""


@pytest.mark.parametrize("cause", Cause)
def test_every_cause_and_every_standing_has_its_way(cause: Cause) -> None:
    for (has_next, begun, hands_over), way in TABLE.items():
        found = way_on(cause, has_next=has_next, has_begun=begun, hands_over=hands_over)
        assert found is (way if cause in OBSTACLES else Way.STAY)


def test_the_causes_that_lie_with_an_executor() -> None:
    assert set(OBSTACLES) == {
        *(Cause.AUTH, Cause.CONFIGURATION, Cause.MISSING_BINARY, Cause.RATE_LIMITED)
    }


@pytest.mark.parametrize(
    ("obstacles", "index"),
    [
        ((None, None), 0),
        ((Cause.MISSING_BINARY, None), 1),
        ((Cause.RATE_LIMITED, None), 1),
        ((Cause.RATE_LIMITED, Cause.MISSING_BINARY), 0),
        ((Cause.MISSING_BINARY, Cause.RATE_LIMITED), 1),
        ((Cause.MISSING_BINARY, Cause.MISSING_BINARY), None),
    ],
)
def test_a_call_begins_with_the_first_that_is_free(
    obstacles: tuple[Cause | None, ...], index: int | None
) -> None:
    assert first_free(obstacles) == index


@pytest.mark.parametrize(
    ("limits", "own", "target"),
    [
        ((None, None), 5.0, Target(0)),
        ((9.0, None), 5.0, Target(1)),
        ((9.0, 7.0), 5.0, None),
        ((9.0, 7.0), 8.0, Target(1, 7.0)),
        ((9.0, 7.0), None, Target(1, 7.0)),
        ((9.0,), 9.0, None),
    ],
)
def test_where_all_have_met_a_limit_the_one_goes_on_whose_limit_ends_first(
    limits: tuple[float | None, ...], own: float | None, target: Target | None
) -> None:
    assert target_of(limits, own) == target


def test_an_executor_whose_limit_ends_may_be_the_job_s_again_and_others_may_not() -> None:
    job = with_others()
    again = moved(job, Way.NEXT, LIMIT, attempt=1, place=1)
    assert again["executor_name"] == "third"
    assert [each.executor.name for each in again["terms"].fallback.next] == [
        "second",
        "claude-code",
    ]
    for verdict in (Verdict(Cause.RATE_LIMITED, "?"), Verdict(Cause.AUTH, "?", resets_at=9.0)):
        names = [
            each.executor.name
            for each in moved(job, Way.NEXT, verdict, attempt=1)["terms"].fallback.next
        ]
        assert names == ["third"]


def test_a_job_changes_its_executor_so_often_and_no_more() -> None:
    left = (LeftExecutor(name="first", cause=Cause.AUTH),) * MOST_MOVES
    assert way_of(with_others(), Cause.AUTH, []) is Way.NEXT
    tired = make_job(terms=AuthorTerms(fallback=Fallback(next=NEXT, left=left)))
    assert way_of(tired, Cause.AUTH, []) is Way.STAY


def test_what_has_begun_is_what_called_a_tool_or_finished_a_turn() -> None:
    job = with_others()
    assert not has_begun(job, [])
    assert not has_begun(job, [tried(1, tool_uses=0, transcript_seen=True)])
    assert has_begun(job, [tried(1, tool_uses=1)])
    assert has_begun(job, [tried(1, finished_turn=True)])
    assert has_begun(with_others(verb=Verb.RESUME), [])


def test_what_another_executor_has_begun_is_not_the_present_one_s() -> None:
    left = (LeftExecutor(name="first", cause=Cause.AUTH, attempt=2),)
    terms = AuthorTerms(fallback=Fallback(next=NEXT, left=left))
    attempts = [tried(1, tool_uses=5), tried(2, tool_uses=1), tried(3)]
    for verb in (Verb.SPAWN, Verb.RESUME):
        job = make_job(terms=terms, verb=verb)
        assert [attempt.number for attempt in since_left(job, attempts)] == [3]
        assert not has_begun(job, attempts)


def test_an_output_that_tells_of_no_tools_leaves_open_whether_anybody_worked() -> None:
    left = (LeftExecutor(name="first", cause=Cause.AUTH, attempt=1),)
    job = make_job(terms=AuthorTerms(fallback=Fallback(next=NEXT, left=left)))
    assert is_untold(job, [tried(1, cause=Cause.AUTH)])
    assert not is_untold(job, [tried(1, cause=Cause.AUTH, tool_uses=0)])
    assert not is_untold(job, [tried(1, cause=Cause.MISSING_BINARY)])
    assert not is_untold(job, [tried(1, tool_uses=0), tried(2, cause=Cause.AUTH)])
    assert not is_untold(with_others(), [tried(1, cause=Cause.AUTH)])


def test_a_job_that_moves_has_the_next_executor_and_what_limits_it() -> None:
    budgets = Budgets(task=Amounts(usd=5.0), executor=Amounts(usd=1.0))
    job = with_others(budgets=budgets, retries=2, corrections=("parked",), warnings=("before",))
    changes = moved(job, Way.NEXT, LIMIT, attempt=4, session="s-1")
    assert (changes["executor"], changes["executor_name"]) == (SECOND, "second")
    assert changes["max_parallel"] == 3
    assert changes["budgets"] == Budgets(task=Amounts(usd=5.0), executor=Amounts(usd=2.0))
    assert (changes["retries"], changes["corrections"]) == (0, ())
    fallback = changes["terms"].fallback
    assert [each.executor.name for each in fallback.next] == ["third", "claude-code"]
    assert fallback.next[1].limits == Amounts(usd=1.0)
    (left,) = fallback.left
    assert (left.name, left.cause, left.attempt, left.until) == (
        "claude-code",
        Cause.RATE_LIMITED,
        4,
        9.0,
    )
    assert (left.reason, left.session, left.hands_over) == ("You've hit your limit", None, False)
    assert changes["terms"].clone
    assert changes["warnings"] == (
        "before",
        "claude-code has reached a usage limit in attempt 4 (You've hit your limit):"
        " second took its place",
    )
    handed = moved(job, Way.HAND_OVER, LIMIT, attempt=4, session="s-1")
    assert handed["terms"].fallback.left[0].session == "s-1"
    assert handed["warnings"][-1].endswith("second continues its work in a new session")


def test_a_review_loses_the_dialect_of_the_cli_before() -> None:
    terms = ReviewTerms(commit="c", dialect="chat-id", fallback=Fallback(next=NEXT))
    found = moved(with_others(terms=terms), Way.NEXT, LIMIT, attempt=1)["terms"]
    assert (found.commit, found.dialect, len(found.fallback.next)) == ("c", None, 2)


def test_all_that_were_tried_are_named_in_the_first_line() -> None:
    assert after_left(with_others(), "a\nb") == "a\nb"
    left = (
        LeftExecutor(name="first", cause=Cause.AUTH),
        LeftExecutor(name="other", cause=Cause.MISSING_BINARY),
    )
    job = make_job(terms=AuthorTerms(fallback=Fallback(left=left)))
    assert after_left(job, "no key\nb") == (
        "claude-code: no key (before it: first is not logged in, or its key was refused,"
        " other is not installed)\nb"
    )
