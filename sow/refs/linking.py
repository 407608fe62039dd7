"""What lies in `.sow/refs` for a reference: a link into the cache, or a copy where it can be none.

Owns how it is put there, known again and taken away. Every step works in the open folder that the
caller has locked (`folder.locked_refs`), by names alone: no path of somebody else's choice is
followed. What is not of sow's making is left as it is.
"""

import os
import re
import stat
from collections.abc import Callable
from contextlib import suppress
from enum import StrEnum
from pathlib import Path

from msgspec import Struct

from sow.errors import SowError
from sow.files import NotAFile, NotWritten, read_regular_in, write_in
from sow.files.inside import FLAGS
from sow.files.trees import copy_tree, remove_tree
from sow.paths import Workspace
from sow.refs.cache import FILES, Cached, cache_root, is_inside, tree_name
from sow.refs.folder import opened_refs
from sow.refs.refs_errors import LinkPlaceTaken
from sow.schema.references import Reference

MARK = ".copy-"
"""Beside a copy lies a file that names the tree it was made of."""
DRAFT_END = ".tmp"
MARK_LIMIT = 200
TREE = re.compile(r"[0-9a-f]{40,64}(-[0-9a-f]{12})?")
"""How trees are named (`cache.tree_name`); nothing else that a mark says counts."""


class Presence(StrEnum):
    """What lies where a reference is to be linked."""

    LINKED = "linked"
    COPIED = "copied"
    MISSING = "missing"
    """Nothing, or a link into the cache to what is not there any more, or to another folder than
    the index names now."""
    STRANGE = "strange"
    """Something that sow has not put there."""


class Found(Struct, frozen=True):
    """What was found in a reference's place."""

    presence: Presence
    tree: str = ""
    """The tree in the cache."""
    folder: Path | None = None
    """Where its files really lie, if they are there."""

    @property
    def commit(self) -> str | None:
        """The commit of what is there; None where nothing is."""
        return self.tree.partition("-")[0] or None


MakeLink = Callable[[str, str, int], None]
"""Makes a link: what it says, its name, the open folder. Raises OSError where none can be made."""


def make_link(text: str, name: str, folder: int) -> None:
    """Make a symbolic link."""
    os.symlink(text, name, dir_fd=folder)


def look(workspace: Workspace, reference: Reference, place: Cached) -> Found:
    """Return what lies where a reference is to be linked. Reads only, and follows no link."""
    try:
        with opened_refs(workspace) as folder:
            if folder is None:
                return Found(Presence.MISSING)
            found = look_in(folder, workspace, reference, place)
    except SowError:  # the folder itself is something else
        return Found(Presence.STRANGE)
    if found.commit and found.tree != tree_name(found.commit, reference.subfolder):
        return Found(Presence.MISSING)  # the path in the index is another one since
    return found


def look_in(folder: int, workspace: Workspace, reference: Reference, place: Cached) -> Found:
    """Return what lies there, in the open folder of the workspace."""
    name = reference.link
    mode = _mode(folder, name)
    if not mode:
        return Found(Presence.MISSING)
    if stat.S_ISLNK(mode):
        return _behind(_text(folder, name), place)
    tree = _copied_tree(folder, name)
    if stat.S_ISDIR(mode) and tree:
        return Found(Presence.COPIED, tree, workspace.refs / name)
    return Found(Presence.STRANGE)


def linked_tree(workspace: Workspace, name: str, place: Cached) -> str:
    """Return the tree that a link, or a copy, of this name is of; empty for anything else."""
    with suppress(SowError), opened_refs(workspace) as folder:
        if folder is None:
            return ""
        text = _text(folder, name)
        if text and is_inside(text, place.trees):
            return os.path.relpath(text, place.trees).partition("/")[0]
        return _copied_tree(folder, name) if stat.S_ISDIR(_mode(folder, name)) else ""
    return ""


def _mode(folder: int, name: str) -> int:
    """Return what lies there, by its mode; 0 for nothing."""
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    except OSError:
        return 0


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


def _text(folder: int, name: str) -> str:
    try:
        return os.readlink(name, dir_fd=folder)
    except OSError:
        return ""


def _copied_tree(folder: int, name: str) -> str:
    """Return the tree that a copy was made of; empty where nothing says that it is one."""
    with suppress(FileNotFoundError, NotAFile):
        text = read_regular_in(folder, Path(f"{MARK}{name}"), MARK_LIMIT).decode("ascii", "replace")
        return text.strip() if TREE.fullmatch(text.strip()) else ""
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
    found = look_in(folder, workspace, reference, place)
    if found.presence is Presence.STRANGE:
        raise LinkPlaceTaken(workspace.refs / reference.link)
    target = place.tree(tree) / FILES
    if found.presence is Presence.LINKED and found.tree == tree:
        return False
    draft = _draft(reference.link)
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
    found = look_in(folder, workspace, reference, place)
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
    name, draft = reference.link, _draft(reference.link)
    try:
        _copy_from(source, folder, draft)
        if found.presence is Presence.COPIED:
            _remove_copy(folder, name)
        elif found.presence is Presence.MISSING:
            with suppress(FileNotFoundError):
                os.unlink(name, dir_fd=folder)
        write_in(folder, workspace.refs / f"{MARK}{name}", f"{tree}\n".encode(), mode=0o600)
        os.rename(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
    except OSError as error:
        _discard(folder, draft)
        raise NotWritten(workspace.refs / name, error) from error
    except BaseException:
        _discard(folder, draft)
        raise
    return True


def _copy_from(source: Path, folder: int, draft: str) -> None:
    opened = os.open(source, FLAGS)
    try:
        copy_tree(opened, folder, draft)
    finally:
        os.close(opened)


def _remove_copy(folder: int, name: str) -> None:
    """Take a copy away: out of its place first, so that nobody sees half of it."""
    gone = _draft(name)
    os.rename(name, gone, src_dir_fd=folder, dst_dir_fd=folder)
    with suppress(FileNotFoundError):
        os.unlink(f"{MARK}{name}", dir_fd=folder)
    remove_tree(folder, gone)


def _draft(name: str) -> str:
    """Return a name that nobody has, and that the next one sweeps."""
    return f".{name}.{os.urandom(6).hex()}{DRAFT_END}"


def _discard(folder: int, draft: str) -> None:
    with suppress(OSError):
        remove_tree(folder, draft)


def sweep_drafts(folder: int) -> None:
    """Remove what a killed process has left of links and copies. The caller holds the lock."""
    for name in os.listdir(folder):
        if name.startswith(".") and name.endswith(DRAFT_END):
            _discard(folder, name)
