"""What lies in one repository inside a clone, and in no kept place.

Owns the look at a submodule, a linked working tree, and a repository that an
agent has made or cloned. What cannot be looked at counts as work.
"""

import os
import re
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from msgspec import Struct

from sow.clones.gitlinks import files_in_empty_links, gitlinks, is_repository
from sow.clones.kept_commits import counterparts, lost_from_logs, not_below, not_in
from sow.clones.staged import staged_versions
from sow.errors import StateError
from sow.faults import passing_fault
from sow.git.git_errors import GitTookTooLong
from sow.git.inert_refs import UnsafeClone, read_text
from sow.git.inner_view import InnerRepository, inner_view
from sow.git.named_commits import (
    head_commit,
    logged_commits,
    named_commits,
    remote_commits,
    waiting_patches,
)
from sow.git.repository import Repository
from sow.git.settings_text import settings_in
from sow.git.view import View

CONFIG_LIMIT = 1 << 20
FILE_SCHEME = "file://"
NOT_A_PATH = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*://|[^/]*:")
"""How an address begins that leads to a program or another machine: `https://`, `host:`."""
ADDRESS = re.compile(r"(?s)remote\.(.+)\.url")
FILES_SECONDS = 120.0


def commits_elsewhere(clone: Path, found: InnerRepository) -> set[str]:
    """Return the commits that another repository has, outside of the clone, by a remote's word.

    Raises UnsafeClone, GitRefused.
    """
    return remote_commits(found.common_dir, without=tuple(_passing(clone, found)))


def _passing(clone: Path, found: InnerRepository) -> Iterator[str]:
    text = read_text(found.common_dir, "config", CONFIG_LIMIT) or ""
    for key, address in settings_in(text.encode("utf-8", "surrogateescape")):
        if (remote := ADDRESS.fullmatch(key)) and _goes_with(clone, found, address):
            yield remote[1]


def _goes_with(clone: Path, found: InnerRepository, address: str) -> bool:
    """Whether an address is a path that lies in the clone, or at which nothing is."""
    path = address.removeprefix(FILE_SCHEME)
    if path == address and NOT_A_PATH.match(address):
        return False
    place = os.path.realpath((found.work_tree or found.git_dir) / path)
    return Path(place).is_relative_to(os.path.realpath(clone)) or not os.path.lexists(place)


class InnerWork(Struct, frozen=True):
    """What would be lost of a repository inside a clone."""

    path: str
    """Where it lies, relative to the clone's top."""
    commits: tuple[tuple[str, str], ...] = ()
    """Names with the commits that they lead to, and that no other repository has."""
    reset: tuple[str, ...] = ()
    """Commits that were taken back by a reset."""
    files: tuple[str, ...] = ()
    """Files that are in no commit, relative to the clone's top."""
    staged: tuple[str, ...] = ()
    """Files of which a version lies in the index alone, relative to the clone's top."""
    ignored: tuple[str, ...] = ()
    """Ignored files and folders, relative to the clone's top; a folder ends with a slash."""
    unknown: str = ""
    """Why nobody can tell, in words."""


def inner_work(clone: Path, found: InnerRepository, main: Repository) -> InnerWork:
    """Return what would be lost of a repository inside a clone.

    Raises nothing for what it holds, and StateError or OSError for a fault that passes.
    """
    try:
        return _inner_work(clone, found, main)
    except UnsafeClone as error:
        return InnerWork(found.path, unknown=error.why)
    except GitTookTooLong as error:
        return InnerWork(found.path, unknown=error.message)
    except (StateError, OSError) as error:
        if passing_fault(error) is not None:
            raise
        words = error.message.splitlines()[-1] if isinstance(error, StateError) else str(error)
        return InnerWork(found.path, unknown=words)


def _inner_work(clone: Path, found: InnerRepository, main: Repository) -> InnerWork:
    _refuse_links(found.common_dir)
    head = head_commit(found.git_dir, found.common_dir)
    named = {} if found.is_linked else named_commits(found.common_dir)
    with inner_view(found, main, head or next(iter(named.values()), None)) as view:
        elsewhere = set() if found.is_linked else commits_elsewhere(clone, found)
        commits, reset = _commits(view, found, main, named, elsewhere)
        files, staged, ignored = _files(view, found, head)
    return InnerWork(found.path, commits, reset, files, staged, ignored)


def _refuse_links(common_dir: Path) -> None:
    for name in ("objects", "refs"):
        folder = common_dir / name
        if folder.is_symlink() or not folder.is_dir():
            raise UnsafeClone(folder, "is not a real folder")


def _commits(
    view: View,
    found: InnerRepository,
    main: Repository,
    named: dict[str, str],
    elsewhere: set[str],
) -> tuple[tuple[tuple[str, str], ...], tuple[str, ...]]:
    """Return names with commits that lie in no kept place, and what a reset has taken back."""
    if found.is_linked:
        return (), ()  # they are its repository's, which is looked at for itself
    lost = not_below(view, set(named.values()) - elsewhere, elsewhere)
    others = counterparts(main, found)
    for other in others:
        lost = not_in(other, lost)
    logged = logged_commits(found.common_dir)
    logs = lost_from_logs(view, logged, {*named.values(), *elsewhere}, others)
    names = [(name, commit) for name, commit in named.items() if commit in lost]
    names += [(f"on no branch ({commit[:12]})", commit) for commit in sorted(logs.left)]
    names += [(name, "") for name in waiting_patches(found.common_dir)]
    return tuple(names), tuple(sorted(logs.reset))


def _files(view: View, found: InnerRepository, commit: str | None) -> tuple[tuple[str, ...], ...]:
    """Return the files in no commit, versions in the index alone, and what is ignored."""
    if found.work_tree is None:
        return (), (), ()
    if commit is not None:
        view.text("read-tree", commit, seconds=FILES_SECONDS)
    words = ("ls-files", "-z", "--modified", "--others", "--exclude-standard")
    there = set(view.records(*words, seconds=FILES_SECONDS))
    links = gitlinks(view)
    files = {path for path in there - links.keys() if not path.endswith("/")}
    files = {path for path in files if os.path.lexists(found.work_tree / path)}
    files |= set(files_in_empty_links(found.work_tree, links))
    staged = staged_versions(view, found.git_dir, commit)
    files |= set(staged.in_files)
    ignored = set(ignored_paths(view, links)) - files
    return tuple(_from_top(found.path, paths) for paths in (files, staged.alone, ignored))


def _from_top(inner: str, paths: Iterable[str]) -> tuple[str, ...]:
    return tuple(f"{inner}/{path}" for path in sorted(paths))


def ignored_paths(view: View, links: Collection[str]) -> list[str]:
    """Return what git ignores of a view's working tree; a folder that is ignored as a whole, once.

    A repository in it is no part of that.
    """
    words = ("ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory")
    found = view.records(*words, seconds=FILES_SECONDS)
    return [
        path
        for path in found
        if path.rstrip("/") not in links and not is_repository(view.folder / path)
    ]
