"""What differs between two trees, and two commits merged without a working tree."""

from collections.abc import Mapping, Sequence
from pathlib import PurePath

from msgspec import Struct

from sow.files.scratch import scratch_folder
from sow.git.git_errors import GitRefused
from sow.git.identity import NOBODY
from sow.git.run import LONG_SECONDS
from sow.git.view import View, as_records, split_records

FOLDER_MODE = "040000"
GITLINK = "160000"
"""The mode of an entry that stands for a commit of another repository."""
NOTHING = "000000"
EMPTY_TREE = ("hash-object", "-t", "tree", "--stdin")
"""A git that reads nothing prints with these words how the empty tree is named. It makes none."""
Entries = dict[str, tuple[str, str]]
"""The mode and the object of each path."""
Entry = tuple[str, str, str, str]
"""Mode, object, stage (1 the common ancestor, 2 ours, 3 theirs) and path."""


class Change(Struct, frozen=True):
    """One path in two commits. A mode of NOTHING means that it is not there."""

    path: str
    old_mode: str
    old: str
    new_mode: str
    new: str

    @property
    def was_there(self) -> bool:
        """Whether the older commit has it."""
        return self.old_mode != NOTHING

    @property
    def will_be_there(self) -> bool:
        """Whether the newer commit has it."""
        return self.new_mode != NOTHING

    @property
    def is_repository(self) -> bool:
        """Whether it is a link to a commit of another repository: no file of this one."""
        return GITLINK in (self.old_mode, self.new_mode)


def changes_between(view: View, old: str, new: str) -> tuple[Change, ...]:
    """Return what differs between two commits or trees. Raises GitRefused."""
    words = ("diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", old, new)
    return changes_in(view.records(*words, seconds=LONG_SECONDS))


def changes_in(records: Sequence[str]) -> tuple[Change, ...]:
    """Return the changes that git has told of, as facts and path in turn."""
    changes = []
    for facts, path in zip(records[::2], records[1::2], strict=True):
        old_mode, new_mode, old_name, new_name, _ = facts.removeprefix(":").split(" ")
        changes.append(Change(path, old_mode, old_name, new_mode, new_name))
    return tuple(changes)


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


def scratch_commit(view: View, tree: str, *parents: str) -> str:
    """Make a commit that only a computation sees. Raises GitRefused."""
    words = [word for parent in parents for word in ("-p", parent)]
    return view.text("commit-tree", tree, *words, stdin=b"One side\n", variables=NOBODY)


def side_of(view: View, commit: str, other: str, paths: Sequence[str]) -> str:
    """Return `commit` as one side of a merge with `other`: it has `paths` as `other` has them.

    So there is no conflict in them, and none of its changes to them comes through. It is `commit`
    itself where it has them so already. Raises GitRefused.
    """
    own = f"{commit}^{{tree}}"
    tree = with_paths_of(view, own, other, paths)
    return commit if tree == own else scratch_commit(view, tree, commit)


UNSEEN = dict.fromkeys(
    (*range(0x200C, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF)
)
"""Letters that some disks leave out when they compare names (HFS+)."""


def folded(path: str) -> str:
    """Return a path as a disk compares it that ignores case: two that are the same are one file."""
    return path.translate(UNSEEN).casefold()


def with_paths_of(view: View, tree: str, other: str, paths: Sequence[str]) -> str:
    """Return `tree`, the name of a tree, with files and folders as `other` has them.

    So is what a disk that ignores case takes for one of `paths`. A folder in which others of
    `paths` lie counts only where it is none: a file, say, or a link. Raises GitRefused.
    """
    there, wanted = _differences(view, tree, other, paths)
    if not there and not wanted:
        return tree
    changed = dict.fromkeys((*there, *wanted))
    removal = ("rm", "--cached", "-r", "-q", "-f", "--ignore-unmatch", "--sparse", "--", *changed)
    with scratch_folder("index") as scratch:
        variables = {"GIT_INDEX_FILE": str(scratch / "index")}
        view.text("read-tree", tree, variables=variables, seconds=LONG_SECONDS)
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
        for change in _changes(view, ours, theirs):
            path = f"{prefix}{change.path}"
            before, after = (change.old_mode, change.old), (change.new_mode, change.new)
            inner = _folder(before), _folder(after)
            if folded(path) in above and any(inner):
                folders.append((f"{path}/", *inner))
            for side, entry in ((there, before), (wanted, after)):
                is_opened = folded(path) in above and _folder(entry)
                if entry[0] != NOTHING and not is_opened and folded(path) in names:
                    side[path] = entry
    return there, wanted


def _folder(entry: tuple[str, str]) -> str | None:
    """Return the tree that an entry is, if it is a folder."""
    mode, name = entry
    return name if mode == FOLDER_MODE else None


def _changes(view: View, tree: str | None, other: str | None) -> tuple[Change, ...]:
    """Return what differs right in two trees; None is empty."""
    trees = (each or view.text(*EMPTY_TREE, stdin=b"") for each in (tree, other))
    words = ("diff-tree", "-z", "--raw", "--no-renames", "--no-abbrev")
    return changes_in(view.records(*words, "--ignore-submodules=none", *trees))
