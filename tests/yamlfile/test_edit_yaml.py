"""edit_yaml and dump_yaml, case by case."""

from datetime import UTC, datetime
from pathlib import Path
from textwrap import dedent

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from sow.schema.task import SessionFacts, TaskStatus
from sow.yamlfile import REMOVE, YamlProblem, editing, read_yaml, rendering
from sow.yamlfile.editing import dump_yaml, edit_yaml
from sow.yamlfile.rendering import render_entries

steady = settings(
    max_examples=min(60, settings.default.max_examples),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
"""A loaded machine is no failure."""

PATH = Path("state.yaml")
NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)


def edit(text: str, changes) -> str:
    return edit_yaml(dedent(text).encode(), changes, path=PATH).decode()


@pytest.mark.parametrize(
    ("before", "changes", "after"),
    [
        ("a: 1  # why\n", {"a": 2}, "a: 2  # why\n"),
        ("a: 1\nb: 2", {"c": 3}, "a: 1\nb: 2\nc: 3\n"),
        ("a: 1\nb: 2\n", {"a": REMOVE}, "b: 2\n"),
        ("a: 1\n", {"a": REMOVE}, "{}\n"),
        ("# head\na: 1\n", {"a": REMOVE}, "# head\n{}\n"),
        ("a:\n  b: 1  # b\n", {"a.b": REMOVE}, "a: {}\n"),
        ("a: 1\n", {"b": REMOVE}, "a: 1\n"),
        ("a: 1\n", {"b.c": REMOVE}, "a: 1\n"),
        ("", {"a.b.c": 1}, "a:\n  b: {c: 1}\n"),
        ("# only a comment\n", {"a": 1}, "# only a comment\na: 1\n"),
        ("a: {b: 1}  # beside\n", {"a.c": 2}, "a: {b: 1, c: 2}  # beside\n"),
        ("a:  # beside\n", {"a.c": 2}, "a: {c: 2}  # beside\n"),
        ("{a: 1}\n", {"b": 2}, "a: 1\nb: 2\n"),
        ("a: b  # c\n", {"a": ["x", {"y": 1}]}, "a:  # c\n- x\n- {y: 1}\n"),
        ("a: |\n  text\n\n# next\nb: 1\n", {"a": "x"}, "a: x\n\n# next\nb: 1\n"),
        ("a: 1 # c\r\nb: 2\r\n", {"a": 5}, "a: 5 # c\r\nb: 2\r\n"),
        ("a: http://x#y\n", {"b": 1}, "a: http://x#y\nb: 1\n"),
        ("a: http://x#y\n", {"a": "z"}, "a: z\n"),
        ("'a': 1\n", {"a": 2}, "a: 2\n"),
        ("a: x\nb: 1\n", {"a": NOON}, "a: 2026-01-31T12:00:00Z\nb: 1\n"),
    ],
)
def test_an_edit_by_example(before, changes, after):
    assert edit(before, changes) == after


def test_a_comment_below_a_removed_key_does_not_become_part_of_a_text():
    before = "a: |\n  text\nb: 1\n  # about c\nc: 2\n"
    assert edit(before, {"b": REMOVE}) == "a: |\n  text\n# about c\nc: 2\n"


def test_items_of_a_list_that_stay_keep_their_comments():
    before = """\
        list:  # why
          # the first
          - "010"  # ten
          # the second
          - "020"
        next: 1
        """
    after = """\
        list:  # why
          # the first
          - "010"  # ten
          - "030"
        next: 1
        """
    assert edit(before, {"list": ["010", "030"]}) == dedent(after)


def test_keys_of_a_mapping_that_stay_keep_their_comments():
    before = "map:\n  # one\n  a: 1  # a\n  # two\n  b: 2\n"
    assert (
        edit(before, {"map": {"a": 1, "c": 3}}) == "map:\n  # one\n  a: 1  # a\n  # two\n  c: 3\n"
    )


