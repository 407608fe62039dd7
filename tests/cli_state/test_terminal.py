"""What a person's terminal gets of what agents and files say: text, and nothing that steers it."""

import io
import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st
from terminal_output import all_of

from sow.cli.streams import Terminal
from sow.terminal_text import without_steering

pytestmark = pytest.mark.slow  # process after process

Sow = Callable[..., Any]
EVIL = r"\e]0;title\a\e[2Jclean\e[8mhidden\r\x9b31m\u202etxt"
"""As YAML writes it: names the window, clears the screen, hides, goes back, turns the direction."""


def on_terminal(folder: Path, *words: str) -> str:
    """Return all that a command writes to the terminal that it has."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "sow", *words],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    seen = all_of(ours)
    process.wait(timeout=240)
    return seen.decode().replace("\r\n", "\n")


def rename(folder: Path, name: str) -> None:
    state = next(folder.glob(".sow/project/phases/*/tasks/010/state.yaml"))
    lines = state.read_text().splitlines()
    named = [f'  name: "{name}"' if line.startswith("  name:") else line for line in lines]
    state.write_text("\n".join(named) + "\n")


def test_nothing_that_an_agent_wrote_steers_the_terminal(begun: Sow, tmp_path: Path) -> None:
    rename(tmp_path, EVIL)
    for words in (("task", "list"), ("task", "show", "010"), ("task", "list", "--json")):
        seen = on_terminal(tmp_path, *words)
        assert "clean" in seen
        assert "hidden" in seen
        steering = {letter for letter in click.unstyle(seen) if not letter.isprintable()} - {"\n"}
        assert steering == set(), (words, seen)


def test_an_error_that_quotes_an_agent_steers_no_terminal_either(
    begun: Sow, tmp_path: Path
) -> None:
    seen = on_terminal(tmp_path, "task", "show", "0\x1b]0;x\a10")
    assert "Error: " in seen
    assert "\x1b" not in seen
    assert "\a" not in seen


def test_programs_get_every_text_as_it_is(begun: Sow, tmp_path: Path) -> None:
    rename(tmp_path, EVIL)
    (task, *_) = begun("task", "list", "--json").lines
    assert task["name"] == "\x1b]0;title\a\x1b[2Jclean\x1b[8mhidden\r\x9b31m\u202etxt"


@given(st.text())
def test_no_text_steers(text: str) -> None:
    shown = without_steering(text)
    plain = click.unstyle(shown)
    assert "\x1b" not in plain
    assert not {letter for letter in plain if ord(letter) < 32} - {"\n", "\t"}
    if text.isprintable():
        assert shown == text


@pytest.mark.parametrize("style", [{"bold": True}, {"dim": True}, {"fg": "red"}, {"fg": "cyan"}])
def test_our_own_styles_pass(style: dict[str, Any]) -> None:
    assert without_steering(click.style("word", **style)) == click.style("word", **style)


def test_what_we_say_to_the_terminal_ourselves_passes() -> None:
    raw = io.BytesIO()
    stream = Terminal(raw, encoding="utf-8")
    stream.steer("\r\x1b[K")
    assert stream.write("a\x1b[Kb") == len("a\x1b[Kb"), "as much as was given"
    stream.flush()
    assert raw.getvalue() == b"\r\x1b[Ka [Kb"
