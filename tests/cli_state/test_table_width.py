"""A table on a terminal that is too narrow for it: whole lines, fewer columns."""

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from terminal_output import all_of

from sow.cli.output import LAST_COLUMN, columns_within, echo_table
from sow.terminal_text import cells, clipped, folded

WIDTHS = {"ID": 3, "STATUS": 12, "PHASE": 14, "NAME": 60}
ALL_BUT_NAMES = 3 + 12 + 14 + 3 * 2


@pytest.mark.parametrize(
    ("room", "names"),
    [
        (None, "ID STATUS PHASE NAME"),
        (ALL_BUT_NAMES + LAST_COLUMN, "ID STATUS PHASE NAME"),
        (ALL_BUT_NAMES + LAST_COLUMN - 1, "ID STATUS NAME"),
        (30, "ID NAME"),
        (5, "ID NAME"),
    ],
)
def test_the_spare_columns_go_one_by_one(room: int | None, names: str) -> None:
    assert list(columns_within(room, WIDTHS, ("PHASE", "STATUS"))) == names.split()


@pytest.mark.slow
@pytest.mark.parametrize(("columns", "has_phase"), [(70, False), (200, True), (0, True)])
def test_a_terminal_gets_the_columns_that_fit(
    begun: Callable[..., Any], tmp_path: Path, columns: int, has_phase: bool
) -> None:
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    argv = [sys.executable, "-P", "-m", "sow", "task", "list"]
    subprocess.run(argv, cwd=tmp_path, stdout=theirs, check=True)
    os.close(theirs)
    header = all_of(ours).decode().splitlines()[0]
    assert ("PHASE" in header) == has_phase
    assert header.endswith("NAME")


def test_what_a_task_says_is_broken_between_words(
    begun: Callable[..., Any], tmp_path: Path
) -> None:
    begun("agent", "log", " ".join(["word"] * 40), "--task", "010")
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    argv = [sys.executable, "-P", "-m", "sow", "task", "show", "010"]
    subprocess.run(argv, cwd=tmp_path, stdout=theirs, check=True)
    os.close(theirs)
    lines = all_of(ours).decode().splitlines()
    rows = [line for line in lines if "word" in line]
    assert len(rows) > 2
    assert all(len(line) <= 80 and line.endswith("word") for line in rows)
    piped = begun("task", "show", "010").out.splitlines()
    assert len([line for line in piped if "word" in line]) == 1


def test_a_word_that_is_longer_than_a_line_stays_whole() -> None:
    assert folded("ab cd ef", 5) == ["ab cd", "ef"]
    assert folded("  | abcdefgh ij", 6) == ["  |", "abcdefgh", "ij"]
    assert folded("abcdefgh", 3) == ["abcdefgh"]
    assert folded("ab cd", None) == ["ab cd"]


def test_columns_are_those_of_a_terminal_not_letters() -> None:
    assert cells("ログイン") == 8
    assert cells("e\u0301") == cells("\u2764\ufe0f") == 1
    assert folded("ログイン ab", 9) == ["ログイン", "ab"]
    assert clipped("aログ", 4) == "aロ"
    assert clipped("e\u0301ab", 2) == "e\u0301a"


def test_wide_letters_shift_no_column(capsys: pytest.CaptureFixture[str]) -> None:
    echo_table(("NAME", "ID"), [("ログイン", "1"), ("cafe\u0301", "2"), ("plain", "3")])
    lines = capsys.readouterr().out.splitlines()
    assert {cells(line[: -len(line.split()[-1])]) for line in lines} == {10}


def test_what_is_no_terminal_gets_every_column(begun: Callable[..., Any]) -> None:
    header = begun("task", "list").out.splitlines()[0]
    assert header.split()[:6] == ["ID", "STATUS", "AGENT", "PHASE", "ITERATION", "UPDATED"]
