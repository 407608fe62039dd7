"""A working tree brought from one commit to another, file by file, each either old or new.

Each file is made ready elsewhere and renamed onto its place, so that a kill at
any point leaves no half-written file, and the next try can tell what is done:
a file is as it was, as it shall be, or somebody else's. Somebody else's is
never touched.
"""

import errno
import os
import shutil
import stat
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from sow.clones.deleting import delete_folder
from sow.files.scratch import scratch_folder
from sow.git.merge_tree import NOTHING, Change
from sow.git.run import LONG_SECONDS
from sow.git.view import View, as_records


def foreign_paths(view: View, changes: Sequence[Change]) -> tuple[str, ...]:
    """Return the paths whose files are neither as the older nor as the newer commit has them.

    Also what lies in the way of a new one. Raises GitRefused.
    """
    return _foreign_and_unlike_new(view, changes)[0]


def _foreign_and_unlike_new(
    view: View, changes: Sequence[Change]
) -> tuple[tuple[str, ...], set[str]]:
    """Return what is somebody else's, and all that is not as the newer commit has it."""
    files = [change for change in changes if not change.is_repository]
    unlike_old = unlike(view, [(c.path, c.old_mode, c.old) for c in files])
    unlike_new = unlike(view, [(c.path, c.new_mode, c.new) for c in files])
    ours = {change.path for change in files if change.was_there}
    ways = (_in_the_way(view.folder, c.path, ours) for c in files if c.will_be_there)
    foreign = {*(unlike_old & unlike_new), *(way for way in ways if way)}
    return tuple(sorted(foreign)), unlike_new


def write_files(
    view: View, changes: Sequence[Change], draft: Path, *, has_index: bool = False
) -> tuple[str, ...]:
    """Make the files as the newer commit has them; return what was left as somebody else's.

    `draft` is a folder to use, on the same disk if possible; it is gone
    afterwards. `has_index`: the view's own index is that of the newer commit.
    Raises GitRefused, NotDeleted, OSError.
    """
    foreign, differing = _foreign_and_unlike_new(view, changes)
    files = [c for c in changes if not c.is_repository and c.path not in foreign]
    wanted = [c for c in files if c.path in differing]
    written = [c for c in wanted if c.will_be_there]
    delete_folder(draft)  # an agent may have put a link there
    draft.mkdir(parents=True)
    try:
        _draft_files(view, written, draft, has_index=has_index)
        for change in wanted:
            if not change.will_be_there:
                _remove(view.folder, change.path)
        for change in written:
            _place(draft / change.path, view.folder / change.path)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return foreign


class IndexEntries(NamedTuple):
    """What an index holds of each path."""

    facts: Mapping[str, AbstractSet[str]]
    """Mode, object and stage."""
    hidden: AbstractSet[str]
    """The paths whose files need not be there (git's "skip-worktree")."""


def index_entries(view: View) -> IndexEntries:
    """Return the entries of a view's index. Raises GitRefused."""
    facts: dict[str, set[str]] = {}
    hidden = set()
    for record in view.records("ls-files", "-z", "-t", "--stage"):
        mark, _, rest = record.partition(" ")
        fact, _, path = rest.partition("\t")
        facts.setdefault(path, set()).add(fact)
        if mark == "S":
            hidden.add(path)
    return IndexEntries(facts, hidden)


def write_index(view: View, changes: Sequence[Change], before: IndexEntries) -> None:
    """Make the index hold the newer commit's entries; all others stay. Raises GitRefused.

    A path that is hidden `before` stays so.
    """
    hidden = before.hidden & {change.path for change in changes if change.will_be_there}
    removed = [f"0 {c.old}\t{c.path}" for c in changes if not c.will_be_there]
    added = [f"{c.new_mode} {c.new}\t{c.path}" for c in changes if c.will_be_there]
    words = ("update-index", "--add", "--remove", "--replace", "-z", "--index-info")
    view.text(*words, stdin=as_records([*removed, *added]))
    if hidden:
        stdin = as_records(sorted(hidden))
        view.text("update-index", "--skip-worktree", "-z", "--stdin", stdin=stdin)
    view.answer("update-index", "-q", "--refresh", seconds=LONG_SECONDS)


