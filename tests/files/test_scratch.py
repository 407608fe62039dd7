"""Temporary folders of ours: gone with their block, and swept once their maker has died."""

import errno
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from sow.files.scratch import KINDS, OURS, scratch_folder, sweep_scratch, temporary_place

HOLD = """
from sow.files.scratch import scratch_folder
with scratch_folder("git") as folder:
    (folder / "objects").symlink_to("{precious}")
    print(folder, flush=True)
    input()
"""


@pytest.fixture
def top(tmp_path, monkeypatch) -> Path:
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return folder


@pytest.fixture
def precious(tmp_path) -> Path:
    folder = tmp_path / "precious"
    folder.mkdir()
    (folder / "file").write_text("kept\n")
    return folder


def holder(precious: Path) -> tuple["subprocess.Popen[str]", Path]:
    """Start a process that works in a temporary folder, which has a link out of it."""
    words = [sys.executable, "-c", HOLD.format(precious=precious)]
    process = subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=dict(os.environ)
    )
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def test_a_folder_lasts_as_long_as_its_block(top):
    with scratch_folder("index") as folder:
        assert (folder.parent, OURS.fullmatch(folder.name) is not None) == (top, True)
        assert sweep_scratch() == []
        (folder / "file").write_text("text")
    assert list(top.iterdir()) == []


@pytest.mark.parametrize(
    "named",
    [
        {},
        {"TMPDIR": "missing", "TEMP": "file", "TMP": "folder"},
        {"TMPDIR": "./folder/../other", "TMP": "folder"},
        {"TMPDIR": "", "TEMP": "folder"},
    ],
)
def test_temporary_folders_lie_where_python_makes_its_own(tmp_path, monkeypatch, named):
    for name in ("folder", "other"):
        (tmp_path / name).mkdir()
    (tmp_path / "file").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", None)
    for variable in ("TMPDIR", "TEMP", "TMP"):
        monkeypatch.delenv(variable, raising=False)
    for variable, value in named.items():
        monkeypatch.setenv(variable, value)
    assert temporary_place() == tempfile.gettempdir()
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["file", "folder", "other"]


def test_a_full_disk_takes_no_temporary_files(top, precious, monkeypatch):
    """Python goes on to the next folder then, and so does this."""
    write, refused = os.write, []

    def refuse(file: int, data: bytes) -> int:
        if not refused:
            refused.append(file)
            raise OSError(errno.ENOSPC, "full")
        return write(file, data)

    monkeypatch.setattr(os, "write", refuse)
    monkeypatch.setenv("TEMP", str(precious))
    assert temporary_place() == str(precious)
    assert list(top.iterdir()) == []


@pytest.mark.slow
def test_what_a_killed_process_has_left_goes_and_nothing_of_the_living(top, precious):
    killed, left = holder(precious)
    living, held = holder(precious)
    try:
        os.kill(killed.pid, signal.SIGKILL)
        killed.communicate()
        assert sweep_scratch() == [left]
        assert (left.exists(), held.exists()) == (False, True)
        assert (precious / "file").read_text() == "kept\n"
    finally:
        living.communicate("\n")
    assert list(top.iterdir()) == []


def test_nothing_else_goes(top, precious):
    (top / "sow-git-abcdefgh.tmp").symlink_to(precious)
    (top / "sow-index-abcdefgh.tmp").write_text("a file")
    for name in ("sow-git-old", "sow-demo-abcdefgh", "sow-report-abc.tmp", "other-abc.tmp"):
        (top / name).mkdir()
    before = sorted(top.iterdir())
    assert sweep_scratch() == []
    assert sorted(top.iterdir()) == before
    assert (precious / "file").exists()


def test_every_temporary_folder_is_made_here():
    """Else a killed process leaves it for ever. Those that stay on purpose are named."""
    on_purpose = {"cli/own_repository.py", "cli/report.py", "cli/root.py"}
    root = Path(__file__).parents[2] / "sow"
    words = ("mkdtemp", "TemporaryDirectory", "NamedTemporaryFile", "mkstemp")
    makers = {
        path.relative_to(root).as_posix()
        for path in root.rglob("*.py")
        if any(word in path.read_text() for word in words)
    }
    assert makers == on_purpose
    assert {"git", "index"} <= set(KINDS)


def test_a_folder_of_another_user_stays(top, monkeypatch):
    (left := top / "sow-git-other.tmp").mkdir()
    monkeypatch.setattr(os, "geteuid", lambda: left.stat().st_uid + 1)
    assert (sweep_scratch(), left.is_dir()) == ([], True)
    monkeypatch.setattr(os, "geteuid", lambda: left.stat().st_uid)
    assert sweep_scratch() == [left]
