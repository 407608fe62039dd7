"""Which disk a folder lies on: one of this machine, or one that other machines see as well.

Owns the list of file systems that are shared, and reads where each lies from
/proc/self/mountinfo, where there is one (proc_pid_mountinfo(5)). It matters
twice: locks cannot be relied on where a disk is shared, and on a disk of this
machine whatever an earlier boot has begun is over, for one kernel at a time has it.
"""

import os
import re
from pathlib import Path

MOUNTINFO = Path("/proc/self/mountinfo")
NETWORK = frozenset(
    {
        *("9p", "afs", "beegfs", "ceph", "cifs", "coda", "davfs", "glusterfs", "gpfs", "lustre"),
        *("ncpfs", "nfs", "nfs4", "ocfs2", "orangefs", "prl_fs", "smb3", "smbfs", "vboxsf"),
        *("virtiofs", "vmhgfs"),
    }
)
"""Other machines, or the host of this one, see such files as well; all `fuse.*` besides."""


def is_local(folder: Path) -> bool:
    """Whether a folder lies on a disk that only this machine has; false where nobody can tell."""
    kind = _kind_of(folder)
    return bool(kind) and not is_shared(kind)


def is_on_shared_disk(folder: Path) -> bool:
    """Whether other machines see a folder as well; false where nobody can tell."""
    return is_shared(_kind_of(folder))


def _kind_of(folder: Path) -> str:
    try:
        return filesystem_of(os.path.realpath(folder), MOUNTINFO.read_text("utf-8", "replace"))
    except (OSError, ValueError):
        return ""


def filesystem_of(path: str, mountinfo: str) -> str:
    """Return the type of the file system that `path`, absolute and without links, lies on."""
    best, found = "", ""
    for line in mountinfo.splitlines():
        before, _, after = line.partition(" - ")
        point = re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), before.split(" ")[4])
        inside = path == point or path.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(best):  # of two at one place, the later lies on top
            best, found = point, after.split(" ")[0]
    return found


def is_shared(kind: str) -> bool:
    """Whether a file system is one that SQLite's locks cannot be trusted on."""
    return kind in NETWORK or kind.startswith("fuse.")
