"""The copies themselves: made with every write of ours, and compared at every read.

Owns what lies in the store: a copy of each file, and for all but logs the list
of the versions that were seen (a hash, and the commit that HEAD named). A copy
guards against git, not against a loss of power, so none of these writes is
waited for, and one that fails changes nothing for the caller: `sow doctor`
tells of a store that cannot be written.
"""

import errno
import os
import stat
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from sow.state.kept.store import Checkout, Kept, kept_for
from sow.unchanged_files import SETTLED_SECONDS

LARGEST = 16 * 1024 * 1024
"""Larger files are left to themselves."""
MOST_BRANCHES = 24
"""Of so many branches and checked-out commits the copies are kept; the rest, oldest first, go."""
SMALL = 65_536
END = 512
"""As much of a log's end as tells its last entry."""
PAGE = 4096
"""The smallest page of any machine, in bytes."""
LOG = "log.md"
BACK_NS = 10**18
"""Some thirty years. A copy that bears so early a time was compared with its file."""
UNREADABLE = object()
"""What is there is no regular file of a usual size; the keeper has nothing to say of it."""


def wrote(path: Path, data: bytes, *, before: bytes = b"") -> None:
    """Keep `data`, which now stands in `path`; the caller holds the lock of its folder.

    `before` is what it replaced: an earlier version, though somebody else may have written it.
    """
    kept = kept_for(path)
    if kept is not None:
        keep(kept, kept.name(path), data, before=before)


def keep(
    kept: Kept, name: str, data: bytes, *, before: bytes = b"", is_listed: bool = False
) -> None:
    """Make `data` the newest copy of a file; `is_listed`: its version is listed already."""
    with suppress(OSError):
        is_log = name.endswith(LOG)
        # First: a version that is listed twice harms nobody.
        if not is_listed and not is_log:
            _note(kept, name, data, before)
        if is_log or not _is_written_over(kept.copy(name), data):
            write(kept, kept.copy(name), data)


def list_new(kept: Kept, files: Mapping[str, bytes]) -> set[str]:
    """List the versions of many new files, given by name, in one write; return those names.

    A file that was kept before has a list of its own, in which its newest version has to be last.
    """
    names = [name for name in files if not name.endswith(LOG) and size_of(kept.versions(name)) < 0]
    commit = kept.checkout.commit.encode("ascii", "replace")
    lines = (
        b"%b %b %b\n" % (os.fsencode(name), digest(files[name]).encode(), commit) for name in names
    )
    data = b"\n" + b"".join(lines)  # what is before it may have been torn
    if max(0, size_of(kept.first_versions)) + len(data) > LARGEST:
        return set()
    try:
        with _opened(kept, kept.first_versions, os.O_APPEND) as descriptor:
            is_whole = os.write(descriptor, data) == len(data)
    except OSError:
        return set()
    return set(names) if is_whole else set()


def appended(path: Path, piece: bytes, size: int) -> None:
    """Keep what was added to a log that had `size` bytes; the caller holds its folder's lock."""
    kept = kept_for(path)
    if kept is None:
        return
    name = kept.name(path)
    # It may have been taken since its size was asked for, even while the piece was written.
    if size_of(kept.copy(name)) == size and size_of(str(path)) == size + len(piece):
        with suppress(OSError), _opened(kept, kept.copy(name), os.O_APPEND) as descriptor:
            os.write(descriptor, piece)
        return
    whole, copy = read(str(path)), read(kept.copy(name))
    if whole is None:
        whole = b""
    if not isinstance(whole, bytes):
        return
    if isinstance(copy, bytes) and _was_taken(kept, name, whole.removesuffix(piece), copy):
        with suppress(OSError):
            _note(kept, name, whole, b"")
        keep(kept, name, copy + piece)
    else:
        keep(kept, name, whole)


def _was_taken(kept: Kept, name: str, log: bytes, copy: bytes) -> bool:
    """Whether a log was taken to an earlier version since it was looked at, and only added to.

    Such versions are listed, so that the next look knows them; of a log no others are.
    """
    if len(log) < len(copy) and copy.startswith(log):
        return True
    return any(digest(log) == version for version, _ in versions(kept, name))


