"""Lengths of time, read and written."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sow.config.units import parse_duration, write_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("500ms", 0.5),
        ("0s", 0),
        ("30s", 30),
        ("1.5m", 90),
        ("15m", 900),
        ("2h", 7200),
        ("1d", 86400),
    ],
)
def test_a_duration_is_a_number_and_a_unit(text, seconds):
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    "text",
    [
        "",
        "5",
        "m",
        "-5m",
        "5 m",
        "5M",
        "5m ",
        "5m\n",
        "1h30m",
        ".5m",
        "1e3s",
        "٣m",
        "9" * 400 + "d",
    ],
)
def test_anything_else_is_refused(text):
    with pytest.raises(ValueError, match="such as 500ms, 30s, 15m or 2h"):
        parse_duration(text)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0ms"), (0.5, "500ms"), (90, "90s"), (7200.0, "2h"), (172800, "2d"), (600, "10m")],
)
def test_a_duration_is_written_in_its_largest_whole_unit(seconds, text):
    assert write_duration(seconds) == text


@settings(deadline=None)
@given(st.integers(0, 10**9), st.sampled_from(["ms", "s", "m", "h", "d"]))
def test_what_is_written_reads_as_the_same(count, unit):
    seconds = parse_duration(f"{count % 10**9}{unit}")

    assert parse_duration(write_duration(seconds)) == pytest.approx(seconds)
