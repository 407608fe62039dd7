"""Values in a stream: each is found, however it is cut, and nothing else is changed."""

import json

from hypothesis import given
from hypothesis import strategies as st

from sow.blanking import Blanker, fault_of, forms_of, values_in

letters = st.text("ab", min_size=1, max_size=5).map(str.encode)
values = st.dictionaries(st.sampled_from([b"K", b"L", b"M"]), letters, min_size=1)
pieces = st.lists(st.text("abc", max_size=7).map(str.encode), max_size=12)


def replaced(names: dict[bytes, bytes], data: bytes) -> bytes:
    """Replace from left to right, of two values at one place the longer."""
    result, at = b"", 0
    while at < len(data):
        found = max((form for form in names if data.startswith(form, at)), key=len, default=b"")
        result += b"[" + names[found] + b"]" if found else data[at : at + 1]
        at += len(found) or 1
    return result


@given(values, pieces)
def test_pieces_come_out_as_the_whole_does(
    given_values: dict[bytes, bytes], data: list[bytes]
) -> None:
    blanker = Blanker(given_values)
    names = {form: name for name, value in given_values.items() for form in forms_of(value)}
    out = b"".join(map(blanker.feed, data)) + blanker.rest()
    assert out == replaced(names, b"".join(data)) == Blanker(given_values).whole(b"".join(data))


def test_nothing_is_kept_back_but_what_may_go_on_as_a_value() -> None:
    blanker = Blanker({b"KEY": b"secret-value"})
    for data, passed in (
        (b"a line\n", b"a line\n"),
        (b"x secret-", b"x "),
        (b"word\n", b"secret-word\n"),
    ):
        assert blanker.feed(data) == passed
    assert blanker.feed(b"secret-val") == b""
    assert blanker.keeps_back
    assert blanker.feed(b"ue!") == b"[KEY]!"
    assert not blanker.keeps_back


def test_a_value_that_is_cut_off_at_the_end_does_not_come_out() -> None:
    blanker = Blanker({b"KEY": b"secret-value"})
    assert (blanker.feed(b"a secret-val"), blanker.rest(), blanker.rest()) == (b"a ", b"[KEY]", b"")
    assert blanker.found == {b"KEY"}
    assert (blanker.feed(b"a secre"), blanker.rest()) == (b"a ", b"secre")


def test_it_is_found_as_json_writes_it_once_and_twice() -> None:
    value = 'line "one"\n\\ ä'
    for text in (
        json.dumps(value),
        json.dumps(value, ensure_ascii=False),
        json.dumps(json.dumps(value)),
        json.dumps(json.dumps(value, ensure_ascii=False), ensure_ascii=False),
    ):
        found = Blanker({b"K": value.encode()}).whole(text.encode())
        assert found in (b'"[K]"', b'"\\"[K]\\""')
        json.loads(found)


def test_each_name_is_told_once() -> None:
    noted: list[bytes] = []
    blanker = Blanker({b"A": b"first-value", b"B": b"other-value"}, noted.append)
    blanker.feed(b"other-value first-value other-value ")
    assert noted == [b"B", b"A"]
    assert blanker.found == {b"A", b"B"}
    assert blanker.names_in(b"a first-value") == {b"A"}


def test_bytes_that_are_no_text_are_a_value_too() -> None:
    assert Blanker({b"K": b"\xff\xfe-binary"}).whole(b"<\xff\xfe-binary>") == b"<[K]>"


def test_which_values_cannot_be_looked_for() -> None:
    assert fault_of(b"123456") == ""
    for value in (b"", b"12345", b"\nabcdefg", b"abc\0defg", b"x" * 65_537):
        assert fault_of(value)


def test_the_values_of_named_variables() -> None:
    environ = {"A": "long-enough", "B": "short", "C": "not-named"}
    assert values_in(environ, "A,B,GONE") == {b"A": b"long-enough"}
    assert values_in(environ, "") == {}
