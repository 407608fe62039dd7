"""An end to a run that a slow machine draws out: what was not begun in time is not begun.

`--begin-within MINUTES` is for a machine that has a limit for the whole run and may be slower than
usual. What is quick and what is hardest come first; the rest comes in an order that the commit
draws, so that what one run leaves out another begins with. The summary says how many were left.
"""

import hashlib
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

FIRST_OF_ALL = 0
HARDEST = 1
THE_REST = 2
LEFT = "left_by_time"
"""The key under which a process of xdist hands in how many tests it did not begin."""


def add_option(parser: pytest.Parser) -> None:
    parser.addoption(
        "--begin-within",
        type=float,
        metavar="MINUTES",
        help="begin no test later than this; say how many were left",
    )


class WithinTime:
    """Orders the tests of one run, and begins none of them too late."""

    def __init__(self, minutes: float, drawn_by: str) -> None:
        self.ends_at = time.monotonic() + minutes * 60
        self.minutes = minutes
        self.drawn_by = drawn_by
        self.left = 0

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items.sort(key=lambda item: place(marks_of(item), item.path.as_posix(), self.drawn_by))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> bool | None:
        if time.monotonic() < self.ends_at:
            return None
        self.left += 1
        return True

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if (handed_in := getattr(session.config, "workeroutput", None)) is not None:
            handed_in[LEFT] = self.left

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        self.left += getattr(node, "workeroutput", {}).get(LEFT, 0)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if self.left:
            terminalreporter.write_line(
                f"not begun within {self.minutes:g} minutes: {self.left} tests"
            )


def marks_of(item: pytest.Item) -> set[str]:
    return {mark.name for mark in item.iter_markers()}


def place(marks: set[str], path: str, drawn_by: str) -> tuple[int, str]:
    """Return where a test comes: the quick, the storms and real agents, then files as drawn."""
    if marks & {"storm", "real"}:
        return HARDEST, ""
    if "slow" not in marks and "/journeys/" not in path:
        return FIRST_OF_ALL, ""
    return THE_REST, hashlib.sha256(f"{drawn_by} {Path(path).name}".encode()).hexdigest()


def commit_of(folder: Path) -> str:
    """Return the commit that is checked out; nothing where there is none."""
    words: Sequence[str] = ("git", "-C", str(folder), "rev-parse", "HEAD")
    try:
        return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""
