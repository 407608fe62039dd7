"""What sow reads itself of settings in git's form is what git reads."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sow.git.run import git
from sow.git.settings_text import as_lines, plain_settings

LINES = (
    "[core]",
    "[Core]",
    '[remote "Origin"]',
    '[a "b.c d"]',
    "[a.b]",
    '[a "b"] x = 1',
    "\tbare = false",
    "  Key-1=  two words \t",
    "empty =",
    "n = a=b[c]",
    "x",
    "",
    "# a = b",
    "  ; a = b",
    "x = a # b",
    "x = a;b",
    'x = "a b"',
    'x = " #a;[] "',
    'x = "a" ',
    'x = "a"b',
    'x = a"b"',
    'x = ""',
    'x = "a\\tb"',
    'x = "a\tb"',
    "x = a\\",
    "x = a\tb",
    "x = ä\u00a0",
    "1x = 2",
    "x.y = 2",
    "x y = 2",
    "]",
)


@pytest.mark.parametrize("line", LINES)
def test_each_line_is_as_git_reads_it_or_left_to_git(line: str) -> None:
    check("[core]", line, "after = 1")
    check(line, "after = 1")


@settings(max_examples=min(30, settings.default.max_examples), deadline=None)
@given(st.lists(st.sampled_from(LINES), max_size=8), st.sampled_from(["\n", "\r\n"]))
def test_any_text_is_as_git_reads_it_or_left_to_git(lines: list[str], end: str) -> None:
    check(*lines, end=end)


def test_what_sow_and_git_write_is_plain() -> None:
    assert plain_settings(b"[core]\n\tbare = false\n[extensions]\n\tobjectFormat = sha1\n") == (
        ("core.bare", "false"),
        ("extensions.objectformat", "sha1"),
    )
    assert plain_settings(as_lines([("x.a b.y", "z #")]).encode()) == (("x.a b.y", "z #"),)
    assert plain_settings(b'[x]\n\ty = "z" # why\n') is None


def check(*lines: str, end: str = "\n") -> None:
    text = end.join(lines).encode()
    plain = plain_settings(text)
    if plain is not None:
        words = ("config", "--file", "-", "--no-includes", "--list", "-z")
        listed = git(Path("/"), *words, stdin=text)
        assert listed == "".join(f"{name}\n{value}\0" for name, value in plain)
