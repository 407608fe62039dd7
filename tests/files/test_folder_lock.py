"""The lock of a folder, among real processes."""

import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from sow.errors import ExitCode
from sow.files import FolderMissing, StateLocked, locked_folder

HOLD = """
import sys
from pathlib import Path
from sow.files import locked_folder
with locked_folder(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.readline()
"""

COUNT = """
import sys
from pathlib import Path
from sow.files import locked_folder
folder, rounds = Path(sys.argv[1]), int(sys.argv[2])
for _ in range(rounds):
    with locked_folder(folder, timeout_seconds=60):
        number = int((folder / "number").read_text())
        (folder / "number").write_text(str(number + 1))
"""


def start(script: str, *arguments: str) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-P", "-c", script, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def test_a_held_lock_is_waited_for_and_then_refused(tmp_path):
    with start(HOLD, str(tmp_path)) as holder:
        assert holder.stdout.readline() == "held\n"
        begun = time.monotonic()
        with pytest.raises(StateLocked) as caught, locked_folder(tmp_path, timeout_seconds=0.2):
            pass
        assert time.monotonic() - begun >= 0.2
        assert caught.value.folder == tmp_path
        assert str(tmp_path) in caught.value.message
        assert caught.value.exit_code == ExitCode.STATE
        holder.communicate("go\n")
    with locked_folder(tmp_path, timeout_seconds=0):
        pass


def test_the_lock_ends_with_a_killed_process(tmp_path):
    with start(HOLD, str(tmp_path)) as holder:
        assert holder.stdout.readline() == "held\n"
        holder.kill()
    with locked_folder(tmp_path, timeout_seconds=5):
        pass


def test_the_lock_is_released_when_the_block_raises(tmp_path):
    with pytest.raises(ZeroDivisionError), locked_folder(tmp_path):
        _ = 1 / 0
    with locked_folder(tmp_path, timeout_seconds=0):
        pass


def test_no_lock_file_is_left(tmp_path):
    with locked_folder(tmp_path):
        assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["missing", "file"])
def test_what_is_no_folder_is_named(tmp_path, name):
    (tmp_path / "file").write_text("")
    with pytest.raises(FolderMissing) as caught, locked_folder(tmp_path / name):
        pass
    assert caught.value.folder == tmp_path / name


@pytest.mark.slow
def test_processes_take_turns(tmp_path):
    (tmp_path / "number").write_text("0")
    workers = [start(COUNT, str(tmp_path), "50") for _ in range(6)]
    for worker in workers:
        worker.communicate()
        assert worker.returncode == 0
    assert (tmp_path / "number").read_text() == "300"


def test_a_child_does_not_inherit_the_lock(tmp_path):
    with locked_folder(tmp_path):
        child = subprocess.Popen(["sleep", "30"], cwd=Path("/"), close_fds=False)
    try:
        with locked_folder(tmp_path, timeout_seconds=0):
            pass
    finally:
        child.kill()
        child.wait()


TAKE = """
import sys
from pathlib import Path
from sow.files import FolderMissing, locked_folder
folder = Path(sys.argv[1])
try:
    with locked_folder(folder, timeout_seconds=60):
        (folder / "mine").touch()
except FolderMissing:
    print("missing")
"""


def await_open(process: subprocess.Popen, folder: Path) -> None:
    """Wait until a process has a folder open: it waits for the lock then."""
    deadline = time.monotonic() + 240
    while folder not in opened_by(process.pid):
        assert process.poll() is None
        assert time.monotonic() < deadline


def opened_by(pid: int) -> list[Path]:
    found = []
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(OSError):  # closed in this moment
            found.append(descriptor.readlink())
    return found


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
@pytest.mark.parametrize("has_successor", [True, False])
def test_a_folder_that_was_moved_away_meanwhile_is_not_taken(tmp_path, has_successor):
    folder, gone = tmp_path / "project", tmp_path / "gone"
    folder.mkdir()
    with locked_folder(folder):
        waiter = start(TAKE, str(folder))
        await_open(waiter, folder)
        folder.rename(gone)
        if has_successor:
            folder.mkdir()
    out, _ = waiter.communicate(timeout=240)
    assert out == ("" if has_successor else "missing\n")
    assert [path.name for path in gone.iterdir()] == []
    assert (folder / "mine").exists() is has_successor
