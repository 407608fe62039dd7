"""Git's folder of a checkout, and what is checked out there: read from git's own files.

Owns gitrepository-layout(5) as far as that. Git is asked only where it keeps the references in
another form (reftable), in which HEAD tells nothing. Imports next to nothing before that: `sow
agent log` passes through here.
"""

import os
from functools import lru_cache
from stat import S_ISDIR

from sow.errors import SowError
from sow.unchanged_files import unchanged

SMALL = 4096
BLANKS = " \t\r\n"
"""What git takes for blanks at the end of a name; others, of Unicode, may be a part of it."""
BRANCH = "ref: refs/heads/"
ELSEWHERE = "ref: refs/heads/.invalid"
"""What HEAD holds where the references are kept in another form: no git can have such a branch."""


def find_git(folder: str) -> tuple[str, str, str]:
    """Return git's folder, the checkout's top and `head_of`, for the checkout that has `folder`.

    `folder` is free of links. All three are empty where there is no checkout.
    """
    top = folder
    while True:
        git = _git_at(top)
        head = head_of(git) if git else ""
        above = top.rpartition("/")[0] or "/"
        if head:
            return git, top, head
        if above == top:
            return "", "", ""
        top = above


def head_of(git: str) -> str:
    """Return what is checked out: `ref: refs/heads/main`, or a commit; empty for no git folder."""
    path = f"{git}/HEAD"
    try:
        link = os.readlink(path)  # noqa: PTH115 - as core.preferSymlinkRefs has it
    except (OSError, ValueError):
        link = ""
    if link.startswith("refs/"):
        return f"ref: {link}"
    text = small_text(path).strip(BLANKS)
    if not text.startswith("ref:"):
        return text
    head = f"ref: {text[4:].lstrip(BLANKS)}"
    return _kept_elsewhere(git) if head == ELSEWHERE else head


def common_dir(git: str) -> str:
    """Return the folder that all working trees of a repository share."""
    common = small_text(f"{git}/commondir").rstrip("\r\n")
    return os.path.join(git, common) if common else git  # noqa: PTH118


def small_text(path: str) -> str:
    """Return the beginning of a file as text, whatever its bytes; empty where there is none."""
    return small_bytes(path).decode("utf-8", "surrogateescape")


def small_bytes(path: str) -> bytes:
    """Return the first bytes of a file; nothing where there is none."""
    return unchanged(lambda: _beginning_of(path), path)


def _beginning_of(path: str) -> bytes:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):  # a damaged file may name a path with a NUL in it
        return b""
    try:
        return os.read(descriptor, SMALL)
    except OSError:
        return b""
    finally:
        os.close(descriptor)


def _git_at(folder: str) -> str:
    """Return git's folder if `folder` is a checkout's top; `.git` may be a file (worktrees)."""
    path = f"{folder}/.git"
    try:
        if S_ISDIR(os.stat(path).st_mode):  # noqa: PTH116
            return path
    except (OSError, ValueError):
        return ""
    text = small_text(path)
    if not text.startswith("gitdir:"):
        return ""
    return os.path.normpath(os.path.join(folder, text[7:].lstrip(" ").rstrip("\r\n")))  # noqa: PTH118


def _kept_elsewhere(git: str) -> str:
    try:
        return _asked(git, small_text(f"{git}/reftable/tables.list"))
    except SowError:
        return ELSEWHERE


@lru_cache(maxsize=16)
def _asked(git: str, _tables: str) -> str:
    """Return what git says is checked out; the list of tables is another one with each change.

    Raises SowError.
    """
    from pathlib import Path

    from sow.git.view import view_of

    view, where = view_of(Path(git)), f"--git-dir={git}"
    name = view.text(where, "symbolic-ref", "--quiet", "HEAD", accepted=(0, 1))
    return f"ref: {name}" if name else view.text(where, "rev-parse", "HEAD")
