"""What lies in `.sow/refs` for a reference: a link into the cache, or a copy where it can be none.

Owns how it is put there, known again and taken away. Every step works in the open folder that the
caller has locked (`index.locked_refs`), by names alone: no path of somebody else's choice is
followed. What is not of sow's making is left as it is.
"""

import os
import shutil
import stat
from collections.abc import Callable
from contextlib import suppress
from enum import StrEnum
from pathlib import Path

from msgspec import Struct

from sow.files import NotWritten
from sow.paths import Workspace
from sow.refs.cache import FILES, FOLDER_MODE, Cached, cache_root, is_inside
from sow.refs.refs_errors import LinkPlaceTaken
from sow.schema.references import Reference

MARK = ".copy-"
"""Beside a copy lies a file that names the tree it was made of."""
DRAFT_END = ".tmp"
MARK_LIMIT = 200


class Presence(StrEnum):
    """What lies where a reference is to be linked."""

    LINKED = "linked"
    COPIED = "copied"
    MISSING = "missing"
    """Nothing, or a link into the cache to what is not there any more."""
    STRANGE = "strange"
    """Something that sow has not put there."""


class Found(Struct, frozen=True):
    """What was found in a reference's place."""

    presence: Presence
    tree: str = ""
    """The tree in the cache."""
    folder: Path | None = None
    """Where its files really lie, if they are there."""


MakeLink = Callable[[str, str, int], None]
"""Makes a link: what it says, its name, the open folder. Raises OSError where none can be made."""


def make_link(text: str, name: str, folder: int) -> None:
    """Make a symbolic link."""
    os.symlink(text, name, dir_fd=folder)


def look(workspace: Workspace, reference: Reference, place: Cached) -> Found:
    """Return what lies where a reference is to be linked. Reads only, and follows no link."""
    path = workspace.refs / reference.link
    try:
        mode = path.lstat().st_mode
    except OSError:
        return Found(Presence.MISSING)
    if stat.S_ISLNK(mode):
        return _behind(_text(path), place)
    tree = _copied_tree(workspace.refs / f"{MARK}{reference.link}")
    if stat.S_ISDIR(mode) and tree:
        return Found(Presence.COPIED, tree, path)
    return Found(Presence.STRANGE)


def linked_tree(workspace: Workspace, name: str, place: Cached) -> str:
    """Return the tree that a link, or a copy, of this name is of; empty for anything else."""
    path = workspace.refs / name
    text = _text(path)
    if text and is_inside(text, place.trees):
        return os.path.relpath(text, place.trees).partition("/")[0]
    return _copied_tree(path.with_name(f"{MARK}{name}")) if path.is_dir() else ""


def _behind(text: str, place: Cached) -> Found:
    """Return what a link means, by what it says: only a tree of this very reference counts."""
    if not is_inside(text, place.trees):
        ours = is_inside(text, cache_root())
        return Found(Presence.MISSING if ours else Presence.STRANGE)
    tree, _, rest = os.path.relpath(text, place.trees).partition("/")
    if rest != FILES or tree.startswith("."):
        return Found(Presence.STRANGE)
    folder = place.tree(tree) / FILES
    return Found(Presence.LINKED, tree, folder) if folder.is_dir() else Found(Presence.MISSING)


def _text(path: Path) -> str:
    try:
        return os.readlink(path)  # noqa: PTH115 - a text is what is wanted
    except OSError:
        return ""