def test_one_alias_is_changed_and_its_anchor_is_not():
    before = "x: &x {a: 1}\ny: *x  # beside\n"
    assert edit(before, {"y.a": 2}) == "x: &x {a: 1}\ny: {a: 2}  # beside\n"


def test_what_cannot_be_changed_alone_is_refused():
    with pytest.raises(YamlProblem, match="cannot be changed without disturbing"):
        edit("x: &x {a: 1}\ny: {<<: *x, b: 2}\nz: *x\n", {"y.a": REMOVE})


def test_an_anchor_in_use_cannot_be_removed():
    with pytest.raises(YamlProblem, match="alias"):
        edit("x: &x {a: 1}\ny: *x\n", {"x": REMOVE})


def test_a_key_may_hold_a_dot():
    assert edit("a: 1\n", {("b", "c.d"): 1}) == "a: 1\nb: {c.d: 1}\n"


@pytest.mark.parametrize("key", ["k" * 130, "of two\nlines"])
def test_a_key_behind_a_question_mark_is_changed_and_removed(key):
    """A long one is written so; it was changed for ever."""
    before = edit("a:\n  b: [1]  # beside\n", {("a", key): ["x" * 70]})
    assert "  ? " in before
    changed = edit(before, {("a", key): "new"})
    assert read_yaml(changed.encode(), dict, path=PATH) == {"a": {"b": [1], key: "new"}}
    beside = edit(before, {("a", "b"): 2})
    assert read_yaml(beside.encode(), dict, path=PATH) == {"a": {"b": 2, key: ["x" * 70]}}
    assert edit(before, {("a", key): REMOVE}).startswith("a:")
    top = edit(before, {(key,): 1})
    assert read_yaml(edit(top, {(key,): 2}).encode(), dict, path=PATH)[key] == 2


def test_words_of_the_schema_are_written_as_their_values():
    facts = SessionFacts(executor="claude-code", started=True)
    assert edit("a: 1\n", {"s": TaskStatus.PAUSED}) == "a: 1\ns: paused\n"
    assert (
        edit("a: 1\n", {"s": facts}) == "a: 1\ns: {executor: claude-code, cwd: ., started: true}\n"
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("t: {s: a}\nnote: |\n  s: b\n", "t: {s: z}\nnote: |\n  s: b\n"),
        ("other:\n  s: b\nt: {s: a}\n", "other:\n  s: b\nt: {s: z}\n"),
        ("other:\n  s: b\nt:\n  'r': 1\n", "other:\n  s: b\nt:\n  'r': 1\n  s: z\n"),
        ("t:\n  s: a\n    b\n  c: 1\n", "t:\n  s: z\n  c: 1\n"),
        ("t:\n  s: a  # why\n", "t:\n  s: z  # why\n"),
        ("t:\n  s: [a]\n", "t:\n  s: z\n"),
        ("t:\n  s: a", "t:\n  s: z\n"),
        ("t:\n  r: a\n", "t:\n  r: a\n  s: z\n"),
        ("t:\n  r: a\nu:\n  r: a\n", "t:\n  r: a\n  s: z\nu:\n  r: a\n"),
        ("t:\n  r: |\n    a\n", "t:\n  r: |\n    a\n  s: z\n"),
        ("t: {}\nu: |\n  a\n", "t: {s: z}\nu: |\n  a\n"),
        ("t:\n  r: a\n# end\n", "t:\n  r: a\n  s: z\n# end\n"),
        ("t:\n  r:\n  - a\n", "t:\n  r:\n  - a\n  s: z\n"),
        ("t:\n    s: a\n", "t:\n    s: z\n"),
    ],
)
def test_a_line_that_only_looks_like_the_key_s_is_left(before, after):
    assert edit(before, {"t.s": "z"}) == after


