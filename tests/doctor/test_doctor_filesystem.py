"""Which file system lies where, and locks that keep nobody out."""

import errno
import fcntl
from pathlib import Path

import pytest
from capabilities import skip_or_fail

from sow.doctor.filesystem import examine_filesystem, lock_fault
from sow.findings import Level
from sow.paths import Workspace
from sow.processes.disks import filesystem_of, is_shared

MOUNTINFO = r"""22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
23 22 0:21 / /proc rw - proc proc rw
40 22 0:40 / /home rw shared:2 - nfs4 server:/home rw,vers=4.2
41 40 0:41 / /home/ann/my\040disk rw - fuse.sshfs ann@host: rw
42 40 0:42 / /home/ann/local rw master:1 propagate_from:2 - xfs /dev/sdb1 rw
43 40 0:43 / /home/ann/local rw - btrfs /dev/sdc1 rw
"""


@pytest.mark.parametrize(
    ("path", "kind", "shared"),
    [
        ("/", "ext4", False),
        ("/homestead/repo", "ext4", False),
        ("/home", "nfs4", True),
        ("/home/ann/repo", "nfs4", True),
        ("/home/ann/my disk/repo", "fuse.sshfs", True),
        ("/home/ann/my", "nfs4", True),
        ("/home/ann/local/repo", "btrfs", False),
    ],
)
def test_the_innermost_mount_counts_and_of_two_the_later(path, kind, shared):
    assert filesystem_of(path, MOUNTINFO) == kind
    assert is_shared(kind) is shared


@pytest.mark.parametrize("kind", ["nfs", "cifs", "9p", "virtiofs", "fuse.rclone"])
def test_what_several_machines_may_see_is_shared(kind):
    assert is_shared(kind)


@pytest.mark.parametrize("kind", ["tmpfs", "overlay", "zfs", "fuseblk", ""])
def test_what_one_machine_has_is_not(kind):
    assert not is_shared(kind)


def test_this_machines_own_file_is_understood(tmp_path: Path):
    mountinfo = Path("/proc/self/mountinfo")
    if not mountinfo.exists():
        skip_or_fail("reads /proc")
    assert filesystem_of("/proc/self", mountinfo.read_text()) == "proc"
    assert filesystem_of(str(tmp_path.resolve()), mountinfo.read_text())


def test_locks_that_hold(tmp_path: Path):
    assert lock_fault(tmp_path) == ""


def test_locks_that_hold_nobody_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(fcntl, "flock", lambda *_: None)
    assert lock_fault(tmp_path) == "two processes held the lock at the same time"


def test_locks_that_there_are_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    assert lock_fault(tmp_path) == "no locks available"


@pytest.mark.parametrize("name", ["run", "run/workers", "run/waiters", "run/jobs"])
def test_a_file_in_the_place_of_a_folder_is_an_error(tmp_path: Path, name: str):
    workspace = Workspace(tmp_path)
    (workspace.sow / name).parent.mkdir(parents=True, mode=0o700)
    assert not [found for found in examine_filesystem(workspace) if found.level is Level.ERROR]
    (workspace.sow / name).write_text("")
    (fault,) = [found for found in examine_filesystem(workspace) if found.level is Level.ERROR]
    assert fault.text == f"{workspace.sow / name} is not a folder, but agents need one there"
    assert fault.remedy == "Move it away: sow creates the folder when it needs it."


def test_a_link_to_nowhere_is_no_folder_either(tmp_path: Path):
    workspace = Workspace(tmp_path)
    workspace.run.mkdir(parents=True, mode=0o700)
    workspace.workers.symlink_to(tmp_path / "gone")
    (fault,) = [found for found in examine_filesystem(workspace) if found.level is Level.ERROR]
    assert str(workspace.workers) in fault.text