def staged_paths(index: IndexEntries, changes: Sequence[Change]) -> tuple[str, ...]:
    """Return the paths whose entry in the index is neither the older nor the newer commit's."""
    staged = []
    for change in changes:
        old = {f"{change.old_mode} {change.old} 0"} if change.was_there else set()
        new = {f"{change.new_mode} {change.new} 0"} if change.will_be_there else set()
        if index.facts.get(change.path, set()) not in (old, new):
            staged.append(change.path)
    return tuple(staged)


def not_checked_out(folder: Path, index: IndexEntries, changes: Sequence[Change]) -> frozenset[str]:
    """Return which of the paths the working tree in `folder` is checked out without."""
    return frozenset(
        change.path
        for change in changes
        if change.path in index.hidden and not os.path.lexists(folder / change.path)
    )


def unlike(view: View, entries: Iterable[tuple[str, str, str]]) -> set[str]:
    """Return which files differ from an entry: its path, mode and object. Raises GitRefused."""
    present = [entry for entry in entries if entry[1] != NOTHING]
    absent = {path for path, mode, _ in entries if mode == NOTHING}
    found = {path for path in absent if _is_there(view.folder, path)}
    # Git would follow a link above a file; and of what is not there it need not be asked.
    found |= {path for path, _, _ in present if not _is_there(view.folder, path)}
    present = [entry for entry in present if entry[0] not in found]
    if not present:
        return found
    with scratch_folder("index") as scratch:
        index = {"GIT_INDEX_FILE": f"{scratch}/index"}
        _fill(view, present, index)
        words = ("ls-files", "-z", "--modified")  # it compares contents, and finds missing files
        return found | set(view.records(*words, variables=index, seconds=LONG_SECONDS))


def _fill(view: View, entries: Iterable[tuple[str, str, str]], index: dict[str, str]) -> None:
    lines = [f"{mode} {name}\t{path}" for path, mode, name in entries]
    words = ("update-index", "--add", "-z", "--index-info")
    view.text(*words, stdin=as_records(lines), variables=index)


def _is_there(folder: Path, path: str) -> bool:
    """Whether a file or a link lies at a path, reached through real folders."""
    if _in_the_way(folder, path, set()) not in (None, path):
        return False
    with suppress(OSError):
        return not stat.S_ISDIR((folder / path).lstat().st_mode)
    return False


def _in_the_way(folder: Path, path: str, ours: set[str]) -> str | None:
    """Return what makes it impossible to put a file at `path`: not one of `ours`, which may go."""
    parts = path.split("/")
    for count in range(1, len(parts)):
        above = "/".join(parts[:count])
        try:
            mode = (folder / above).lstat().st_mode
        except OSError:
            return None
        if not stat.S_ISDIR(mode):
            return None if above in ours else above
    place = folder / path
    if place.is_symlink() or not place.is_dir():
        return None
    below = (
        os.path.relpath(os.path.join(at, name), folder)  # noqa: PTH118 - as os.walk has them
        for at, _, files in os.walk(place)
        for name in files
    )
    return next((name for name in below if name not in ours), None)


def _draft_files(view: View, changes: Sequence[Change], draft: Path, *, has_index: bool) -> None:
    if not changes:
        return
    words = ("checkout-index", "-q", "-f", "-z", "--stdin", f"--prefix={draft}/")
    paths = as_records([change.path for change in changes])
    if has_index:
        view.text(*words, stdin=paths, seconds=LONG_SECONDS)
        return
    with scratch_folder("index") as scratch:
        index = {"GIT_INDEX_FILE": f"{scratch}/index"}
        _fill(view, [(c.path, c.new_mode, c.new) for c in changes], index)
        view.text(*words, stdin=paths, variables=index, seconds=LONG_SECONDS)


def _remove(folder: Path, path: str) -> None:
    """Remove a file, and the folders above it that are empty then."""
    with suppress(FileNotFoundError, NotADirectoryError):
        (folder / path).unlink()
    for above in Path(path).parents[:-1]:
        try:
            (folder / above).rmdir()
        except OSError:
            return


def _place(draft: Path, place: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    if place.is_dir() and not place.is_symlink():
        _remove_empty(place)
    try:
        draft.replace(place)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        beside = place.with_name(f".{place.name[:100]}.{os.urandom(6).hex()}.sow")
        shutil.copy2(draft, beside, follow_symlinks=False)
        beside.replace(place)


def _remove_empty(folder: Path) -> None:
    for at, _, _ in os.walk(folder, topdown=False):
        Path(at).rmdir()
