"""Whoever makes a clone is killed, or is not alone: the second try is clean."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from capabilities import skip_or_fail
from clones.clone_site import plain
from clones.killed import steps_of
from clones.making_site import beside, make_home
from proving import drawn

from sow.clones.locks import CloneLocked, locked_place
from sow.clones.mark import Stage, own_mark

pytestmark = pytest.mark.slow  # process after process

STEPS = (
    "draft begun",
    "objects cloned",
    "settings taken",
    "branch begun",
    "checked out",
    "mark written",
    "put in place",
    "files copied",
)
TESTS = Path(__file__).parents[1]

MAKER = """
import os, signal, sys
from pathlib import Path
from clones.killed import steps_of
from clones.making_site import Home
from sow.config.clones import CloneSettings
from sow.paths import Workspace

home = Home(Workspace(Path(sys.argv[1])), CloneSettings(copy=(".env",)))

def step(name):
    if name == sys.argv[2]:
        if len(sys.argv) > 3:  # wait to be killed, or to be let go
            print("there", flush=True)
            sys.stdin.readline()
        else:
            os.kill(os.getpid(), signal.SIGKILL)

made = home.make(step=step)
print(made.is_new, flush=True)
"""


@pytest.fixture
def home(tmp_path):
    made = make_home(tmp_path, tasks=1)
    (made.top / ".env").write_text("KEY=1\n")
    return made.with_settings(copy=(".env",))


def start(home, *arguments: str) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-c", MAKER, str(home.workspace.root), *arguments],
        env={**os.environ, "PYTHONPATH": f"{TESTS}{os.pathsep}{TESTS.parent}"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def ended(process: subprocess.Popen) -> str:
    output, _ = process.communicate(timeout=240)
    return output


def test_these_are_all_the_windows(home):
    assert steps_of(lambda step: home.make(step=step)) == STEPS


@pytest.mark.parametrize("step", drawn(*STEPS))
def test_killed_after_each_step(home, step):
    killed = start(home, step)
    ended(killed)
    assert killed.returncode == -signal.SIGKILL
    place = home.place()
    mark = own_mark(place)
    assert mark is None or mark.stage == Stage.MADE
    assert place.path.exists() is (step in ("put in place", "files copied"))

    made = home.make()

    assert made.is_new
    assert made.is_whole
    assert beside(place) == [".lock-010", "010"]
    assert (place.path / ".env").read_text() == "KEY=1\n"
    assert made.mark.copied == (".env",)
    assert plain(place.path, "status", "--porcelain") == ""
    plain(place.path, "fsck", "--strict")
    plain(home.top, "fsck", "--strict")


def test_of_two_makers_one_makes_and_the_other_finds(home):
    first = start(home, "checked out", "wait")
    assert first.stdout.readline() == "there\n"
    second = start(home, "never")
    with pytest.raises(CloneLocked), locked_place(home.place(), timeout_seconds=0.0):
        pass
    assert second.poll() is None
    first.stdin.write("\n")
    first.stdin.flush()
    assert ended(first) == "True\n"
    assert ended(second) == "False\n"
    assert beside(home.place()) == [".lock-010", "010"]


def test_a_maker_that_dies_hands_over_to_the_one_that_waits(home):
    first = start(home, "checked out", "wait")
    assert first.stdout.readline() == "there\n"
    second = start(home, "never")
    first.kill()
    first.communicate()
    assert ended(second) == "True\n"
    assert beside(home.place()) == [".lock-010", "010"]


def test_an_error_in_the_middle_leaves_nothing(home):
    def fail(name):
        if name == "checked out":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        home.make(step=fail)
    assert beside(home.place()) == [".lock-010"]


def test_a_full_disk_is_told_and_leaves_nothing(tmp_path):
    """A file system of 2 MB in a mount namespace of our own, and a repository of more."""
    script = f"""
set -e
mount -t tmpfs -o size=2m none '{tmp_path}/small'
exec '{sys.executable}' -c "$FULL" '{tmp_path}'
"""
    program = """
import os, sys
from pathlib import Path
from clones.killed import steps_of
from clones.making_site import beside, commit, make_home
from sow.errors import SowError
folder = Path(sys.argv[1])
home = make_home(folder, tasks=1).with_settings(folder=str(folder / "small"))
(home.top / "big").write_bytes(os.urandom(4_000_000))
commit(home.top, "other", "x")
__import__("subprocess").run(["git", "add", "big"], cwd=home.top, check=True)
__import__("subprocess").run(["git", "commit", "-qm", "big"], cwd=home.top, check=True)
try:
    home.make()
except SowError as error:
    print(error.message.splitlines()[-1], beside(home.place()))
"""
    (tmp_path / "small").mkdir()
    done = subprocess.run(
        ["unshare", "--map-root-user", "--mount", "sh", "-c", script],
        env={
            **os.environ,
            "FULL": program,
            "PYTHONPATH": f"{TESTS}{os.pathsep}{TESTS.parent}",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode and "mount" in done.stderr + done.stdout:
        skip_or_fail(f"no file system can be mounted here: {done.stderr.strip()}")
    assert "No space left on device" in done.stdout, done.stderr
    assert done.stdout.endswith("['.lock-010']\n")
