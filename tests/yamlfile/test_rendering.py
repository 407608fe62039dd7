"""The short way from values to text writes what PyYAML writes, byte for byte."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from sow.yamlfile import rendering
from sow.yamlfile.rendering import render, render_by_library

steady = settings(
    max_examples=min(500, settings.default.max_examples * 5),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
"""A loaded machine is no failure."""

TASK = {
    "task": {
        "id": "010",
        "name": "Sign in, with a password (or a key)",
        "iteration": 1,
        "depends_on": ["020", "a-b"],
        "created_at": datetime(2026, 1, 31, 12, tzinfo=UTC),
        "references": [],
        "metadata": {"owner": "me", "weight": 3},
        "clone": {"branch": "sow/010", "checks": ["unit"]},
    }
}
WORDS = st.sampled_from(
    [
        *("010", "yes", "null", "~", "1e3", "0o7", "0x1f", "1:30", "2026-01-02", ".5", "5.", "_1"),
        *("2026-01-31T12:00:00Z", "1_000", "- a", "a: b", "a #b", "a ", " a", "--- a", "a, b"),
        *("it's", "<<", "=", "a\nb", "é", "\x07", "\ud800", "\x85", "-", "?", "[a]", "{}", "!a"),
        *("a" * 130, "b " * 40),
    ]
)
NEAR_PLAIN = st.text("aZ0_9-./ ,;()[]{}<>'!?&*+=@%|$~^`:#\"\\", max_size=12)
TEXTS = st.one_of(WORDS, NEAR_PLAIN, st.text(max_size=12))
TIMES = st.datetimes(
    timezones=st.sampled_from([None, UTC, timezone(timedelta(hours=5))]),
    min_value=datetime(900, 1, 1),
)
VALUES = st.one_of(TEXTS, st.integers(), TIMES, st.booleans(), st.none(), st.floats())
KEYS = st.one_of(TEXTS, st.integers())
NESTED = st.recursive(
    VALUES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.slow
@steady
@given(st.dictionaries(KEYS, NESTED, max_size=5))
@example(TASK)
@example({})
@example({"a": {}, "b": [], "c": {"d": [["e"]]}, "f": [{"g": "h"}], "i": True})
@example({"a": [datetime(2026, 1, 31, 12, tzinfo=UTC)]})
@example({"a" * 130: 1, "b": {"c" * 130: 1}})
@example({"a": ["x" * 30, "y" * 30], "b": ["x" * 28, "y" * 28]})
def test_both_ways_write_the_same(mapping: dict[str, Any]) -> None:
    assert render(mapping) == render_by_library(mapping)


def test_a_usual_state_is_written_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rendering, "_dump", None)
    assert "  metadata: {owner: me, weight: 3}\n" in render(TASK)
