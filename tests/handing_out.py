"""Which tests a process of xdist is given together, and in which order they begin.

`--dist loadgroup` gives each test away by itself, and after each test counts through all that were
given away: for six thousand tests that takes seven seconds of a processor. What takes a moment
goes a file at a time, so that what a module makes once is made in one process. A journey takes
seconds or minutes, and goes by itself. Real agents go in two groups.

What takes long begins first, and files of quick tests come last: they leave no processor idle.
xdist's own mark of a group is no help: with pytest 9.2 it changes nothing.
"""

from collections.abc import Mapping
from typing import Any
from zlib import crc32

import pytest
from xdist.scheduler import LoadGroupScheduling

BY_THEMSELVES = ("tests/journeys/", "tests/fuzz/", "tests/containers/")
TOGETHER = {
    "tests/repository/": "sources",
    "tests/schema/test_kinds.py": "sources",
    "tests/release/": "release",
    "tests/real/test_real_installed.py": "release",
    "tests/journeys/test_prompts_followed.py": "prompts followed",
}
"""What begins so goes to one process: it parses the sources once, builds once, or runs once what
all of its tests look at."""
LONG = tuple(
    f"tests/{name}.py::"
    for name in (
        "journeys/test_zero_context",
        "fuzz/test_closed_streams",
        "fuzz/test_fuzz_commands",
        "journeys/test_hints",
        "journeys/test_hostile_author",
        "journeys/test_tutorial",
        "journeys/test_mcp_delivery",
        "journeys/test_task_import",
        "journeys/test_overnight_page",
        "journeys/test_start",
        "journeys/test_executor_compare",
        "acp/test_acp_run",
        "doctor/test_doctor_repository",
        "executors/test_new_executor_page",
    )
)
"""What has a test of 15 s and more, or is a file of 30 s and more. It begins before other tests, or
one processor would be left with it at the end."""
REAL = "tests/real/"
REAL_AT_ONCE = 2
"""How many real agents are at work at most: each loads a processor for seconds when it starts."""


class ByFile(LoadGroupScheduling):
    """Hands tests out by their groups, and those without a group by their files."""

    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid)


class OneReport:
    """A plugin: each process of xdist reports a test that passed once.

    xdist sends six messages of each test, and a quick test takes hardly more than they do. What
    failed, or was skipped, is reported as ever.
    """

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        for plugin in session.config.pluginmanager.get_plugins():
            if hasattr(plugin, "sendevent"):
                plugin.sendevent = _only_what_counts(plugin.sendevent)

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_to_serializable(self, report: Any) -> dict[str, Any] | None:
        is_around = getattr(report, "when", None) in ("setup", "teardown")
        return {} if is_around and report.passed else None


def _only_what_counts(send: Any) -> Any:
    def sendevent(name: str, **facts: Any) -> None:
        report: Mapping[str, Any] = facts.get("data", {})
        is_empty = name == "testreport" and "nodeid" not in report
        if name not in ("logstart", "logfinish") and not is_empty:
            send(name, **facts)

    return sendevent


def group_of(nodeid: str) -> str:
    """Return the name of those that go to one process with a test."""
    for begin, name in TOGETHER.items():
        if nodeid.startswith(begin):
            return name
    if nodeid.startswith(BY_THEMSELVES):
        return nodeid
    file = nodeid.partition("::")[0]
    return f"{REAL}{crc32(file.encode()) % REAL_AT_ONCE}" if file.startswith(REAL) else file


def turn_of(nodeid: str, *, is_storm: bool) -> int:
    """Return when a test begins: those with a lower number are handed out before."""
    if is_storm or nodeid.startswith((REAL, *LONG)):
        return 0
    return 1 if nodeid.startswith(BY_THEMSELVES) or group_of(nodeid) in TOGETHER.values() else 2
