"""Lines that are drawn in place on a terminal: nothing is left behind, whatever its width."""

import re

import pytest

from sow.cli.live_block import LiveBlock, terminal_size


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


def test_nothing_in_a_line_steers_the_terminal(screen: Screen) -> None:
    LiveBlock(screen.write).draw(["a\x1b[2Jb\rc"])
    assert screen.rows == ["a [2Jb c"]


def test_the_size_is_never_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable, value in (("COLUMNS", "x"), ("LINES", "0")):
        monkeypatch.setenv(variable, value)
    assert all(number > 0 for number in terminal_size())
    monkeypatch.setenv("COLUMNS", "33")
    assert terminal_size()[0] == 33