def agrees(kept: Kept, name: str, data: bytes | None) -> bool:
    """Whether `data`, what stands in a file (None: it is missing), is what was kept last.

    A file of which there is no copy agrees with whatever it holds.
    """
    copy = read(kept.copy(name))
    return copy is None or copy is UNREADABLE or copy == data


def is_marked(copy: str, facts: os.stat_result) -> bool:
    """Whether a copy says that it was compared with its file as that stands, and was the same."""
    try:
        kept = os.stat(copy)  # noqa: PTH116
    except OSError:
        return False
    return (kept.st_mtime_ns, kept.st_size) == (_mark(facts), facts.st_size)


def mark(copy: str, facts: os.stat_result) -> None:
    """Have a copy say that it is the same as its file. `facts` were read before file and copy.

    It does nothing where the file was changed a moment ago: another change in the same tick of the
    file system's clock would leave the same facts.
    """
    if facts.st_ctime_ns < time.time_ns() - SETTLED_SECONDS * 10**9:
        with suppress(OSError):
            os.utime(copy, ns=(_mark(facts), _mark(facts)))


def _mark(facts: os.stat_result) -> int:
    """Return the time of modification of a copy that was compared: no copy has it by itself.

    It tells when its file was changed at last, which nobody can set. Two moments that are equal
    are one, however a clock was set meanwhile.
    """
    return facts.st_ctime_ns - BACK_NS


def forget(kept: Kept, name: str) -> None:
    """Keep a file no longer: it was removed while nothing lived."""
    for path in (kept.copy(name), kept.versions(name)):
        with suppress(OSError):
            os.unlink(path)  # noqa: PTH108
            os.removedirs(os.path.dirname(path))  # noqa: PTH120 - as far as they are empty


def forget_project(kept: Kept) -> None:
    """Keep nothing of a project any longer: it was ended, and nobody may put it back."""
    # Once for each project.
    from shutil import rmtree

    rmtree(kept.folder, ignore_errors=True)


def forget_checkout(root: Path) -> None:
    """Keep nothing of a folder any longer that is removed with all of its projects.

    In a repository the copies lie in git's folder, which is its owner's.
    """
    from shutil import rmtree  # as above

    checkout = Checkout(root)
    if not checkout.git:
        rmtree(checkout.branch_folder, ignore_errors=True)


def read(path: str) -> object:
    """Return the bytes of a regular file; None where there is none, UNREADABLE for all else."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError:
        return UNREADABLE
    try:
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode) or facts.st_size > LARGEST:
            return UNREADABLE
        return _whole(descriptor, facts.st_size)
    except OSError:
        return UNREADABLE
    finally:
        os.close(descriptor)


def _whole(descriptor: int, size: int) -> bytes:
    data = os.read(descriptor, size + 1)
    while len(data) > size and (part := os.read(descriptor, SMALL)):  # it grows meanwhile
        data += part
    return data


def size_of(path: str) -> int:
    """Return the size of a file in bytes; -1 where there is none."""
    try:
        return os.stat(path).st_size  # noqa: PTH116
    except OSError:
        return -1


def end_of(path: str) -> tuple[int, bytes] | None:
    """Return the size of a file and its last bytes; None where there is none."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        size = os.fstat(descriptor).st_size
        return size, os.pread(descriptor, END, max(0, size - END))
    except OSError:
        return None
    finally:
        os.close(descriptor)


def digest(data: bytes) -> str:
    """Return the short name of a version."""
    from sow.digest import sha256  # an entry in a log needs none

    return str(sha256(data).hexdigest()[:32])


def versions(kept: Kept, name: str) -> list[tuple[str, str]]:
    """Return the versions of a file that were seen, each with the commit of that time."""
    own = read(kept.versions(name))
    lines = [*_listed_first(kept, name), *(own.splitlines() if isinstance(own, bytes) else [])]
    found = (line.decode("ascii", "replace").partition(" ") for line in lines)
    return [(version, commit) for version, _, commit in found]


