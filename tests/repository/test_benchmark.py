"""The benchmark's instruments: they can be imported, and they see what they are meant to see."""

import importlib
import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import psutil
import pytest
from repository.markdown import REPOSITORY

from bench.file_events import CREATED, MODIFIED, watching
from bench.importing import Disk, Taken, as_row
from bench.memory import pss_of, running_python
from bench.price import Build, Row, base_build
from bench.syncs import LINE

NEEDS_ITS_OWN_PACKAGES = {"__main__", "plot"}
MODULES = sorted(
    path.stem
    for path in (REPOSITORY / "bench").glob("*.py")
    if path.stem not in NEEDS_ITS_OWN_PACKAGES
)

SPEND = """\
import time
while time.process_time() < 0.2: pass
"""
ORPHAN = f"""\
import os, subprocess, sys
if os.fork() == 0:
    if os.fork() == 0:
        exec({SPEND!r})
    os._exit(0)
os.wait()
"""
MEASURE = f"""\
import subprocess, sys
from bench.processor_time import collecting, spent
with collecting():
    before = spent()
    subprocess.run([sys.executable, "-c", {ORPHAN!r}], check=True)
    print(spent() - before)
"""


@pytest.mark.parametrize("module", MODULES)
def test_every_module_finds_what_it_imports(module: str) -> None:
    importlib.import_module(f"bench.{module}")


@pytest.mark.slow
def test_the_time_of_an_orphan_is_counted() -> None:
    """Its parent ends before it does, and nobody below has waited for it."""
    done = subprocess.run(
        [sys.executable, "-c", MEASURE], cwd=REPOSITORY, check=True, capture_output=True, text=True
    )
    assert float(done.stdout) >= 0.2


def test_a_process_that_has_ended_since_it_was_listed_weighs_nothing() -> None:
    """One has been waited for, one not yet, and one still runs."""
    words = [sys.executable, "-c", "input()"]
    with ExitStack() as stack:
        made = [
            stack.enter_context(subprocess.Popen(words, stdin=subprocess.PIPE)) for _ in range(3)
        ]
        listed = [psutil.Process(process.pid) for process in made]
        stack.callback(made[2].kill)
        for process in made[:2]:
            process.kill()
        made[0].wait()
        os.waitid(os.P_PID, made[1].pid, os.WEXITED | os.WNOWAIT)
        assert running_python(listed) == listed[2:]
        assert pss_of(listed[:2]) == 0
        assert pss_of(listed) > 0


def test_a_change_and_a_new_file_are_seen(tmp_path: Path) -> None:
    written, made = tmp_path / "written", tmp_path / "made"
    written.mkdir()
    made.mkdir()
    (written / "queue.db-wal").touch()
    with watching((written, MODIFIED), (made, CREATED)) as events:
        (written / "queue.db-wal").write_bytes(b"1")
        first = list(events.next(10.0))
        (made / "0010").touch()
        second = list(events.next(10.0))
    assert {(kind, name) for _, kind, name in first} == {(MODIFIED, "queue.db-wal")}
    assert [(kind, name) for _, kind, name in second] == [(CREATED, "0010")]
    assert first[0][0] <= second[0][0]


def test_a_sync_is_counted_once_though_another_process_comes_between() -> None:
    log = (
        "12 1700000000.100000 fsync(3 <unfinished ...>\n"
        "13 1700000000.200000 fdatasync(4)     = 0\n"
        "12 1700000000.300000 <... fsync resumed>) = 0\n"
        "13 1700000000.400000 +++ exited with 0 +++\n"
    )
    assert LINE.findall(log) == [("1700000000.100000", "fsync"), ("1700000000.200000", "fdatasync")]


def test_another_build_is_the_one_that_is_installed_in_its_checkout(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"No sow is installed in .*make \.bench/\.ready"):
        base_build(tmp_path)
    program = tmp_path / ".venv/bin/sow"
    program.parent.mkdir(parents=True)
    program.touch()
    assert base_build(tmp_path) == Build("base", program)


@pytest.mark.parametrize(
    ("row", "held"),
    [
        (Row("a", "1", bar="≤ 2", held=True), "yes"),
        (Row("a", "3", bar="≤ 2", held=False), "NO"),
        (Row("a", "3", bar="≤ 0.4 × base"), "?"),
        (Row("a", "3"), ""),
    ],
)
def test_a_row_says_whether_its_bar_holds(row: Row, held: str) -> None:
    assert row.cells()[-1] == held


@pytest.mark.parametrize(("seconds", "held"), [(2.3, True), (2.5, False)])
def test_an_import_is_held_against_a_file_for_each_task(seconds: float, held: bool) -> None:
    """How much longer it takes than one file is told too, without a bar."""
    row = as_row(1_200, {"this build": [Taken(seconds, 1.0)]}, [Disk(700_000, 0.002, 0.8)])
    assert row.held is held
    assert f"{seconds / 0.8:.1f} × a file each, {seconds / 0.002:.0f} × one;" in row.measured
