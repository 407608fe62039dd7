"""What stands between git's marks: both sides, as git itself takes them."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sow.validation.marks import conflict_in, kept_by_union

texts = st.lists(st.sampled_from(["a", "b", "c", "", "====", "<<<"]), max_size=8).map(
    lambda lines: "".join(f"{line}\n" for line in lines)
)


def merge_file(folder: Path, *words: str) -> bytes:
    argv = ["git", "merge-file", "-p", *words, "ours", "base", "theirs"]
    return subprocess.run(argv, cwd=folder, capture_output=True, check=False).stdout


@pytest.mark.slow
@pytest.mark.parametrize("style", [(), ("--diff3",), ("--zdiff3",)])
@settings(
    max_examples=min(40, settings.default.max_examples),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(base=texts, ours=texts, theirs=texts)
def test_the_sides_are_what_git_takes_for_them(tmp_path, style, base, ours, theirs) -> None:
    for name, text in (("base", base), ("ours", ours), ("theirs", theirs)):
        (tmp_path / name).write_text(text)
    merged = merge_file(tmp_path, *style)
    conflict = conflict_in(merged)
    if conflict is None:
        assert b">>>>>>>" not in merged
        return
    assert merged.split(b"\n")[conflict.line - 1].startswith(b"<<<<<<< ")
    assert conflict.ours == merge_file(tmp_path, "--ours")
    assert conflict.theirs == merge_file(tmp_path, "--theirs")


MARKS = b"<<<<<<< HEAD\na\n=======\nb\n>>>>>>> theirs\n"


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"<<<<<<< HEAD\na\n=======\nb\n",
        b"a\n=======\nb\n>>>>>>> theirs\n",
        b"<<<<<<< HEAD\na\n>>>>>>> theirs\n",
        b" <<<<<<< HEAD\na\n=======\nb\n>>>>>>> theirs\n",
        b"<<<<<<<< HEAD\na\n=======\nb\n>>>>>>>> theirs\n",
    ],
)
def test_what_is_no_conflict(text: bytes) -> None:
    assert conflict_in(text) is None


def test_an_example_in_prose_is_none() -> None:
    quoted = b"```\n" + MARKS + b"```\n"
    assert conflict_in(quoted, is_prose=True) is None
    assert conflict_in(quoted) is not None
    after = conflict_in(quoted + b"\n" + MARKS, is_prose=True)
    assert after is not None
    assert after.line == 9


def test_lines_may_end_as_on_windows() -> None:
    conflict = conflict_in(MARKS.replace(b"\n", b"\r\n"))
    assert conflict is not None
    assert (conflict.ours, conflict.theirs) == (b"a\r\n", b"b\r\n")


def test_a_union_loses_no_line_of_the_base() -> None:
    text = b"<<<<<<< HEAD\na\n||||||| base\nold\n=======\nb\n>>>>>>> theirs\n"
    for base, kept in ((b"old", None), (b"a", [b"a\n", b"b\n"])):
        conflict = conflict_in(text.replace(b"old", base))
        assert conflict is not None
        assert kept_by_union(conflict.hunks[0]) == kept


def test_the_last_beginning_counts() -> None:
    conflict = conflict_in(b"<<<<<<< of a quotation\nwords\n" + MARKS)
    assert conflict is not None
    assert conflict.line == 3
    assert conflict.ours == b"<<<<<<< of a quotation\nwords\na\n"
