"""The form of a log entry: what is written is read again, whatever it says."""

import re

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sow.state.log_writing import (
    LogEntry,
    format_entry,
    has_entry,
    quote,
    write_entry,
    write_missing_entry,
)
from sow.state.task_log import append_entry, read_entries

steady = settings(
    max_examples=min(60, settings.default.max_examples),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
"""A loaded machine is no failure."""

TIME = "2026-01-31T12:00:00Z"
ID = "0123456789ab"


def test_an_entry_as_it_stands_in_the_file(tmp_path):
    entry = LogEntry(
        TIME,
        "implementer",
        "Added the login route",
        result="success",
        files=("src/auth.py", "a, b.py"),
        text="Free text.\n---\nMore.",
        id="0123456789ab",
    )
    path = append_entry(tmp_path, entry)
    assert path == tmp_path / "log.md"
    assert path.read_text() == (
        "---\n"
        "id: 0123456789ab\n"
        "timestamp: 2026-01-31T12:00:00Z\n"
        "agent: implementer\n"
        "action: Added the login route\n"
        "# 0123456789ab\n"
        "result: success\n"
        'files: [src/auth.py, "a, b.py"]\n'
        "# 0123456789ab\n"
        "---\n"
        "\n"
        "Free text.\n"
        " ---\n"
        "More.\n"
        "<!-- 0123456789ab -->\n"
    )


def test_what_sow_tells_of_a_change_names_role_job_and_attempt(tmp_path):
    entry = LogEntry(TIME, "sow", "x", role="tester", job=3, attempt=2, event="job", id=ID)
    text = append_entry(tmp_path, entry).read_text()
    assert f"role: tester\nevent: job\njob: 3\n# {ID}\nattempt: 2\n# {ID}\n---\n" in text
    assert read_entries(tmp_path / "log.md") == [entry]


def test_the_second_entry_follows_a_blank_line(tmp_path):
    append_entry(tmp_path, LogEntry(TIME, "a", "one"))
    append_entry(tmp_path, LogEntry(TIME, "a", "two"))
    first, second = (tmp_path / "log.md").read_text().split("\n\n")
    for text in (first, second):
        ending = re.fullmatch(
            r"---\nid: (.{12})\ntimestamp: .*\nagent: a\naction: \w+\n# \1\n---",
            text.strip(),
        )
        assert ending, text


def test_what_stands_in_the_log_is_never_changed(tmp_path):
    (tmp_path / "log.md").write_bytes(b"A person's own words \xff")
    append_entry(tmp_path, LogEntry(TIME, "a", "one"))
    assert (tmp_path / "log.md").read_bytes().startswith(b"A person's own words \xff\n\n---\n")
    assert [entry.action for entry in read_entries(tmp_path / "log.md")] == ["one"]


@pytest.mark.parametrize(
    "text",
    [
        "yes",
        "No",
        "null",
        "~",
        "",
        "010",
        "1e3",
        "- x",
        "a: b",
        "a #b",
        "@x",
        "x ",
        " x",
        '"',
        "\\",
        "\t",
        "é",
        "日本",
        "😀",
        "\x07",
        "\u2028",
        "\x85",
        "\ufeff",
        "a\nb",
        "[x]",
        "{x",
        "*x",
        "&x",
        "!x",
        "%x",
        "'x'",
    ],
)
def test_a_quoted_scalar_is_read_as_the_same_string(text):
    assert yaml.safe_load(f"x: {quote(text)}") == {"x": text}
    assert yaml.safe_load(f"[{quote(text)}, y]") == [text, "y"]
    assert "\n" not in quote(text)


def test_plain_words_are_not_quoted():
    assert quote("Added the login route") == "Added the login route"
    assert quote("src/auth.py") == "src/auth.py"


any_text = st.text(alphabet=st.characters(exclude_categories=["Cs"]))
words = any_text.filter(bool)


@steady
@given(words)
def test_any_scalar_is_read_as_the_same_string(text):
    assert yaml.safe_load(f"x: {quote(text)}") == {"x": text}


def stands(text: str) -> str:
    """Return free text as the file holds it."""
    lines = text.strip("\n").split("\n")
    form = {"---", f"id: {ID}", f"# {ID}", f"<!-- {ID} -->"}
    return "\n".join(f" {line}" if line.rstrip() in form else line for line in lines).strip("\n")


FORMS = ["---", "--- ", "timestamp: x", "", "a", f"id: {ID}", f"# {ID}", f"<!-- {ID} -->"]
entries = st.builds(
    LogEntry,
    id=st.just(""),
    timestamp=st.just(TIME),
    agent=words,
    action=words,
    result=any_text,
    files=st.lists(any_text, max_size=3).map(tuple),
    text=any_text | st.lists(st.sampled_from(FORMS)).map("\n".join),
)


@steady
@given(st.lists(entries, max_size=4), st.booleans())
def test_any_entries_are_read_as_they_were_written(tmp_path_factory, written, torn):
    folder = tmp_path_factory.mktemp("log")
    for entry in written:
        append_entry(folder, entry)
    found = read_entries(folder / "log.md")
    assert [entry._replace(id="") for entry in found] == [
        entry._replace(text=stands(entry.text)) for entry in written
    ]
    assert len({entry.id for entry in found}) == len(written)


@steady
@given(st.integers(min_value=1))
def test_a_torn_entry_hides_no_other(tmp_path_factory, cut):
    whole = format_entry(LogEntry(TIME, "agent", "torn", result="success", files=("a", "b")))
    torn = whole[: cut % (len(whole) - 4)]
    last = format_entry(LogEntry(TIME, "agent", "last", text="its text"))
    first = format_entry(LogEntry(TIME, "agent", "first"))
    path = tmp_path_factory.mktemp("log") / "log.md"
    path.write_text(f"{first}\n{torn}\n\n{last}")
    assert [entry.action for entry in read_entries(path)] == ["first", "last"]


def test_a_torn_last_entry_is_passed_over(tmp_path):
    append_entry(tmp_path, LogEntry(TIME, "a", "one"))
    with (tmp_path / "log.md").open("a") as log:
        log.write("\n---\ntimestamp: 2026-01-31T12:00")
    assert [entry.action for entry in read_entries(tmp_path / "log.md")] == ["one"]
    append_entry(tmp_path, LogEntry(TIME, "a", "two"))
    assert [entry.action for entry in read_entries(tmp_path / "log.md")] == ["one", "two"]


@steady
@given(st.sampled_from(["", "first", "torn", "whole", "whole, and more"]), st.integers(1, 400))
def test_a_missing_entry_is_written_as_any_other_and_a_whole_one_stays(
    tmp_path_factory, before, cut
):
    """In one look what two do otherwise."""
    first, second = (tmp_path_factory.mktemp("log") for _ in range(2))
    entry = LogEntry(TIME, "sow", "Job 1 done", result="success", job=1, id=ID)
    whole = format_entry(entry)
    texts = {
        "first": format_entry(LogEntry(TIME, "agent", "first")),
        "torn": whole[: cut % (len(whole) - 4)],
        "whole": whole,
        "whole, and more": whole + "\n" + format_entry(LogEntry(TIME, "agent", "last")),
    }
    for folder in (first, second) if before else ():
        (folder / "log.md").write_text(texts[before])
    is_missing = not has_entry(first, ID)
    if is_missing:
        write_entry(first, entry)
    assert write_missing_entry(second, entry) is is_missing
    assert (first / "log.md").read_bytes() == (second / "log.md").read_bytes()


def test_a_log_that_is_not_there_has_no_entries(tmp_path):
    assert read_entries(tmp_path / "log.md") == []


def test_an_argument_that_was_no_utf8_is_written_readably(tmp_path):
    append_entry(tmp_path, LogEntry(TIME, "a", "caf\udce9", text="\udcff"))
    (entry,) = read_entries(tmp_path / "log.md")
    assert (entry.action, entry.text) == ("caf\ufffd", "\ufffd")


def test_an_entry_of_a_person_may_have_other_keys(tmp_path):
    (tmp_path / "log.md").write_text(
        f"# Notes\n\n---\ntimestamp: {TIME}\nagent: me\naction: looked\nmood: good\n"
        "id: 7\njob: my day job\nevent: [lunch]\n---\n"
    )
    assert [entry.agent for entry in read_entries(tmp_path / "log.md")] == ["me"]