def test_words_numbers_and_times_on_lines_of_their_own_are_changed_without_a_tree(monkeypatch):
    before = "t:\n  s: a\n  n: 1\n  m: 2026-01-31T11:00:00Z  \n  at: 2026-01-31T11:00:00Z\n"
    monkeypatch.setattr(editing, "compose", None)
    after = edit(before, {"t.s": "in_progress", "t.n": 2, "t.at": NOON, "t.new": NOON})
    before += "  new: 2026-01-31T12:00:00Z\n"
    assert after == before.replace("s: a", "s: in_progress").replace("n: 1", "n: 2").replace(
        "at: 2026-01-31T11", "at: 2026-01-31T12"
    )


@pytest.mark.parametrize("text", ["[1, 2]\n", "word\n"])
def test_only_a_mapping_is_edited(text):
    with pytest.raises(YamlProblem, match="expected a mapping"):
        edit(text, {"a": 1})


scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(max_size=20)
    | st.sampled_from(
        ["yes", "010", "1e3", "0o7", "~", "null", "2026-01-31", "- a", "a: b", "#", "nan"]
    )
    | st.datetimes(
        min_value=datetime(1970, 1, 2), max_value=datetime(2100, 1, 1), timezones=st.just(UTC)
    ).map(lambda time: time.replace(microsecond=0))
)
keys = st.text(min_size=1, max_size=10)
values = st.recursive(
    scalars, lambda inner: st.lists(inner) | st.dictionaries(keys, inner), max_leaves=6
)


@pytest.mark.slow
@steady
@given(
    keys | st.text("aA1_-:", min_size=1, max_size=70),
    scalars | st.text("aA1_-:e.", max_size=70) | st.from_regex(r"[0-9]{1,4}[-:][0-9]{1,2}"),
)
@example("a", "1_000")
@example("a", "0x1")
@example("y", "on")
@example("a", "--")
@example("a", "1:30")
def test_a_plain_line_is_what_the_emitter_writes(key, value):
    line = rendering.plain_line(key, value)
    if line is not None:
        assert line == rendering._dump(rendering._BlockMapping({key: value}))


@pytest.mark.slow
@steady
@given(st.dictionaries(keys, values))
def test_what_is_dumped_is_read_again(data):
    assert read_yaml(dump_yaml(data), dict, path=PATH) == without_surrogates(data)


@pytest.mark.slow
@steady
@given(st.dictionaries(keys, values, min_size=1), keys, values)
def test_what_is_set_is_read_again(data, key, value):
    text = edit_yaml(dump_yaml(data), {(key,): value}, path=PATH)
    assert read_yaml(text, dict, path=PATH) == without_surrogates({**data, key: value})


@steady
@given(
    st.lists(
        st.dictionaries(keys, st.text("ab \n\x85\u2028#:", max_size=8), min_size=1), max_size=3
    )
)
@example([{"a": "x\n\n"}, {"b": "\n"}])
def test_entries_that_are_written_one_by_one_are_read_again(entries):
    found = read_yaml(b"entries:\n" + render_entries(entries).encode(), dict, path=PATH)
    assert (found["entries"] or []) == entries


def without_surrogates(value):
    match value:
        case dict():
            return {
                without_surrogates(key): without_surrogates(item) for key, item in value.items()
            }
        case list():
            return [without_surrogates(item) for item in value]
        case str():
            return value.encode("utf-8", "replace").decode()
        case _:
            return value


def test_a_lone_surrogate_becomes_a_question_mark():
    assert dump_yaml({"a": "caf\udce9"}) == b"a: caf?\n"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("010", '"010"'),
        ("080", '"080"'),
        ("yes", '"yes"'),
        ("1e3", '"1e3"'),
        ("two\nlines", '"two\\nlines"'),
        (["010", "020"], '["010", "020"]'),
        ([], "[]"),
        (NOON, "2026-01-31T12:00:00Z"),
        (True, "true"),
        ("plain text", "plain text"),
    ],
)
def test_values_are_written_plainly(value, text):
    assert dump_yaml({"a": value}).decode() == f"a: {text}\n"
