"""Merging two commits without a working tree."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath

from msgspec import Struct

from sow.git.git_errors import GitRefused
from sow.git.run import LONG_SECONDS
from sow.git.view import View, as_records, split_records

FOLDER_MODE = "040000"
NO_MODE = "000000"
Entries = dict[str, tuple[str, str]]
"""The mode and the object of each path."""
Change = tuple[str, tuple[str, str] | None, tuple[str, str] | None]
Entry = tuple[str, str, str, str]
"""Mode, object, stage (1 the common ancestor, 2 ours, 3 theirs) and path."""


class MergedTree(Struct, frozen=True):
    """The tree of a merge; where there are conflicts, their files hold the usual marks."""

    tree: str
    stages: tuple[Entry, ...] = ()
    words: str = ""
    """What git says of the conflicts."""

    @property
    def conflicts(self) -> tuple[str, ...]:
        """The files in conflict, each once."""
        return tuple(dict.fromkeys(path for *_, path in self.stages))


def merge_trees(view: View, ours: str, theirs: str) -> MergedTree:
    """Merge two commits; objects are written, and nothing else. Raises GitRefused."""
    words = ("merge-tree", "--write-tree", "-z", "--allow-unrelated-histories", ours, theirs)
    code, output, complaint = view.answer(*words, seconds=LONG_SECONDS)
    if code not in (0, 1):
        raise GitRefused(view.folder, words, code, complaint)
    tree, *rest = split_records(output)
    stages = []
    for record in rest if code else []:
        if not record:  # what follows are messages
            break
        facts, _, path = record.partition("\t")
        mode, name, stage = facts.split(" ")
        stages.append((mode, name, stage, path))
    conflicts = [record for record in rest[len(stages) + 1 :] if "CONFLICT" in record]
    return MergedTree(
        tree, tuple(stages), "\n".join(text.strip() for text in conflicts if " " in text)
    )


def scratch_commit(view: View, tree: str, identity: Mapping[str, str], *parents: str) -> str:
    """Make a commit that only a computation sees. Raises GitRefused."""
    words = [word for parent in parents for word in ("-p", parent)]
    return view.text("commit-tree", tree, *words, stdin=b"One side\n", variables=identity)


UNSEEN = dict.fromkeys(
    (*range(0x200C, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF)
)
"""Letters that some disks leave out when they compare names (HFS+)."""


def folded(path: str) -> str:
    """Return a path as a disk compares it that ignores case: two that are the same are one file."""
    return path.translate(UNSEEN).casefold()


def with_paths_of(view: View, tree: str, other: str, paths: Sequence[str], index: str) -> str:
    """Return `tree`, the name of a tree, with files and folders as `other` has them.

    So is what a disk that ignores case takes for one of `paths`. A folder in which others of
    `paths` lie counts only where it is none: a file, say, or a link.
    `index` is a file to use. Raises GitRefused.
    """
    there, wanted = _differences(view, tree, other, paths)
    if not there and not wanted:
        return tree
    variables = {"GIT_INDEX_FILE": index}
    view.text("read-tree", tree, variables=variables, seconds=LONG_SECONDS)
    changed = dict.fromkeys((*there, *wanted))
    removal = ("rm", "--cached", "-r", "-q", "-f", "--ignore-unmatch", "--sparse", "--", *changed)
    view.text(*removal, variables=variables)
    for path in changed:
        if path in wanted:
            _put(view, path, wanted[path], variables)
    return view.text("write-tree", variables=variables)


def _put(view: View, path: str, entry: tuple[str, str], variables: Mapping[str, str]) -> None:
    mode, name = entry
    if mode == FOLDER_MODE:
        view.text("read-tree", f"--prefix={path}/", name, variables=variables)
    else:
        stdin = as_records([f"{mode} {name}\t{path}"])
        words = ("update-index", "--add", "-z", "--index-info")
        view.text(*words, stdin=stdin, variables=variables)


def _differences(
    view: View, tree: str, other: str, paths: Sequence[str]
) -> tuple[Entries, Entries]:
    """Return mode and object of what lies at the paths in each tree, where the two differ.

    Whatever its letters' case. Folders that are the same in both are not opened.
    """
    names = set(map(folded, paths))
    above = {folded(str(folder)) for path in paths for folder in PurePath(path).parents}
    there, wanted = Entries(), Entries()
    folders: list[tuple[str, str | None, str | None]] = [("", tree, other)]
    while folders:
        prefix, ours, theirs = folders.pop()
        for name, before, after in _changes(view, ours, theirs):
            path = f"{prefix}{name}"
            inner = _folder(before), _folder(after)
            if folded(path) in above and any(inner):
                folders.append((f"{path}/", *inner))
            for side, entry in ((there, before), (wanted, after)):
                is_opened = folded(path) in above and _folder(entry)
                if entry is not None and not is_opened and folded(path) in names:
                    side[path] = entry
    return there, wanted


def _folder(entry: tuple[str, str] | None) -> str | None:
    """Return the tree that an entry is, if it is a folder."""
    return entry[1] if entry is not None and entry[0] == FOLDER_MODE else None


def _changes(view: View, tree: str | None, other: str | None) -> Iterator[Change]:
    """Yield what differs right in two trees: its name, and what it is in each. None is empty."""
    if tree is None or other is None:
        for record in view.records("ls-tree", "-z", tree or other or ""):
            facts, _, name = record.partition("\t")
            mode, _, found = facts.split(" ")
            yield (name, (mode, found), None) if other is None else (name, None, (mode, found))
        return
    words = ("--raw", "--no-renames", "--no-abbrev", "--ignore-submodules=none", tree, other)
    records = view.records("diff-tree", "-z", *words)
    for facts, name in zip(records[::2], records[1::2], strict=True):
        mode, new_mode, found, new_found, _ = facts.removeprefix(":").split(" ")
        yield (
            name,
            (mode, found) if mode != NO_MODE else None,
            (new_mode, new_found) if new_mode != NO_MODE else None,
        )
