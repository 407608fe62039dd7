"""How a time is told: to people local and relative, in files and to programs in UTC."""

import time
from collections.abc import Iterator

import pytest

from sow.clock import Times, ago, clock_time, format_time, local_time, parse_time

NOON = 1_769_860_805.0
"""2026-01-31T12:00:05Z."""


@pytest.fixture(autouse=True)
def two_hours_east(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "UTC-2")
    time.tzset()
    yield
    monkeypatch.delenv("TZ")
    time.tzset()


def test_files_and_programs_get_utc() -> None:
    assert format_time(NOON) == "2026-01-31T12:00:05Z"
    assert parse_time("2026-01-31T12:00:05Z") == NOON


def test_what_is_no_time_is_not_parsed() -> None:
    with pytest.raises(ValueError, match="x"):
        parse_time("x")


def test_a_log_has_the_local_time_with_its_date() -> None:
    assert local_time(NOON) == "2026-01-31 14:00:05"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (NOON, "14:00:05"),
        (NOON - 14 * 3600, "00:00:05"),
        (NOON - 14 * 3600 - 6, "2026-01-30 23:59:59"),
        (NOON + 10 * 3600, "2026-02-01 00:00:05"),
        (NOON - 365 * 86_400, "2025-01-31 14:00:05"),
    ],
)
def test_a_date_is_told_where_it_is_not_todays(seconds: float, words: str) -> None:
    assert clock_time(seconds, NOON) == words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "just now"),
        (4.9, "just now"),
        (5, "5 s ago"),
        (59.9, "59 s ago"),
        (60, "1 min ago"),
        (3 * 60 + 59, "3 min ago"),
        (3600, "1 h ago"),
        (47 * 3600 + 3599, "47 h ago"),
        (48 * 3600, "2 days ago"),
        (400 * 86_400, "400 days ago"),
        (-4, "just now"),
        (-90, "in 1 min"),
    ],
)
def test_how_long_ago_in_its_largest_unit(seconds: float, words: str) -> None:
    assert ago(NOON - seconds, NOON) == words


def test_people_and_programs_are_told_the_same_time_in_their_own_form() -> None:
    assert Times(NOON).at(NOON - 180) == "13:57:05"
    assert Times(NOON).when(NOON - 180) == "13:57:05 (3 min ago)"
    assert Times(NOON, in_utc=True).at(NOON - 180) == "2026-01-31T11:57:05Z"
    assert Times(NOON, in_utc=True).when(NOON - 180) == "2026-01-31T11:57:05Z (3 min ago)"


def test_a_time_on_record_is_told_or_left_as_it_stands() -> None:
    assert Times(NOON).of_record("2026-01-31T11:57:05Z") == "13:57:05 (3 min ago)"
    assert Times(NOON, in_utc=True).of_record("2026-01-31T11:57:05Z") == (
        "2026-01-31T11:57:05Z (3 min ago)"
    )
    assert Times(NOON).of_record("one day") == "one day"
