"""The end of a usage limit is read from a CLI's words, and one too far ahead is doubted."""

import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from sow.attempts.reset_time import reset_time_in, with_reset_time
from sow.executors.base import Verdict
from sow.schema.causes import Cause


def at(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


NOW = at("2026-11-28T10:00:00")
"""03:00 in Denver, 19:00 in Seoul; a Saturday."""


@pytest.fixture(autouse=True)
def in_new_york(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Have the machine's own clock show 05:00."""
    monkeypatch.setenv("TZ", "EST5EDT,M3.2.0,M11.1.0")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    ("words", "when"),
    [
        ("You've hit your limit · resets 5:20am (America/Denver)", "2026-11-28T12:20:00"),
        ("You've hit your limit · resets 3pm (Asia/Seoul)", "2026-11-29T06:00:00"),
        ("5-hour limit reached ∙ resets 3pm", "2026-11-28T20:00:00"),
        ("You've hit your weekly limit · resets Dec 2, 12am (UTC)", "2026-12-02T00:00:00"),
        ("resets on Nov 30 at 12pm (UTC)", "2026-11-30T12:00:00"),
        ("resets Jan 2, 9am (UTC)", "2027-01-02T09:00:00"),
        ("try again at 11:35 PM.", "2026-11-29T04:35:00"),
        ("try again at Dec 3rd, 2026 11:35 PM.", "2026-12-04T04:35:00"),
        ("Limit reached. Try again tomorrow at 9am", "2026-11-29T14:00:00"),
        ("try again at 18:30 UTC", "2026-11-28T18:30:00"),
        ("resets at 2026-11-28T12:00:00Z", "2026-11-28T12:00:00"),
        ("resets at 2026-11-28 07:30", "2026-11-28T12:30:00"),
        ("try again in 2h 5m", "2026-11-28T12:05:00"),
        ("Please try again in 3s.", "2026-11-28T10:00:03"),
        ("try again in 1 day 2 hours and 30 minutes", "2026-11-29T12:30:00"),
        # It has just passed: the CLI leaves out the seconds.
        ("resets 4:59am", "2026-11-28T09:59:00"),
    ],
)
def test_words_tell_when(words: str, when: str) -> None:
    assert reset_time_in(words, now=NOW) == at(when)


@pytest.mark.parametrize(
    "words",
    [
        "You've hit your usage limit.",
        "try again later",
        "try again in a few minutes",
        "resets at 3",
        "resets 13pm",
        "resets 25:00",
        "resets 5pm (Nowhere/At_All)",
        "resets 5pm (../../etc/passwd)",
        "resets Foo 30, 3pm",
        "resets Feb 30, 2027 3pm",
        "",
    ],
)
def test_words_that_tell_no_time_give_none(words: str) -> None:
    assert reset_time_in(words, now=NOW) is None


@pytest.mark.slow
def test_no_words_take_long() -> None:
    """By the processor's time: others may be at work beside it."""
    begun = time.process_time()
    for words in ("resets in " + "1d " * 100_000, "resets " * 50_000, "again at Jan 1" * 30_000):
        reset_time_in(words, now=NOW)
    assert time.process_time() - begun < 5


def test_a_time_that_clocks_leave_out_is_some_time_around_it() -> None:
    now = at("2026-03-08T05:00:00")
    found = reset_time_in("resets 2:30am (America/New_York)", now=now)
    assert found in (at("2026-03-08T06:30:00"), at("2026-03-08T07:30:00"))


def limited(words: str = "limit reached", resets_at: float | None = None) -> Verdict:
    return Verdict(Cause.RATE_LIMITED, words, resets_at)


def test_what_events_say_comes_before_words() -> None:
    words = limited("limit reached · resets 3pm")
    assert with_reset_time(words, NOW + 60, now=NOW).resets_at == NOW + 60
    assert with_reset_time(limited(resets_at=NOW + 30), NOW + 60, now=NOW).resets_at == NOW + 30
    assert with_reset_time(limited(), None, now=NOW) == limited()


@pytest.mark.parametrize("resets_at", [None, NOW + 400 * 86400])
def test_a_time_too_far_ahead_is_told_and_not_relied_on(resets_at: float | None) -> None:
    verdict = limited() if resets_at else limited("limit reached, try again in 400 days")
    doubted = with_reset_time(verdict, resets_at, now=NOW)
    assert doubted.resets_at is None
    assert doubted.reason == (
        f"{verdict.reason} (its reset time 2028-01-02T10:00:00Z is more than 8 days ahead,"
        " so sow does not rely on it)"
    )
    week = NOW + 7 * 86400
    assert with_reset_time(limited(), week, now=NOW) == limited(resets_at=week)


def test_zones_are_read_only_where_one_is_named() -> None:
    sys.modules.pop("zoneinfo", None)
    reset_time_in("resets 3pm", now=NOW)
    reset_time_in("resets 3pm (UTC)", now=NOW)
    assert "zoneinfo" not in sys.modules
