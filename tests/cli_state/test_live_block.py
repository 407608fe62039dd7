"""Lines that are drawn in place on a terminal: nothing is left behind, whatever its width."""

import io
import re
import signal
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from sow.cli import job_rows
from sow.cli.job_rows import LiveBlock, leave_when_stopped, terminal_size
from sow.cli.streams import Terminal
from sow.paths import Workspace


class Screen:
    """A terminal that knows what the block uses: wrapping, CR, LF, moves up, and erasing below."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.rows = [""]
        self.y = self.x = 0

    def write(self, text: str) -> None:
        for found in re.finditer(r"\x1b\[(\d*)([A-Zm])|.|\n", text, re.DOTALL):
            self._take(found)

    def _take(self, found: re.Match[str]) -> None:
        match f"CSI {found[2]}" if found[2] else found[0]:
            case "CSI A":
                self.y -= int(found[1])
                assert self.y >= 0, "above the top"
            case "CSI J":
                self.rows = [*self.rows[: self.y], self.rows[self.y][: self.x]]
            case "CSI m":
                pass
            case "\r":
                self.x = 0
            case "\n":
                self._down()
            case letter:
                if self.x == self.width:
                    self._down()
                self.rows[self.y] = f"{self.rows[self.y][: self.x]}{letter}"
                self.x += 1

    def _down(self) -> None:
        self.y, self.x = self.y + 1, 0
        if self.y == len(self.rows):
            self.rows.append("")

    def narrow(self, width: int) -> None:
        """Have the terminal narrowed: what stands there is wrapped anew."""
        lines, self.rows, self.width = self.rows, [], width
        for line in lines:
            self.rows += [line[i : i + width] for i in range(0, max(len(line), 1), width)]
        self.y = len(self.rows) - 1
        self.x = len(self.rows[-1])


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> Screen:
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("LINES", "10")
    return Screen(40)


def test_lines_are_drawn_in_place_and_taken_away(screen: Screen) -> None:
    block = LiveBlock(screen.write)
    screen.write("$ sow\n")
    block.draw(["one", "two", "three"])
    assert screen.rows == ["$ sow", "one", "two", "three"]
    block.draw(["four", "\x1b[31mfive\x1b[0m"])
    assert screen.rows == ["$ sow", "four", "five"]
    block.draw([])
    assert screen.rows == ["$ sow", ""]
    block.draw(["six"])
    block.clear()
    block.clear()
    screen.write("done\n")
    assert screen.rows == ["$ sow", "done", ""]


def test_a_terminal_that_is_narrowed_meanwhile_keeps_nothing(
    screen: Screen, monkeypatch: pytest.MonkeyPatch
) -> None:
    block = LiveBlock(screen.write)
    block.draw(["x" * 39, "\x1b[31m" + "y" * 25 + "\x1b[0m", "z"])
    screen.narrow(20)
    monkeypatch.setenv("COLUMNS", "20")
    block.draw(["a"])
    assert screen.rows == ["a"]


@pytest.fixture
def stopped(monkeypatch: pytest.MonkeyPatch, screen: Screen) -> Iterator[list[list[str]]]:
    """What stood on the screen each time that the process would have been stopped."""
    shown: list[list[str]] = []

    def stop(signum: int) -> None:
        assert signal.getsignal(signum) is signal.SIG_DFL
        shown.append(list(screen.rows))
        screen.write("[1]+  Stopped\n$ fg\n")

    monkeypatch.setattr(signal, "raise_signal", stop)
    before = signal.signal(signal.SIGTSTP, signal.SIG_DFL)
    yield shown
    signal.signal(signal.SIGTSTP, before)


def test_before_the_process_is_stopped_its_lines_go_and_the_shell_s_stay(
    screen: Screen, stopped: list[list[str]]
) -> None:
    block = LiveBlock(screen.write)
    leave_when_stopped(block.leaving)
    for _ in range(2):
        block.draw(["one", "two"])
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGTSTP)
    block.draw(["three"])
    shell_lines = ["[1]+  Stopped", "$ fg"]
    assert stopped == [[""], [*shell_lines, ""]]
    assert screen.rows == [*shell_lines, *shell_lines, "three"]


def test_a_stop_in_the_middle_of_a_drawing_spares_the_shell_s_lines_too(
    screen: Screen, stopped: list[list[str]]
) -> None:
    def write(text: str) -> None:
        screen.write(text)
        if not stopped:
            screen.write("\n")
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGTSTP)

    block = LiveBlock(write)
    leave_when_stopped(block.leaving)
    block.draw(["one", "two"])
    block.draw(["three"])
    assert screen.rows == ["one", "two", "[1]+  Stopped", "$ fg", "three"]


def test_a_worker_s_rows_go_before_it_is_stopped_and_nobody_draws_meanwhile(
    screen: Screen, stopped: list[list[str]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A thread draws them, under a lock that it does not get until the process goes on."""

    def stop(signum: int) -> None:
        with ThreadPoolExecutor(1) as other:
            assert not other.submit(made[0]._lock.acquire, blocking=False).result()
        standing(signum)

    class Made(job_rows._Screen):
        def run(self) -> None:
            made.append(self)

    made: list[Made] = []
    standing = signal.raise_signal
    monkeypatch.setattr(signal, "raise_signal", stop)
    monkeypatch.setattr(job_rows, "_Screen", Made)
    monkeypatch.setenv("TERM", "xterm")
    terminal = Terminal(io.BytesIO(), encoding="utf-8")
    monkeypatch.setattr(terminal, "steer", screen.write)
    monkeypatch.setattr(sys, "stderr", terminal)
    with job_rows.rows_below_log(Workspace(tmp_path)):
        made[0]._block.draw(["one", "two"])
        assert callable(signal.getsignal(signal.SIGTSTP)), "or the tests would be stopped"
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGTSTP)
        made[0]._block.draw(["three"])
    assert stopped == [[""]]
    assert screen.rows == ["[1]+  Stopped", "$ fg", "three"]


def test_what_is_to_happen_at_a_stop_already_stays(stopped: list[list[str]]) -> None:
    signal.signal(signal.SIGTSTP, signal.SIG_IGN)
    leave_when_stopped(LiveBlock(lambda _: None).leaving)
    assert signal.getsignal(signal.SIGTSTP) is signal.SIG_IGN


def test_nothing_in_a_line_steers_the_terminal(screen: Screen) -> None:
    LiveBlock(screen.write).draw(["a\x1b[2Jb\rc"])
    assert screen.rows == ["a [2Jb c"]


def test_the_size_is_never_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable, value in (("COLUMNS", "x"), ("LINES", "0")):
        monkeypatch.setenv(variable, value)
    assert all(number > 0 for number in terminal_size())
    monkeypatch.setenv("COLUMNS", "33")
    assert terminal_size()[0] == 33
