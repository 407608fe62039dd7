"""Merging two commits without a working tree."""

from collections.abc import Mapping

from msgspec import Struct

from sow.git.git_errors import GitRefused
from sow.git.run import LONG_SECONDS
from sow.git.view import View, split_records

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


def with_folder_of(view: View, tree: str, other: str, folder: str, index: str) -> str:
    """Return the tree of `tree`, with `folder` as `other` has it. `index` is a file to use.

    Raises GitRefused.
    """
    there = _entry(view, tree, folder)
    wanted = _entry(view, other, folder)
    if there == wanted:
        return view.text("rev-parse", f"{tree}^{{tree}}")
    variables = {"GIT_INDEX_FILE": index}
    view.text("read-tree", tree, variables=variables, seconds=LONG_SECONDS)
    removal = ("rm", "--cached", "-r", "-q", "-f", "--ignore-unmatch", "--sparse", "--", folder)
    view.text(*removal, variables=variables)
    if wanted:
        view.text("read-tree", f"--prefix={folder}/", f"{other}:{folder}", variables=variables)
    return view.text("write-tree", variables=variables)


def _entry(view: View, tree: str, path: str) -> str | None:
    """Return the tree at a path of another; None where there is no folder."""
    records = view.records("ls-tree", "-z", "-d", "--full-tree", tree, path)
    entries = [record.partition("\t")[0].split(" ") for record in records]
    return next((name for _, kind, name in entries if kind == "tree"), None)
