"""Merging two commits without a working tree."""

from collections.abc import Mapping, Sequence
from pathlib import PurePath

from msgspec import Struct

from sow.git.git_errors import GitRefused
from sow.git.run import LONG_SECONDS
from sow.git.view import View, as_records, split_records

FOLDER_MODE = "040000"
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
    name = view.text("rev-parse", tree)
    return view.text("commit-tree", name, *words, stdin=b"One side\n", variables=identity)


UNSEEN = dict.fromkeys(
    (*range(0x200C, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF)
)
"""Letters that some disks leave out when they compare names (HFS+)."""


def folded(path: str) -> str:
    """Return a path as a disk compares it that ignores case: two that are the same are one file."""
    return path.translate(UNSEEN).casefold()


def with_paths_of(view: View, tree: str, other: str, paths: Sequence[str], index: str) -> str:
    """Return the tree of `tree`, with files and folders as `other` has them.

    So is what a disk that ignores case takes for one of `paths`. A folder in which others of
    `paths` lie counts only where it is none: a file, say, or a link.
    `index` is a file to use. Raises GitRefused.
    """
    there, wanted = _entries(view, tree, paths), _entries(view, other, paths)
    if there == wanted:
        return view.text("rev-parse", f"{tree}^{{tree}}")
    variables = {"GIT_INDEX_FILE": index}
    view.text("read-tree", tree, variables=variables, seconds=LONG_SECONDS)
    both = dict.fromkeys((*paths, *there, *wanted))
    changed = [path for path in both if there.get(path) != wanted.get(path)]
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


def _entries(view: View, tree: str, paths: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Return mode and object of what lies at the paths in a tree, whatever its letters' case."""
    names = set(map(folded, paths))
    above = {folded(str(folder)) for path in paths for folder in PurePath(path).parents}
    entries, folders = {}, [""]
    while folders:
        folder = folders.pop()
        words = ("--", f"{folder}/") if folder else ()
        for record in view.records("ls-tree", "-z", "--full-tree", tree, *words):
            facts, _, path = record.partition("\t")
            mode, _, name = facts.split(" ")
            if mode == FOLDER_MODE and folded(path) in above:
                folders.append(path)
            elif folded(path) in names:
                entries[path] = (mode, name)
    return entries
