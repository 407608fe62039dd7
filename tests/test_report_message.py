"""The form of reports and answers: whatever bytes come, they are a message or `BadMessage`."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sow.report_message import (
    HEAD,
    MARK,
    MOST_BYTES,
    BadMessage,
    Report,
    length_of,
    pack,
    pack_answer,
    pack_report,
    unpack,
    unpack_answer,
    unpack_report,
)

NAME = b"0123456789abcdef" * 2
WORDS = st.lists(st.binary(max_size=20).filter(lambda word: b"\0" not in word), min_size=1)


@given(WORDS, st.none() | st.binary())
def test_a_report_comes_as_it_was_sent(words: list[bytes], stdin: bytes | None) -> None:
    data = pack_report(Report(NAME, words, stdin))
    assert length_of(data[:HEAD]) == length_of(data) == len(data)
    found = unpack_report(data)
    assert (found.id, found.words, found.stdin) == (NAME, words, stdin)


@given(st.integers(0, 255), st.binary(), st.binary())
def test_an_answer_comes_as_it_was_sent(code: int, out: bytes, err: bytes) -> None:
    assert unpack_answer(pack_answer(code, out, err)) == (code, out, err)


@given(st.binary() | st.binary().map(lambda tail: MARK + tail) | st.lists(st.binary()).map(pack))
def test_any_bytes_are_a_message_or_none(data: bytes) -> None:
    for read in (length_of, unpack, unpack_report, unpack_answer):
        try:
            read(data)
        except BadMessage:
            continue


@given(WORDS, st.data())
def test_what_is_cut_off_is_no_message(words: list[bytes], data: st.DataObject) -> None:
    whole = pack_report(Report(NAME, words, None))
    cut = whole[: data.draw(st.integers(0, len(whole) - 1))]
    size = length_of(cut)
    assert size is None or size > len(cut)
    with pytest.raises(BadMessage):
        unpack_report(cut)


def test_a_length_that_nobody_may_send_is_refused_at_once() -> None:
    assert length_of(MARK + MOST_BYTES.to_bytes(4, "big")) == HEAD + MOST_BYTES
    with pytest.raises(BadMessage):
        length_of(MARK + (MOST_BYTES + 1).to_bytes(4, "big"))


def test_a_long_answer_is_cut_to_what_may_be_sent() -> None:
    data = pack_answer(0, b"x" * MOST_BYTES, b"y" * MOST_BYTES)
    assert len(data) <= HEAD + MOST_BYTES
    assert unpack_answer(data)[0] == 0
