"""A condition says of each text what its pattern says, and each is a pattern of a form of ours."""

import re
from pathlib import Path
from types import ModuleType
from typing import Annotated, get_args, get_origin

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta

from sow.schema import config, project, task
from sow.usual_patterns import USUAL

LETTERS = st.text("019afgzAZ-.\n\0 msdhé٣", max_size=12)
UUID = "0123abcd-0123-4567-89ab-0123456789ab"
EDGES = (
    *("", "a", "0", "-", "\0", "a\0", "a-0", "-a", "A", "a_b", "é", "٣٣٣", "01", "010", "0100"),
    *("1s", "1.5ms", "1.123h", "1.1234h", "1.s", ".5s", "1..5s", "1", "s", "1x", "1 s", "٣s"),
    *("123456789d", "1234567890d", "never", "nevers", "never1s", "1M", UUID, UUID.upper()),
    *(f"{UUID}0", f"0{UUID}", UUID[:-1], UUID.replace("-", "--", 1), UUID.replace("-", "")),
    *("0f" * half for half in (19, 20, 21, 31, 32, 33)),
    *("g" * 40, "F" * 64, "0" * 63 + "g", "0" * 39, "0" * 65),
)
PATTERNS = sorted(USUAL)


def patterns_of(module: ModuleType) -> set[object]:
    """Return the patterns of the texts that a module of forms names."""
    texts = [value for value in vars(module).values() if get_origin(value) is Annotated]
    metas = [meta for text in texts for meta in get_args(text) if isinstance(meta, Meta)]
    return {meta.pattern for meta in metas}


def test_each_is_a_pattern_of_our_forms() -> None:
    assert set(USUAL) <= patterns_of(config) | patterns_of(project) | patterns_of(task)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_condition_says_what_its_pattern_says_at_its_edges(pattern: str) -> None:
    for text in (*EDGES, *(f"{edge}\n" for edge in EDGES), *(f"{edge}\n\n" for edge in EDGES)):
        assert USUAL[pattern](text) is bool(re.search(pattern, text)), text


@pytest.mark.parametrize("pattern", PATTERNS)
@given(LETTERS)
def test_a_condition_says_what_its_pattern_says(pattern: str, text: str) -> None:
    assert USUAL[pattern](text) is bool(re.search(pattern, text))


@pytest.mark.parametrize("pattern", PATTERNS)
@given(st.data())
def test_a_condition_holds_of_what_matches_and_of_what_nearly_does(
    pattern: str, data: st.DataObject
) -> None:
    text = data.draw(st.from_regex(pattern))
    assert USUAL[pattern](text) is True
    at, width = data.draw(st.integers(0, len(text))), data.draw(st.integers(0, 1))
    changed = text[:at] + data.draw(st.sampled_from(["", *"-0g\n.\0"])) + text[at + width :]
    assert USUAL[pattern](changed) is bool(re.search(pattern, changed))


def test_no_form_has_a_value_that_msgspec_is_imported_without() -> None:
    """`sow/late_modules.py` gives msgspec no types for decimal numbers and UUIDs."""
    forms = [*Path(config.__file__).parent.rglob("*.py")]
    assert forms
    for form in forms:
        assert not re.search(r"^\s*(from|import) (decimal|uuid)\b", form.read_text(), re.M), form
