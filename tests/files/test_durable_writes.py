"""Whole-file writes and appends, and the ways in which a system refuses them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from capabilities import skip_or_fail

from sow.files import (
    NotWritten,
    append_whole,
    discard_written,
    locked_folder,
    write_atomically,
    write_beside,
)

LIMIT = """
import resource, signal, sys
from pathlib import Path
from sow.errors import StateError
from sow.files import append_whole, write_atomically
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
write = {"whole": write_atomically, "append": append_whole}[sys.argv[1]]
try:
    write(Path(sys.argv[2]), b"x" * 10_000)
except StateError as error:
    print(error.message)
"""


def under_a_limit(kind: str, path: Path) -> str:
    """Write 10,000 bytes where a file may have 4,096, and return the error's message."""
    return subprocess.run(
        [sys.executable, "-P", "-c", LIMIT, kind, str(path)],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()


def test_a_new_file_gets_its_bytes_and_mode(tmp_path):
    write_atomically(tmp_path / "a", b"one", mode=0o640)
    assert (tmp_path / "a").read_bytes() == b"one"
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o640


def test_an_existing_file_keeps_its_mode(tmp_path):
    (tmp_path / "a").write_bytes(b"one")
    (tmp_path / "a").chmod(0o600)
    write_atomically(tmp_path / "a", b"two")
    assert (tmp_path / "a").read_bytes() == b"two"
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o600


def test_an_open_reader_keeps_what_it_opened(tmp_path):
    write_atomically(tmp_path / "a", b"one")
    with (tmp_path / "a").open("rb") as reader:
        write_atomically(tmp_path / "a", b"two")
        assert reader.read() == b"one"


def test_only_the_file_itself_is_left(tmp_path):
    write_atomically(tmp_path / "a", b"one")
    write_atomically(tmp_path / "a", b"two")
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_the_drafts_of_killed_writers_go_under_the_lock(tmp_path):
    path = tmp_path / "state.yaml"
    drafts = [tmp_path / ".state.yaml.1-abcdef.tmp", tmp_path / ".state.yaml.2-abcdef.tmp"]
    others = [tmp_path / ".log.md.1-abcdef.tmp", tmp_path / "state.yaml.invalid-1"]
    for left in (*drafts, *others):
        left.write_bytes(b"half")
    write_atomically(path, b"without the lock")
    assert all(left.exists() for left in drafts)  # somebody else may be writing them
    with locked_folder(tmp_path):
        write_atomically(path, b"with it")
    assert path.read_bytes() == b"with it"
    assert sorted(tmp_path.iterdir()) == sorted([path, *others])


def test_what_was_written_beside_a_file_takes_its_place(tmp_path):
    """It is the very file; nothing is written once more."""
    path = tmp_path / "state.yaml"
    path.write_bytes(b"one")
    path.chmod(0o600)
    with locked_folder(tmp_path):
        written = write_beside(path, b"two")
        assert path.read_bytes() == b"one"
        number = written.stat().st_ino
        write_atomically(path, b"two", written=written)
    assert (path.read_bytes(), path.stat().st_ino) == (b"two", number)
    assert path.stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_what_was_written_beside_a_file_and_was_swept_is_written_anew(tmp_path):
    path = tmp_path / "state.yaml"
    written = write_beside(path, b"two")
    with locked_folder(tmp_path):
        write_atomically(path, b"one")  # it takes the other for a killed writer's
        assert not written.exists()
        write_atomically(path, b"two", written=written)
    assert path.read_bytes() == b"two"


def test_what_was_written_beside_a_file_and_is_not_wanted_goes(tmp_path):
    path = tmp_path / "state.yaml"
    discard_written(write_beside(path, b"two"))
    assert list(tmp_path.iterdir()) == []
    discard_written(tmp_path / "it is gone already")


def test_what_cannot_be_written_beside_a_file_is_told_and_leaves_nothing(tmp_path):
    with pytest.raises(NotWritten):
        write_beside(tmp_path / "no folder" / "state.yaml", b"two")
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_grows_too_large_changes_nothing(tmp_path):
    (tmp_path / "a").write_bytes(b"one")
    message = under_a_limit("whole", tmp_path / "a")
    assert message == f"{tmp_path / 'a'} was not written: file too large"
    assert (tmp_path / "a").read_bytes() == b"one"
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_an_append_that_fails_midway_is_taken_back(tmp_path):
    (tmp_path / "log").write_bytes(b"whole\n")
    message = under_a_limit("append", tmp_path / "log")
    assert message == f"{tmp_path / 'log'} was not written: file too large"
    assert (tmp_path / "log").read_bytes() == b"whole\n"


@pytest.fixture
def tiny_disk(tmp_path):
    """Mount 64 KiB of memory; only root in a full system may."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = (
        os.geteuid() == 0
        and not subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=64k", "sow-test", folder],
            check=False,
            capture_output=True,
        ).returncode
    )
    if not mounted:
        skip_or_fail("mounting a small disk needs root")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


@pytest.mark.parametrize("write", [write_atomically, append_whole])
def test_a_full_disk_is_told_and_changes_nothing(tiny_disk, write):
    (tiny_disk / "a").write_bytes(b"one\n")
    with pytest.raises(NotWritten, match="no space left on device") as caught:
        write(tiny_disk / "a", b"x" * 200_000)
    assert caught.value.path == tiny_disk / "a"
    assert caught.value.hint
    assert (tiny_disk / "a").read_bytes() == b"one\n"
    assert [path.name for path in tiny_disk.iterdir()] == ["a"]


READ_ONLY = """
import os, sys
from pathlib import Path
from sow.errors import StateError
from sow.files import append_whole, write_atomically
if os.geteuid() == 0:
    os.setgid(65534); os.setuid(65534)
for write in (write_atomically, append_whole):
    try:
        write(Path(sys.argv[1]) / "a", b"two")
    except StateError as error:
        print(error.message)
"""


def test_a_read_only_folder_is_told(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "a").write_bytes(b"one")
    (folder / "a").chmod(0o444)
    folder.chmod(0o555)
    for parent in [*folder.parents][:-2]:
        parent.chmod(parent.stat().st_mode | 0o055)
    done = subprocess.run(
        [sys.executable, "-P", "-c", READ_ONLY, str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.splitlines() == [f"{folder / 'a'} was not written: permission denied"] * 2
    assert (folder / "a").read_bytes() == b"one"


@pytest.mark.slow
def test_appends_of_many_processes_do_not_mix(tmp_path):
    script = (
        "import sys; from pathlib import Path; from sow.files import append_whole\n"
        "for _ in range(20): append_whole(Path(sys.argv[1]), sys.argv[2].encode() * 500 + b'\\n')"
    )
    writers = [
        subprocess.Popen([sys.executable, "-P", "-c", script, str(tmp_path / "log"), letter])
        for letter in "abcdef"
    ]
    assert [writer.wait() for writer in writers] == [0] * 6
    lines = (tmp_path / "log").read_text().splitlines()
    assert len(lines) == 120
    assert all(len(line) == 500 and len(set(line)) == 1 for line in lines)