def _listed_first(kept: Kept, name: str) -> list[bytes]:
    data = read(kept.first_versions)
    if not isinstance(data, bytes):
        return []
    import re  # an entry in a log needs none

    beginning = re.escape(os.fsencode(name))
    return re.findall(rb"(?m)^%b (.*)$" % beginning, data)


def _note(kept: Kept, name: str, data: bytes, before: bytes) -> None:
    path = kept.versions(name)
    commit = kept.checkout.commit
    lines = [digest(data)]
    if before and size_of(path) <= 0:
        lines.insert(0, digest(before))
    with _opened(kept, path, os.O_APPEND) as descriptor:
        os.write(
            descriptor, "".join(f"{line} {commit}\n" for line in lines).encode("ascii", "replace")
        )


def write(kept: Kept, path: str, data: bytes) -> None:
    """Write a file of the store beside the old one and put it in place. Raises OSError.

    A reader sees one or the other. What could not be written takes no room of a full disk.
    """
    temporary = f"{path}.{os.getpid()}-{os.urandom(4).hex()}.tmp"
    try:
        with _opened(kept, temporary, os.O_TRUNC) as descriptor:
            view = memoryview(data)
            while view:
                view = view[os.write(descriptor, view) :]
        os.replace(temporary, path)  # noqa: PTH105
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)  # noqa: PTH108
        raise


def _is_written_over(path: str, data: bytes) -> bool:
    """Write over a copy by one write(2), where that is done whole or not at all; tell whether.

    So it is within the first page of a file that becomes no shorter. A rename costs a new inode
    and the end of the old one, and has ext4 write the file to disk at once (auto_da_alloc). Whoever
    reads the copy meanwhile, without the lock of the file's folder, may see neither text; what does
    not agree is read again with it.
    """
    flags = os.O_WRONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY | os.O_NOFOLLOW
    try:
        descriptor = os.open(path, flags)
    except OSError:
        return False
    try:
        facts = os.fstat(descriptor)
        is_whole = stat.S_ISREG(facts.st_mode) and 0 < facts.st_size <= len(data) <= PAGE
        return is_whole and os.write(descriptor, data) == len(data)
    except OSError:
        return False
    finally:
        os.close(descriptor)


@contextmanager
def _opened(kept: Kept, path: str, flags: int) -> Iterator[int]:
    """Open a file of the store for writing; its folders are made when they are missing.

    Never waits: a pipe that lies there would hold up whoever settles a job, with all its locks.
    """
    flags |= os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
    try:
        descriptor = os.open(path, flags, 0o600)
    except FileNotFoundError:
        _make_room(kept)
        _make_folders(os.path.dirname(path))  # noqa: PTH120
        descriptor = os.open(path, flags, 0o600)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "not a regular file", path)
        yield descriptor
    finally:
        os.close(descriptor)


def _make_folders(folder: str) -> None:
    """Make a folder and those above it that are missing, each for its owner alone."""
    try:
        os.mkdir(folder, 0o700)  # noqa: PTH102
    except FileNotFoundError:
        _make_folders(os.path.dirname(folder))  # noqa: PTH120
        os.mkdir(folder, 0o700)  # noqa: PTH102
    except FileExistsError:
        return


def _make_room(kept: Kept) -> None:
    """Before a branch is kept for the first time: remove those that were not for the longest."""
    branch = kept.checkout.branch_folder
    if os.path.isdir(branch):  # noqa: PTH112
        return
    with suppress(OSError):
        with os.scandir(os.path.dirname(branch)) as entries:  # noqa: PTH120
            prefix = os.path.basename(branch).partition("@")[0] + "@"  # noqa: PTH119
            ours = [entry for entry in entries if entry.name.startswith(prefix)]
        ours.sort(key=lambda entry: entry.stat().st_mtime_ns)
        for entry in ours[: max(0, len(ours) - MOST_BRANCHES + 1)]:
            import shutil  # heavy, and rarely needed

            shutil.rmtree(entry.path, ignore_errors=True)
