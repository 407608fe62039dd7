"""A statement as psycopg takes it."""

import pytest

from sow.jobs.server_statements import SHOWN_NUL, translated, values_for
from sow.schema.job import JobState


@pytest.mark.parametrize(
    ("sql", "wanted"),
    [
        ("select 1", "select 1"),
        ("id = ? and state = ?", "id = %s and state = %s"),
        ("id = ?1 or parent = ?1", "id = %(value_1)s or parent = %(value_1)s"),
        ("at > :now and :most is null", "at > %(now)s and %(most)s is null"),
        ("a = '?' and b = ':now' and c = ?", "a = '?' and b = ':now' and c = %s"),
        ("a = 'it''s ?' and b = ?", "a = 'it''s ?' and b = %s"),
        ("strftime('%Y-%m', ?)", "strftime('%%Y-%%m', %s)"),
        ("a % 2 = ?", "a %% 2 = %s"),
        ("from batch indexed by batch_open where x", "from batch  where x"),
        ("where +project_id = ?", "where project_id = %s"),
        ("a + b + (c)", "a + b + (c)"),
    ],
)
def test_marks_are_those_of_psycopg_and_hints_are_left_out(sql: str, wanted: str) -> None:
    assert translated(sql) == wanted


def test_values_go_by_their_places_or_names() -> None:
    assert values_for("? ?", (1, None)) == [1, None]
    assert values_for("?1 ?2 ?1", ("a", 2)) == {"value_1": "a", "value_2": 2}
    assert values_for(":now", {"now": 1.5, "more": ""}) == {"now": 1.5, "more": ""}


def test_a_word_of_ours_is_a_text_and_a_text_has_no_nul() -> None:
    assert values_for("?", (JobState.DONE,)) == ["done"]
    assert type(values_for("?", (JobState.DONE,))[0]) is str
    assert values_for("?", ("a\0b",)) == [f"a{SHOWN_NUL}b"]
    assert values_for("?", (b"a\0b",)) == [b"a\0b"]
