"""Pipes, sockets and devices of a clone that would keep git waiting, taken out of its way.

They hold no work. Where one has the place of a file that git reads, the file is
put back as the clone's commit has it, by one rename: whoever comes after a kill
finds the one or the other, never a file that seems to have been removed.
"""

import os
from contextlib import suppress
from pathlib import Path

from sow.files import NotWritten
from sow.git.inert_refs import read_head
from sow.git.private_view import private_view, real_git_dir
from sow.git.repository import Repository
from sow.git.special_files import special_lists, special_objects
from sow.git.view import View

DRAFT = "put-back.sow"
"""In the clone's git folder, where nobody takes it for a part of the work."""


def clear_special_files(clone: Path, main: Repository) -> tuple[str, ...]:
    """Take away what git would wait for in a clone; return what it was, relative to its top.

    No process may be at work in the clone. Raises UnsafeClone, GitRefused, NotWritten.
    """
    git_dir = real_git_dir(clone)
    objects = list(special_objects(git_dir / "objects"))
    for path in objects:
        _remove(path)
    lists = list(special_lists(clone))
    if lists:
        commit = read_head(git_dir).commit
        with private_view(clone, main, with_special_files=True) as view:
            for path in lists:
                data = _committed(view, commit, path)
                if data is None:
                    _remove(path)
                else:
                    _put_back(path, data, git_dir / DRAFT)
    return tuple(os.path.relpath(path, clone) for path in (*objects, *lists))


def _committed(view: View, commit: str | None, path: Path) -> bytes | None:
    """Return what a commit has at a path; None where it has nothing."""
    if commit is None:
        return None
    name = os.path.relpath(path, view.folder)
    code, data, _ = view.answer("cat-file", "blob", f"{commit}:{name}")
    return data if code == 0 else None


def _put_back(path: Path, data: bytes, draft: Path) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        with suppress(FileNotFoundError):
            draft.unlink()  # what a kill, or an agent, has left there
        with os.fdopen(os.open(draft, flags, 0o644), "wb") as file:
            file.write(data)
        draft.replace(path)
    except OSError as error:
        raise NotWritten(path, error) from error


def _remove(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise NotWritten(path, error) from error