def _copied_tree(mark: Path) -> str:
    """Return the tree that a copy was made of; empty where nothing says that it is one."""
    with suppress(OSError):
        descriptor = os.open(mark, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            return os.read(descriptor, MARK_LIMIT).decode("ascii", "replace").strip()
        finally:
            os.close(descriptor)
    return ""


def link(
    folder: int,
    workspace: Workspace,
    reference: Reference,
    place: Cached,
    tree: str,
    make: MakeLink = make_link,
) -> bool:
    """Put a tree into its place in `.sow/refs`; return whether it had to be copied.

    What was linked there before goes on being there until then. Raises LinkPlaceTaken, NotWritten.
    """
    found = look(workspace, reference, place)
    if found.presence is Presence.STRANGE:
        raise LinkPlaceTaken(workspace.refs / reference.link)
    target = place.tree(tree) / FILES
    if found.presence is Presence.LINKED and found.tree == tree:
        return False
    draft = f".{reference.link}.{os.urandom(6).hex()}{DRAFT_END}"
    try:
        make(str(target), draft, folder)
    except (OSError, NotImplementedError):
        return _copy(folder, workspace, reference, found, target, tree)
    try:
        if found.presence is Presence.COPIED:
            _remove_copy(folder, reference.link)
        os.rename(draft, reference.link, src_dir_fd=folder, dst_dir_fd=folder)
    except OSError as error:
        with suppress(OSError):
            os.unlink(draft, dir_fd=folder)
        raise NotWritten(workspace.refs / reference.link, error) from error
    return False


def unlink(folder: int, workspace: Workspace, reference: Reference, place: Cached) -> bool:
    """Take away what lies there for a reference; return whether it was sow's. Raises NotWritten."""
    found = look(workspace, reference, place)
    if found.presence is Presence.STRANGE:
        return False
    try:
        if found.presence is Presence.COPIED:
            _remove_copy(folder, reference.link)
        else:
            with suppress(FileNotFoundError):
                os.unlink(reference.link, dir_fd=folder)
    except OSError as error:
        raise NotWritten(workspace.refs / reference.link, error) from error
    return True


def _copy(
    folder: int, workspace: Workspace, reference: Reference, found: Found, source: Path, tree: str
) -> bool:
    """Copy a tree, whole or not at all: beside its place first, with the mark that says so."""
    if found.presence is Presence.COPIED and found.tree == tree:
        return True
    name, draft = reference.link, f".{reference.link}.{os.urandom(6).hex()}{DRAFT_END}"
    path = workspace.refs / draft
    try:
        shutil.copytree(source, path, ignore=_inner_links)
        if found.presence is Presence.COPIED:
            _remove_copy(folder, name)
        elif found.presence is Presence.MISSING:
            with suppress(FileNotFoundError):
                os.unlink(name, dir_fd=folder)
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        mark = os.open(f"{MARK}{name}", flags, 0o600, dir_fd=folder)
        with os.fdopen(mark, "w", encoding="ascii") as file:
            file.write(f"{tree}\n")
        os.rename(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
    except (OSError, shutil.Error) as error:
        _remove_folder(path)
        if not isinstance(error, OSError) or isinstance(error, shutil.Error):
            error = OSError(None, str(error))
        raise NotWritten(workspace.refs / name, error) from error
    return True


def _inner_links(folder: str, names: list[str]) -> list[str]:
    """Return the links in a folder: where none can be made, a copy goes without them."""
    return [name for name in names if Path(folder, name).is_symlink()]


def _remove_copy(folder: int, name: str) -> None:
    """Take a copy away: out of its place first, so that nobody sees half of it."""
    gone = f".{name}.{os.urandom(6).hex()}{DRAFT_END}"
    os.rename(name, gone, src_dir_fd=folder, dst_dir_fd=folder)
    with suppress(FileNotFoundError):
        os.unlink(f"{MARK}{name}", dir_fd=folder)
    _remove_in(folder, gone)


def _remove_in(folder: int, name: str) -> None:
    _allow(folder, name)
    shutil.rmtree(name, dir_fd=folder)


def _allow(folder: int, name: str) -> None:
    """Give ourselves the right to take away what was made read-only; no link is followed."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(name, flags, dir_fd=folder)
    try:
        os.fchmod(descriptor, FOLDER_MODE)
        with os.scandir(descriptor) as entries:
            below = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
        for each in below:
            _allow(descriptor, each)
    finally:
        os.close(descriptor)


def _remove_folder(path: Path) -> None:
    with suppress(OSError):
        for folder, _, _ in os.walk(path):
            Path(folder).chmod(FOLDER_MODE)
        shutil.rmtree(path)


def sweep_drafts(folder: int) -> None:
    """Remove what a killed process has left of links and copies. The caller holds the lock."""
    for name in os.listdir(folder):
        if not (name.startswith(".") and name.endswith(DRAFT_END)):
            continue
        with suppress(OSError):
            if stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
                _remove_in(folder, name)
            else:
                os.unlink(name, dir_fd=folder)
