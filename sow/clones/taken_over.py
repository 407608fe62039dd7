"""What a fresh clone takes over from its repository besides commits: settings, remote, large files.

What works in the repository's root is meant to work in the clone. Owns what is
taken, and that `origin` is the user's real remote, to which nothing is pushed.
"""

import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from sow.files import NotWritten, read_if_there, write_atomically
from sow.git.repository import Repository
from sow.git.run import git
from sow.git.settings_text import LOCAL, Setting, add_settings, settings_of
from sow.git.view import view_of

PUSHING_IS_OFF = "pushing-is-off-in-the-clone-of-a-task"
"""Stands for the address to push to; git complains that it is no repository."""
TAKEN = re.compile(
    r"(?:user|author|committer|filter|lfs|diff|merge|http|url|credential)\."
    r"|core\.(?:autocrlf|eol|safecrlf|attributesfile|excludesfile|longpaths|sshcommand"
    r"|precomposeunicode|checkroundtripencoding|bigfilethreshold)$"
)
"""The settings of a repository's own that make commands work; no hook, alias or include is one."""
REMOTE = re.compile(r"remote\..+\.[^.]+$", re.DOTALL)
EXCLUDE_LIMIT = 1 << 20


def copy_settings(draft: Path, repository: Repository) -> None:
    """Give a fresh clone the settings, the remote and the large files of its repository.

    `origin` is the repository's own remote then, and every ref that came with
    the clone is gone. Without a remote the clone has none either. Raises
    GitRefused, NotWritten.
    """
    settings = settings_of(view_of(repository.top))
    remote = _remote(repository, settings)
    _forget_origin(draft, repository)
    taken = [
        (name, value) for scope, name, value in settings if scope == LOCAL and TAKEN.match(name)
    ]
    try:
        add_settings(draft, [*_of_remote(repository, settings, remote), *taken])
    except OSError as error:
        raise NotWritten(draft, error) from error
    if remote is not None:
        _take_remote_branch(draft, repository, remote)
    link_large_files(draft, repository)


def _forget_origin(draft: Path, repository: Repository) -> None:
    """Drop the refs that came with a clone, and what its settings say of where it is from."""
    refs = git(draft, "for-each-ref", "--format=delete %(refname)")
    if refs:
        git(draft, "update-ref", "--no-deref", "--stdin", stdin=f"{refs}\n".encode())
    text = (draft / ".git" / "config").read_bytes()
    sections = ["remote.origin"] if b'[remote "origin"]' in text else []
    if repository.branch and b"[branch " in text:
        sections.append(f"branch.{repository.branch}")
    for section in sections:
        git(draft, "config", "--remove-section", section, accepted=(0, 128))


def _of_remote(
    repository: Repository, settings: Sequence[Setting], remote: str | None
) -> list[tuple[str, str]]:
    """Return the settings of `origin`, which stands for the repository's own remote."""
    if remote is None:
        return []
    found = {
        "url": _absolute(_value(settings, f"remote.{remote}.url"), repository),
        "pushurl": PUSHING_IS_OFF,
        "fetch": "+refs/heads/*:refs/remotes/origin/*",
        "promisor": _value(settings, f"remote.{remote}.promisor"),
        "partialclonefilter": _value(settings, f"remote.{remote}.partialclonefilter"),
    }
    return [(f"remote.origin.{key}", value) for key, value in found.items() if value]


def _remote(repository: Repository, settings: Sequence[Setting]) -> str | None:
    """Return the remote that `origin` stands for: that name, the branch's, or the only one."""
    keys = (
        setting.name.removeprefix("remote.") for setting in settings if REMOTE.match(setting.name)
    )
    names = list(dict.fromkeys(key.rpartition(".")[0] for key in keys))
    of_branch = repository.branch and _value(settings, f"branch.{repository.branch}.remote")
    for name in ("origin", of_branch):
        if name in names:
            return name
    return names[0] if len(names) == 1 else None


def _value(settings: Sequence[Setting], name: str) -> str:
    return next((setting.value for setting in reversed(settings) if setting.name == name), "")


def _absolute(url: str, repository: Repository) -> str:
    """Return an address so that it means the same in the clone: a folder's path in full."""
    is_folder = "://" not in url and not Path(url).is_absolute() and (repository.top / url).exists()
    return os.path.realpath(repository.top / url) if url and is_folder else url


def _take_remote_branch(draft: Path, repository: Repository, remote: str) -> None:
    """Let the clone know what the remote's branch of this name was when it was last fetched."""
    branch = repository.branch
    found = branch and view_of(repository.top).commit_of(f"refs/remotes/{remote}/{branch}")
    if found and view_of(draft).commit_of(found):
        git(draft, "update-ref", f"refs/remotes/origin/{branch}", found)


def keep_out_of_commits(top: Path, repository: Repository, paths: Sequence[str]) -> None:
    """Have git ignore what the repository's own list ignores, and the copied files. NotWritten."""
    text = read_if_there(repository.common_dir / "info" / "exclude", EXCLUDE_LIMIT) or b""
    lines = "".join(f"/{as_pattern(path)}\n" for path in paths if "\n" not in path)
    copied = f"# Copied by sow (clones.copy):\n{lines}" if lines else ""
    gap = b"" if not text or text.endswith(b"\n") else b"\n"
    write_atomically(
        top / ".git" / "info" / "exclude",
        text + gap + copied.encode("utf-8", "surrogateescape"),
        durable=False,
    )


def as_pattern(path: str) -> str:
    """Return a path as a pattern that fits nothing else; `?` stands for a line break."""
    escaped = "".join(f"\\{sign}" if sign in "\\*?[" else sign for sign in path)
    escaped = escaped.replace("\n", "?")
    return f"{escaped[:-1]}\\ " if escaped.endswith(" ") else escaped


def link_large_files(draft: Path, repository: Repository) -> None:
    """Link the contents that Git LFS keeps, where it is used: the clone need not load them.

    They are named by what they hold and replaced, never changed, as git's objects are.
    """
    source, target = repository.common_dir / "lfs" / "objects", draft / ".git" / "lfs" / "objects"
    for folder, _, names in os.walk(source):
        place = target / os.path.relpath(folder, source)
        try:
            place.mkdir(parents=True, exist_ok=True)
            for name in names:
                _link(Path(folder, name), place / name)
        except OSError as error:
            raise NotWritten(place, error) from error


def _link(source: Path, target: Path) -> None:
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:
        shutil.copy2(source, target, follow_symlinks=False)
