"""The refs of a git folder that must not be trusted, read and written as plain files.

No git is started: nothing that stands in the folder's configuration can act.
No link is followed: nothing outside the folder is read or written.
"""

import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from msgspec import Struct

from sow.errors import StateError
from sow.git.head import BLANKS

COMMIT = r"[0-9a-f]{40}(?:[0-9a-f]{24})?"
REF_LIMIT = 4096
"""A ref is a commit's name, or the name of another ref."""
PACKED_LIMIT = 1 << 26
LINKS = 5
"""How many refs may lead to one another; git's own limit."""


class UnsafeClone(StateError):
    """A clone's own git folder is not what sow has made: nothing is read or written there."""

    def __init__(self, path: Path, why: str) -> None:
        self.path = path
        self.why = f"{path} {why}"
        super().__init__(
            f"{path} {why}, so sow does not touch this clone",
            hint="Look at it and move it aside: sow makes the clone again from its branch.",
        )


class Head(Struct, frozen=True):
    """What is checked out: a branch (without `refs/heads/`), a commit, both, or neither."""

    branch: str | None
    commit: str | None


def read_head(git_dir: Path) -> Head:
    """Return what is checked out. Raises UnsafeClone."""
    text = read_text(git_dir, "HEAD", REF_LIMIT) or ""
    if not text.startswith("ref:"):
        return Head(None, _commit(text))
    name = text.removeprefix("ref:").strip(BLANKS)
    branch = name.removeprefix("refs/heads/") if name.startswith("refs/heads/") else None
    return Head(branch, read_ref(git_dir, name))


def read_ref(git_dir: Path, name: str) -> str | None:
    """Return the commit of a ref, such as `refs/heads/main`; None without it. UnsafeClone."""
    if (git_dir / "reftable").exists():
        raise UnsafeClone(git_dir / "reftable", "keeps the branches in another form")
    for _ in range(LINKS):
        if not _is_ref(name):
            return None
        text = read_text(git_dir, name, REF_LIMIT)
        if text is None:
            return _packed(git_dir, name)
        if not text.startswith("ref:"):
            return _commit(text)
        name = text.removeprefix("ref:").strip(BLANKS)
    return None


def is_symbolic(git_dir: Path, branch: str | None) -> bool:
    """Whether a branch is another name of a branch. Raises UnsafeClone."""
    text = None if branch is None else read_text(git_dir, f"refs/heads/{branch}", REF_LIMIT)
    return text is not None and text.startswith("ref:")


def write_branch(git_dir: Path, branch: str, commit: str) -> None:
    """Make a branch name `commit`, whatever it named before. Raises UnsafeClone."""
    _refuse_odd(git_dir, branch)
    write_file(git_dir, f"refs/heads/{branch}", f"{commit}\n".encode())


def check_out_name(git_dir: Path, branch: str) -> None:
    """Make HEAD name a branch; no file of the working tree changes. Raises UnsafeClone."""
    _refuse_odd(git_dir, branch)
    write_file(git_dir, "HEAD", f"ref: refs/heads/{branch}\n".encode())


def remove_file(git_dir: Path, name: str) -> None:
    """Remove a file of the git folder, if it is there. Raises UnsafeClone."""
    *folders, last = name.split("/")
    with suppress(FileNotFoundError), _folder(git_dir, folders) as descriptor:
        os.unlink(last, dir_fd=descriptor)


def _is_ref(name: str) -> bool:
    parts = name.split("/")
    return parts[0] == "refs" and not {"", ".", ".."} & set(parts) and "\0" not in name


def _refuse_odd(git_dir: Path, branch: str) -> None:
    """Raise UnsafeClone for a branch whose name would lead out of the folder of branches."""
    if not _is_ref(f"refs/heads/{branch}") or "\n" in branch:
        raise UnsafeClone(git_dir, f"can have no branch named {branch!r}")


def _commit(text: str) -> str | None:
    word = text.strip(BLANKS)
    return word if re.fullmatch(COMMIT, word) else None


def _packed(git_dir: Path, name: str) -> str | None:
    for line in (read_text(git_dir, "packed-refs", PACKED_LIMIT) or "").split("\n"):
        commit, _, ref = line.partition(" ")
        if ref == name:
            return _commit(commit)
    return None


def read_text(git_dir: Path, name: str, limit: int) -> str | None:
    """Return a regular file of the git folder; None without it. Raises UnsafeClone."""
    *folders, last = name.split("/")
    try:
        with _folder(git_dir, folders) as folder:
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            descriptor = os.open(last, flags, dir_fd=folder)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise UnsafeClone(git_dir / name, f"cannot be read ({error.strerror})") from error
    with os.fdopen(descriptor, "rb") as file:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(mode):
            return None
        if not stat.S_ISREG(mode):
            raise UnsafeClone(git_dir / name, "is no regular file")
        data = file.read(limit + 1)
    if len(data) > limit:
        raise UnsafeClone(git_dir / name, f"is larger than {limit} bytes")
    return data.decode("utf-8", "surrogateescape")


def write_file(git_dir: Path, name: str, data: bytes) -> None:
    """Replace a file of the git folder by renaming. Raises UnsafeClone."""
    *folders, last = name.split("/")
    draft = f".{last[:100]}.{os.urandom(6).hex()}.sow"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        with _folder(git_dir, folders, make=True) as folder:
            descriptor = os.open(draft, flags, 0o644, dir_fd=folder)
            try:
                with os.fdopen(descriptor, "wb") as file:
                    file.write(data)
                    file.flush()
                    os.fsync(descriptor)
                os.rename(draft, last, src_dir_fd=folder, dst_dir_fd=folder)
            except BaseException:
                with suppress(OSError):
                    os.unlink(draft, dir_fd=folder)
                raise
    except OSError as error:
        raise UnsafeClone(git_dir / name, f"cannot be written ({error.strerror})") from error


@contextmanager
def _folder(git_dir: Path, names: list[str], *, make: bool = False) -> Iterator[int]:
    """Open a folder below the git folder step by step, so that no link leads elsewhere."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(git_dir, flags)
    try:
        for name in names:
            if make:
                with suppress(FileExistsError):
                    os.mkdir(name, dir_fd=descriptor)
            deeper = os.open(name, flags, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = deeper
        yield descriptor
    finally:
        os.close(descriptor)
