"""Every test has a throw-away HOME, and leaves no process of its own behind."""

import gc
import os
import re
import sys
import time
from collections.abc import Collection, Generator, Iterator
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import postgres
import pytest
from handing_out import OneReport, turn_of
from hypothesis import HealthCheck, settings
from own_queue import give_secret
from proving import Case, commit, drawn_cases, few_of, function_of

settings.register_profile("anywhere", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("quick", settings.get_profile("anywhere"), max_examples=10)
settings.register_profile("ci", settings.get_profile("anywhere"), max_examples=30)
settings.load_profile("anywhere")
"""Nothing timed is asserted: a machine may be busy. `make test-quick` asks for `quick`, CI for
`ci`: other examples are made in each run, and `make test` at a desk makes more of them."""

LEAVE_SECONDS = 60.0
"""How long a process that was told to leave may take."""
KEPT = ("PATH", "LANG", "LC_ALL", "TMPDIR", "CI", "TERM")
KEPT_FAMILIES = ("PYTEST_", "COV_")

NUMBERS = count()
"""A number for each folder: finding a free one by itself, pytest looks at all that are there."""
MOST_CASES = 4
"""How many cases of one function the quick run has: the commit draws them. `make test` has all."""
MODULE = re.compile(r"test_\w+\.py")
OF_MODULE = re.compile(r"^pytestmark = (?:\[[^\]]*\]|.*)", re.MULTILINE)
MARK = re.compile(r"pytest\.mark\.(\w+)")
GARBAGE = 50_000
"""So many new objects make Python look for cycles: with its own 700, while sources were parsed, it
spent two thirds of the time on looking."""


def pytest_addoption(parser: pytest.Parser) -> None:
    draws = "run one test of each mark `one_of`, and a few cases of each mark `few`"
    parser.addoption("--draw", action="store_true", help=draws)
    few = f"run {MOST_CASES} cases of a test at most, and report each once"
    parser.addoption("--quick", action="store_true", help=few)


@cache
def marks_left_out(config: pytest.Config) -> frozenset[str]:
    """Return the marks of which the quick run has none; nothing where it is asked another way."""
    words = str(config.getoption("markexpr")).split(" and ")
    names = [word.removeprefix("not ") for word in words]
    is_list = all(word == f"not {name}" for word, name in zip(words, names, strict=True))
    return frozenset(names) if is_list and config.getoption("quick") else frozenset()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Import no file of which the quick run has no test: importing takes most of its start."""
    names = marks_left_out(config)
    if not names or not MODULE.fullmatch(collection_path.name):
        return None
    found = OF_MODULE.search(collection_path.read_text(encoding="utf-8"))
    return True if found and not names.isdisjoint(MARK.findall(found[0])) else None


def pytest_pycollect_makeitem(collector: pytest.Module | pytest.Class, obj: object) -> object:
    """Make no cases of a function of which the quick run has none."""
    names = marks_left_out(collector.config)
    marks = getattr(obj, "pytestmark", ()) if names else ()
    return [] if any(mark.name in names for mark in marks) else None


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> Generator[None, None, None]:
    """Have the longest tests begin first, and leave out what is not drawn.

    Drawn is from what the selection (`-m`, `-k`) has left.
    """
    yield
    if config.getoption("draw"):
        draw(config, items)
    if config.getoption("quick"):
        draw_cases(config, items)
    items.sort(key=lambda item: turn_of(item.nodeid, is_storm=is_storm(item)))


def draw(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave to a run at a desk, or to a proof, what this commit does not draw."""
    cases = [Case(item.nodeid, group_of(item), choice_of(item), most_of(item)) for item in items]
    leave(config, items, drawn_cases(cases, drawn_by=commit()))


def draw_cases(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave all but a few cases of each function to the whole run."""
    functions: dict[str, list[str]] = {}
    for item in items:
        functions.setdefault(function_of(item.nodeid), []).append(item.nodeid)
    few = (few_of(cases, MOST_CASES, drawn_by=commit()) for cases in functions.values())
    leave(config, items, {nodeid for cases in few for nodeid in cases})


def leave(config: pytest.Config, items: list[pytest.Item], left: Collection[str]) -> None:
    """Deselect all but those with these names."""
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in left])
    items[:] = [item for item in items if item.nodeid in left]


def is_storm(item: pytest.Item) -> bool:
    """Whether a test is a storm: long, and drawn already, one seed of each."""
    return item.get_closest_marker("storm") is not None


def group_of(item: pytest.Item) -> str:
    """Return the name of those from which a test is drawn; nothing for one that is always run."""
    mark = item.get_closest_marker("one_of")
    if mark is None:
        return ""
    return mark.args[0] if mark.args else function_of(item.nodeid)


def choice_of(item: pytest.Item) -> str:
    """Return what a test is drawn as: itself, or all that share the second word of their mark."""
    mark = item.get_closest_marker("one_of")
    return ": ".join(mark.args) if mark is not None and len(mark.args) > 1 else item.nodeid


def most_of(item: pytest.Item) -> int | None:
    """Return how many cases of a test's function are drawn; None where all are."""
    mark = item.get_closest_marker("few")
    return int(mark.args[0]) if mark is not None else None


def pytest_configure(config: pytest.Config) -> None:
    gc.set_threshold(GARBAGE)
    if config.getoption("quick"):
        config.pluginmanager.register(OneReport())


def pytest_collection_finish() -> None:
    """Have no look for cycles go through the tests and modules that stay to the end."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> object | None:
    """Hand out quick tests a file at a time, where tests are handed out by their groups."""
    if config.getvalue("dist") != "loadgroup":
        return None
    from handing_out import ByFile

    return ByFile(config, log)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Name a test that fails at once: a run that is cut off prints no summary."""
    if report.failed and hasattr(report, "node") and (stream := sys.__stderr__) is not None:
        stream.write(f"\nFAILED {report.nodeid}\n")
        stream.flush()


def is_kept(name: str) -> bool:
    """Whether a variable of the user's environment is left to the tests."""
    return name in KEPT or name.startswith(KEPT_FAMILIES)


@pytest.fixture(scope="session", autouse=True)
def environment_of_nobody(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Take the user's environment away once: a test then has its own few to take back.

    What is made for several tests is made in a home of nobody's, with the secret of all.
    """
    home = tmp_path_factory.getbasetemp() / "homes/of-all"
    give_secret(home)
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if not is_kept(name)]:
            patch.delenv(name)
        patch.setenv("HOME", str(home))
        yield


@pytest.fixture(autouse=True)
def poisoned_home(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """Give the test a HOME of its own and nothing else of the user's environment."""
    home = tmp_path_factory.getbasetemp() / "homes" / str(next(NUMBERS))
    home.mkdir(parents=True)
    give_secret(home)
    for name in [name for name in os.environ if not is_kept(name)]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    return home


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[postgres.Server]:
    """Start a PostgreSQL server for the tests of this process that ask for one."""
    with postgres.running(*postgres.UNSAFE) as started:
        yield started


@pytest.fixture
def tmp_path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an empty folder of the test's own, as pytest's own fixture does."""
    name = re.sub(r"\W", "_", request.node.name)[:30]
    folder = tmp_path_factory.getbasetemp() / f"{name}{next(NUMBERS)}"
    folder.mkdir(mode=0o700)
    return folder


@pytest.fixture(scope="session")
def pids_seen() -> set[str]:
    """Return who was there after the last test: of those, nobody works in the next one's folder."""
    return set()


@pytest.fixture(autouse=True)
def nothing_left_running(request: pytest.FixtureRequest, pids_seen: set[str]) -> Iterator[None]:
    """Fail a test that leaves a process behind which works in its folder."""
    if "tmp_path" not in request.fixturenames:
        yield
        return
    folder = str(request.getfixturevalue("tmp_path"))
    yield
    deadline = time.monotonic() + LEAVE_SECONDS
    there = _pids()
    while (left := _working_in(folder, there - pids_seen)) and time.monotonic() < deadline:
        time.sleep(0.02)
        there = _pids()
    pids_seen.clear()
    pids_seen.update(there)
    for pid in left:
        os.kill(pid, 9)
    assert not left, f"left running: {[_command(pid) for pid in left] or left}"


def _pids() -> frozenset[str]:
    """Return the names in /proc; where there is none, nothing. Asked after each test: no `Path`."""
    try:
        return frozenset(os.listdir("/proc"))  # noqa: PTH208
    except OSError:
        return frozenset()


def _working_in(folder: str, names: frozenset[str]) -> list[int]:
    """Return which of these processes work in a folder."""
    return [pid for pid in map(int, filter(str.isdigit, names)) if _works_in(pid, folder)]


def _works_in(pid: int, folder: str) -> bool:
    try:
        cwd = os.readlink(f"/proc/{pid}/cwd")  # noqa: PTH115
        if cwd != folder and not cwd.startswith(f"{folder}/"):
            return False
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state not in "ZX" and pid != os.getpid()


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return str(pid)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Show what the storms have counted, and why a test was tried again.

    pytest itself shows this of a test that failed in the end alone.
    """
    for report in terminalreporter.getreports("rerun"):
        terminalreporter.write_sep("_", f"first try: {report.nodeid}")
        terminalreporter.write_line(report.longreprtext)
    for report in terminalreporter.getreports("passed"):
        if "storm" in report.keywords and report.capstdout:
            terminalreporter.write_line(report.capstdout.rstrip())
