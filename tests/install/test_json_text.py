"""A JSON file keeps what was not meant: order, indentation, line ends, letters."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sow.install.json_text import NotJson, read_object, write_object

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
FORMS = [
    lambda value: json.dumps(value, indent=2) + "\n",
    lambda value: json.dumps(value, indent=4, ensure_ascii=True),
    lambda value: json.dumps(value, indent="\t") + "\n",
]


@given(st.dictionaries(st.text(), VALUES, max_size=4), st.sampled_from(FORMS))
def test_a_file_that_is_written_as_it_was_read_says_the_same(
    value: dict[str, Any], form: Any
) -> None:
    data = form(value).encode()
    again = write_object(read_object(data), data)
    assert read_object(again) == value
    assert list(read_object(again)) == list(value)
    assert again.endswith(b"\n") is data.endswith(b"\n")


@pytest.mark.parametrize(
    "data",
    [
        b'{\n    "b": "\xc3\xa9",\n    "a": [\n        1\n    ]\n}',
        b'{\n\t"b": {\n\t\t"x": true\n\t}\n}\n',
        b'{\r\n  "b": 1\r\n}\r\n',
        b'\xef\xbb\xbf{\n  "b": 1\n}\n',
        b'{\n  "b": "\\u00e9"\n}\n',
        b'{\n  "b": "\\ud800"\n}\n',
    ],
    ids=["four", "tabs", "crlf", "mark", "escapes", "half a pair"],
)
def test_its_form_stays(data: bytes) -> None:
    assert write_object(read_object(data), data) == data


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"{", "not JSON"),
        (b'{"a": 1} // mine', "not JSON"),
        (b"[]", "no object"),
        (b'{"a": 1, "a": 2}', "'a' twice"),
        (b"\xff", "no UTF-8"),
        (b"[" * 200_000, "too deeply"),
        (b'{"a": 1e999}', "no number"),
        (b'{"a": NaN}', "no number"),
        (b'{"a": 1%s}' % (b"0" * 5000), "digits"),
    ],
)
def test_what_nobody_can_read_is_refused(data: bytes, words: str) -> None:
    with pytest.raises(NotJson, match=words):
        read_object(data)


def test_an_empty_file_is_an_empty_object() -> None:
    assert read_object(None) == read_object(b"") == read_object(b" \n") == {}
    assert write_object({"a": 1}, None) == b'{\n  "a": 1\n}\n'
