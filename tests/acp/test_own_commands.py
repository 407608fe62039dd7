"""Which lines of a shell are one command of sow and nothing else."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sow.acp.own_commands import is_own_command, words_of

ALLOWED = ("task show", "task set", "agent log", "prompt")
DENIED = ("task set approved", "worker stop")

ONE_COMMAND = (
    "sow task show 010",
    "  sow task show 010\n",
    "sow task set status needs_review",
    'sow agent log "Made it blue; and > that | is & all (so far)"',
    "sow agent log 'It costs $5, `really`'",
    'sow agent log "two\nlines"',
    'sow agent log "a \\"quoted\\" word, \\$5 and a \\\\"',
    "sow agent log --result=done 'x'",
    "sow prompt guidance/implementer/base",
    "sow 'task' \"show\" 010",
)
MORE = (
    "",
    "sow",
    "sow worker stop",
    "sow task set approved",
    "sow task add x",
    "sow --json task show 010",
    "/usr/bin/sow task show 010",
    "SOW_ROOT=/x sow task show 010",
    "env sow task show 010",
    "sow task show 010; touch x",
    "sow task show 010 && touch x",
    "sow task show 010 || touch x",
    "sow task show 010 | tee x",
    "sow task show 010 > x",
    "sow task show 010 2>x",
    "sow task show 010 < x",
    "sow task show 010 &",
    "sow task show 010\ntouch x",
    "sow task show 010\rtouch x",
    "sow task show $(touch x)",
    "sow task show `touch x`",
    'sow agent log "$(touch x)"',
    'sow agent log "`touch x`"',
    "sow agent log $'\\x27; touch x'",
    "sow agent log <(touch x)",
    "sow agent log *",
    "sow agent log ~",
    "sow agent log {a,b}",
    "sow agent log $HOME",
    "sow agent log =ls",
    "sow agent log !!",
    "sow agent log # and so on",
    "sow agent log 'a",
    'sow agent log "a',
    "sow agent log a\\",
    "sow agent log 'a\\' ; touch x '",
    "sow agent log 'a\\$b'",
    "sow agent log '\\'' ; touch x '",
    'sow agent log "\\n"',
    "so\\w task show 010",
    "sow task show 010\0",
    "sow\u00a0task show 010",
)


def test_one_plain_command_of_sow_is_one() -> None:
    for line in ONE_COMMAND:
        assert is_own_command(line, ALLOWED, DENIED), line


def test_what_may_be_more_is_none() -> None:
    for line in MORE:
        assert not is_own_command(line, ALLOWED, DENIED), line


def test_the_longest_command_counts() -> None:
    assert is_own_command("sow task set approved", ("task set",))
    assert not is_own_command("sow task set approved", ("task set",), ("task set approved",))
    assert is_own_command("sow task set approved x", ("task set approved",), ("task set",))


PIECES = st.sampled_from(
    [*"abc \t\n'\"\\$`;&|<>(){}*?~!#=,./-%", "sow ", "task show ", "$(touch x)", "; touch x"]
)


@pytest.mark.slow
@given(st.lists(PIECES, max_size=12).map("".join))
def test_a_shell_takes_the_words_that_were_found_for_these_words(line: str) -> None:
    found = words_of(line)
    if not found:
        return
    printer = 'import sys; print("\\0".join(sys.argv[1:]), end="")'
    function = f"word() {{ python3 -I -c '{printer}' \"$@\"; }}\n"
    for shell in ("/bin/sh", "/bin/bash"):
        if Path(shell).exists():
            script = f"{function}word {line.strip()}"
            done = subprocess.run([shell, "-c", script], capture_output=True, text=True, check=True)
            assert done.stdout.split("\0") == found
