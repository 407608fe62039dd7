"""No command line, environment or damaged file makes sow say that it has a bug, or hang.

The cases are made of a kept seed and a number (`generator.py`), so each failure can be had again:

    python tests/fuzz/runner.py FOLDER NUMBER NUMBER+1

`SOW_FUZZ=5000` in the environment of pytest runs as many cases; without it the commit draws
200 of them.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from fuzz.amount import chosen_cases
from fuzz.generator import EXCLUDED, SEED, WRITES_BELOW_HOME, make_case
from fuzz.runner import all_commands
from proving import hand_in

RUNNER = Path(__file__).with_name("runner.py")
CASES = chosen_cases()
SIZE = max(1, min(250, len(CASES) // 2))
"""So many cases one test runs."""
SECONDS = 1200.0


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder whose path is short: a case makes sockets, and long names, below it."""
    with tempfile.TemporaryDirectory(prefix="sow-fuzz-") as name:
        yield Path(name)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the runner reads /proc")
@pytest.mark.parametrize("first", CASES[::SIZE])
def test_no_case_finds_a_bug(folder: Path, first: int) -> None:
    last = min(first + SIZE, CASES.stop)
    faults = run_cases(folder, first, last)
    counts = {"cases": last - first, "faults": len(faults)}
    hand_in(f"fuzz, cases {first} to {last - 1}", SEED, counts)
    shown = "\n".join(json.dumps(fault) for fault in faults[:10])
    assert not faults, f"{len(faults)} of {SIZE} cases (seed {SEED}); the first ones:\n{shown}"


def run_cases(folder: Path, first: int, last: int) -> list[dict[str, object]]:
    """Run these cases in a process of their own; return those that went wrong."""
    done = subprocess.run(
        [sys.executable, "-P", str(RUNNER), str(folder), str(first), str(last)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    *faults, summary = [json.loads(line) for line in done.stdout.splitlines()]
    assert summary["ran"] == last - first
    return faults


def test_every_excluded_command_has_a_reason() -> None:
    assert all(EXCLUDED.values())


def test_no_case_writes_below_the_home_of_whoever_runs_it() -> None:
    commands = [command for command in all_commands() if command.words in WRITES_BELOW_HOME]
    assert {command.words for command in commands} == WRITES_BELOW_HOME
    cases = [make_case(number, commands) for number in range(500)]
    assert [case.argv for case in cases if not case.environ.get("HOME", "the arena's")] == []
