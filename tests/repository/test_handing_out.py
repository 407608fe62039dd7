"""Which tests one process is given, and which begin first."""

import subprocess
import sys
from pathlib import Path

import pytest
from handing_out import LONG, REAL, TOGETHER, group_of, turn_of

TESTS = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize(
    ("first", "second", "are_together"),
    [
        ("tests/jobs/test_jobs.py::test_one", "tests/jobs/test_jobs.py::test_two[a]", True),
        ("tests/jobs/test_jobs.py::test_one", "tests/jobs/test_leases.py::test_one", False),
        ("tests/journeys/test_start.py::test_one", "tests/journeys/test_start.py::test_two", False),
        ("tests/repository/test_links.py::test_one", "tests/schema/test_kinds.py::test_two", True),
        ("tests/release/test_dist.py::test_one", "tests/real/test_real_installed.py::test", True),
    ],
)
def test_one_process_is_given(first: str, second: str, are_together: bool) -> None:
    assert (group_of(first) == group_of(second)) is are_together


def test_real_agents_go_in_two_groups() -> None:
    files = [f"tests/{path.relative_to(TESTS)}" for path in (TESTS / "real").glob("test_*.py")]
    assert len({group_of(f"{file}::test") for file in files if file not in TOGETHER}) == 2


@pytest.mark.parametrize("begin", [*TOGETHER, REAL, *LONG])
def test_what_is_named_is_there(begin: str) -> None:
    assert (TESTS.parent / begin.removesuffix("::")).exists()


def test_what_takes_long_begins_first_and_files_of_quick_tests_last() -> None:
    storm = turn_of("tests/jobs/test_queue_storm.py::test_one", is_storm=True)
    journey = turn_of("tests/journeys/test_links.py::test_one", is_storm=False)
    quick = turn_of("tests/jobs/test_jobs.py::test_one", is_storm=False)
    assert storm == turn_of(f"{LONG[0]}test_one", is_storm=False) < journey < quick


@pytest.mark.slow
def test_a_file_goes_to_one_process(tmp_path: Path) -> None:
    """xdist asks for the group of a test by a method that is not public."""
    for name in "ab":
        text = "import os, pytest\n@pytest.mark.parametrize('number', range(5))\n"
        text += "def test_it(number): print('ran', __name__, 'in', os.getpid())\n"
        (tmp_path / f"test_{name}.py").write_text(text)
    (tmp_path / "conftest.py").write_text(
        "from handing_out import ByFile\n"
        "def pytest_xdist_make_scheduler(config, log):\n    return ByFile(config, log)\n"
    )
    output = run_two(tmp_path, "-rP")
    ran = [line for line in output.splitlines() if line.startswith("ran ")]
    assert len(ran) == 10, output
    assert len(set(ran)) == 2


def run_two(folder: Path, *words: str) -> str:
    """Run the tests of a folder in two processes; return what is printed."""
    words = ("-n", "2", "--dist", "loadgroup", "--no-loadscope-reorder", *words, "-p", "no:anyio")
    env = {"PYTHONPATH": str(TESTS), "PATH": "/usr/bin:/bin"}
    command = [sys.executable, "-m", "pytest", *words]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


FAILING = """
import pytest

@pytest.fixture
def before(): raise OSError("before")

@pytest.fixture
def after():
    yield
    raise OSError("after")

def test_before(before): pass
def test_after(after): pass
def test_itself(): assert False
def test_skipped(): pytest.skip()
def test_well(): pass
def test_too(): pass
"""
REPORTING = """
from handing_out import OneReport

def pytest_configure(config): config.pluginmanager.register(OneReport())
def pytest_runtest_logreport(report):
    if hasattr(report, "node"):
        print("\\nreported", report.nodeid.partition("::")[2], report.when)
"""


@pytest.mark.slow
def test_a_quick_run_reports_once_what_passes_and_all_that_fails(tmp_path: Path) -> None:
    """xdist sends what it has to say of a test by a method that is not public."""
    (tmp_path / "test_it.py").write_text(FAILING)
    (tmp_path / "conftest.py").write_text(REPORTING)
    output = run_two(tmp_path, "-s")
    assert "1 failed, 3 passed, 1 skipped, 2 errors" in output
    reported = sorted(line[9:] for line in output.splitlines() if line.startswith("reported "))
    assert reported == [
        "test_after call",
        "test_after teardown",
        "test_before setup",
        "test_itself call",
        "test_skipped call",
        "test_too call",
        "test_well call",
    ]
