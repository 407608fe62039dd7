"""Bells: hints that are not lost, and locks that tell who lives."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from sow.errors import QueueError
from sow.jobs.doorbell import Bell, is_held, ring, ring_all

HOLDER = (
    "import sys, signal; from pathlib import Path; from sow.jobs.doorbell import Bell\n"
    "bell = Bell(Path(sys.argv[1])); print('hangs', flush=True); signal.pause()"
)


def start_holder(path: Path) -> subprocess.Popen[str]:
    """Start a process that listens to a bell until it is killed."""
    argv = [sys.executable, "-P", "-c", HOLDER, str(path)]
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "hangs\n"
    return process


def test_a_ring_before_the_wait_is_not_lost(tmp_path: Path) -> None:
    bell = Bell(tmp_path / "a.bell")
    ring(bell.path)
    assert bell.wait(60.0)
    bell.close()


def test_without_a_ring_the_wait_ends_by_itself(tmp_path: Path) -> None:
    bell = Bell(tmp_path / "a.bell")
    assert not bell.wait(0.0)
    assert not bell.wait(-1.0)
    bell.close()


def test_a_ring_ends_a_wait_that_is_under_way(tmp_path: Path) -> None:
    bell = Bell(tmp_path / "a.bell")
    heard: list[bool] = []
    listener = threading.Thread(target=lambda: heard.append(bell.wait(60.0)))
    listener.start()
    ring(bell.path)
    listener.join(60)
    assert heard == [True]
    bell.close()


def test_many_rings_are_one(tmp_path: Path) -> None:
    bell = Bell(tmp_path / "a.bell")
    for _ in range(10_000):
        ring(bell.path)
    assert bell.wait(0.0)
    assert not bell.wait(0.0)
    bell.close()


@pytest.mark.slow
def test_more_rings_than_a_pipe_holds_block_nobody(tmp_path: Path) -> None:
    bell = Bell(tmp_path / "a.bell")
    for _ in range(70_000):
        ring(bell.path)
    assert bell.wait(0.0)
    bell.close()


@pytest.mark.parametrize("kind", ["missing", "no listener", "a plain file", "a folder"])
def test_ringing_where_nobody_listens_is_no_error(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "a.bell"
    if kind == "no listener":
        os.mkfifo(path)
    elif kind == "a plain file":
        path.write_text("")
    elif kind == "a folder":
        path.mkdir()
    ring(path)
    ring_all(tmp_path, ".bell")
    ring_all(tmp_path / "missing", ".bell")


def test_ringing_all_rings_those_with_the_suffix(tmp_path: Path) -> None:
    first, second = Bell(tmp_path / "a.bell"), Bell(tmp_path / "b.bell")
    other = Bell(tmp_path / "c.other")
    ring_all(tmp_path, ".bell")
    assert (first.wait(60.0), second.wait(60.0), other.wait(0.0)) == (True, True, False)
    for bell in (first, second, other):
        bell.close()


def test_a_bell_is_for_its_owner_alone_and_goes_with_its_listener(tmp_path: Path) -> None:
    bell = Bell(tmp_path / "a.bell")
    assert bell.path.stat().st_mode & 0o777 == 0o600
    bell.close()
    assert not bell.path.exists()


@pytest.mark.slow
def test_a_bell_has_one_listener(tmp_path: Path) -> None:
    bell = Bell(tmp_path / "a.bell")
    with pytest.raises(BlockingIOError):
        Bell(tmp_path / "a.bell")
    bell.close()


def test_it_is_held_exactly_as_long_as_its_listener_lives(tmp_path: Path) -> None:
    """§8: "A worker's life is a `flock`, not a heartbeat": the kernel frees it at death."""
    path = tmp_path / "a.bell"
    assert not is_held(path)
    process = start_holder(path)
    assert is_held(path)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    assert path.exists()
    assert not is_held(path)


def test_a_stopped_listener_lives(tmp_path: Path) -> None:
    process = start_holder(tmp_path / "a.bell")
    os.kill(process.pid, signal.SIGSTOP)
    assert is_held(tmp_path / "a.bell")
    process.kill()
    process.communicate()


def test_what_a_dead_listener_left_is_listened_to_again(tmp_path: Path) -> None:
    process = start_holder(tmp_path / "a.bell")
    process.kill()
    process.communicate()
    bell = Bell(tmp_path / "a.bell")
    ring(bell.path)
    assert bell.wait(60.0)
    bell.close()


def test_children_do_not_inherit_a_bell(tmp_path: Path) -> None:
    bell = Bell(tmp_path / "a.bell")
    child = subprocess.Popen(["sleep", "60"], close_fds=False)
    os.close(bell.fd)
    held = is_held(bell.path)
    child.kill()
    child.wait()
    assert not held


def test_a_file_in_the_place_of_a_bell_is_not_written_over(tmp_path: Path) -> None:
    file = tmp_path / "state.yaml"
    file.write_bytes(b"task: 1\n")
    (tmp_path / "w1.bell").symlink_to(file)
    ring_all(tmp_path, ".bell")
    assert file.read_bytes() == b"task: 1\n"


def test_a_lock_that_may_not_be_opened_proves_no_death(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Root may open everything, so the system's refusal is made here."""

    def refuse(*_: object, **__: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(QueueError, match="sow cannot see whether its process still runs"):
        is_held(tmp_path / "w1.lock")


@pytest.mark.parametrize("kind", ["loop", "below a file"])
def test_what_no_process_could_hold_is_not_held(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "w1.lock"
    if kind == "loop":
        path.symlink_to(path)
    else:
        path.write_bytes(b"")
        path /= "below"
    assert not is_held(path)
