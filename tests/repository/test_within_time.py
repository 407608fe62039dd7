"""`--begin-within`: what comes first, and that what is not begun is counted and not passed."""

import subprocess
import sys
from pathlib import Path

import pytest
from repository.sources import ROOT
from within_time import place

CONFTEST = """
from within_time import WithinTime, add_option

def pytest_addoption(parser):
    add_option(parser)

def pytest_configure(config):
    config.pluginmanager.register(WithinTime(config.getoption("begin_within"), "a commit"))
"""
TESTS = """
import pytest

@pytest.mark.parametrize("number", range(5))
def test_it(number):
    pass
"""


@pytest.mark.slow
@pytest.mark.parametrize("processes", ["0", "2"])
@pytest.mark.parametrize(
    ("minutes", "summary"), [("10", "5 passed"), ("0", "not begun within 0 minutes: 5 tests")]
)
def test_what_is_not_begun_in_time_is_counted(
    tmp_path: Path, processes: str, minutes: str, summary: str
) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_it.py").write_text(TESTS)
    words = ("-n", processes, "-p", "no:cacheprovider", "--begin-within", minutes, "--rootdir", ".")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *words],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT / "tests"), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert summary in done.stdout, done.stdout + done.stderr
    assert ("passed" in done.stdout) == (minutes != "0")


def test_quick_tests_come_first_then_the_hardest_then_the_rest_as_drawn() -> None:
    quick, storm = (
        place(set(), "/x/tests/jobs/test_a.py", "1"),
        place({"storm"}, "/x/test_b.py", "1"),
    )
    slow, journey = place({"slow"}, "/x/tests/test_c.py", "1"), place(set(), "/journeys/d.py", "1")
    assert quick < storm < min(slow, journey)
    assert quick == place(set(), "/x/tests/jobs/test_z.py", "2"), "they keep their order"
    assert slow != place({"slow"}, "/x/tests/test_c.py", "2"), "another commit, another order"
