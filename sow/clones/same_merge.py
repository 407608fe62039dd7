"""Whether a task's branch holds nothing but its judged commit and merges that anybody can repeat.

A verdict on a commit holds for what sow makes of it by bringing the project's
branch in without a conflict. The last one that sow has made is on record in the main
repository's git folder, where no agent's clone reaches. Any other is computed anew, so
that a commit which only looks like one is none. Writes objects alone, and that record.
"""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from msgspec import Struct

from sow.clones.clone_facts import CloneFacts
from sow.clones.merge_marks import project_side
from sow.clones.steps import note_path, read_json, write_json
from sow.git.merge_tree import merge_trees, side_of
from sow.git.repository import Repository
from sow.git.view import view_of

KIND = "merged"
MOST_MERGES = 100
REMEMBERED = 1000
"""Merges whose answer a process keeps."""


class NotedMerge(Struct, frozen=True):
    """A merge of the project's branch into a task's that sow has made without a conflict."""

    commit: str
    ours: str
    """The task's commit."""
    theirs: str
    """The project's commit."""
    inside: str
    """Where the workspace lies in the repository: which files are sow's own follows from it."""


def note_merge(main: Repository, facts: CloneFacts, commit: str, ours: str, theirs: str) -> None:
    """Put on record that the main repository has made `commit` of two. Raises NotWritten.

    A loss of power may undo it: then the merge is computed.
    """
    note = NotedMerge(commit, ours, theirs, facts.inside)
    write_json(note_path(main, KIND, facts.branch), note, durable=False)


def _noted(main: Repository, facts: CloneFacts, commit: str) -> tuple[str, str] | None:
    """Return of which two commits sow has made one; None where that is not on record."""
    note = read_json(note_path(main, KIND, facts.branch), NotedMerge)
    if note is None or (note.commit, note.inside) != (commit, facts.inside):
        return None
    return note.ours, note.theirs


def differs_by_merges_alone(
    main: Repository, facts: CloneFacts, project: str, judged: str, tip: str
) -> bool:
    """Whether `tip` is `judged`, or only merges of the project's branch onto it without a conflict.

    `project` is the last commit of the project's branch. Raises GitRefused.
    """
    merged = _plainly_merged(main, facts, judged, tip)
    return merged is not None and not _gone(main, project, merged)


def taken_back(
    main: Repository, facts: CloneFacts, project: str, judged: str, tip: str
) -> tuple[str, ...]:
    """Return the commits that such merges have brought in and the project's branch has no more.

    Somebody has gone back there, or has amended them. Nothing where there is more than such
    merges between the two commits. Raises GitRefused.
    """
    return _gone(main, project, _plainly_merged(main, facts, judged, tip) or ())


def _gone(main: Repository, project: str, merged: Sequence[str]) -> tuple[str, ...]:
    view = view_of(main.top)
    return tuple(commit for commit in merged if not view.is_ancestor(commit, project))


def _plainly_merged(
    main: Repository, facts: CloneFacts, judged: str, tip: str
) -> tuple[str, ...] | None:
    """Return what was merged onto `judged` until `tip`; None where that is more than merges."""
    view = view_of(main.top)
    commit = tip
    merged: list[str] = []
    for _ in range(MOST_MERGES):
        if commit == judged:
            return tuple(merged)
        if noted := _noted(main, facts, commit):
            commit, theirs = noted
            merged.append(theirs)
            continue
        words = ("rev-list", "--max-count=1", "--no-commit-header", "--format=%T %P", commit)
        tree, *parents = view.text(*words).split()
        if len(parents) != 2:
            return None
        if not _is_plain_merge(main.top, facts.own_paths, tree, parents[0], parents[1]):
            return None
        commit = parents[0]
        merged.append(parents[1])
    return None


@lru_cache(maxsize=REMEMBERED)
def _is_plain_merge(top: Path, own: tuple[str, ...], tree: str, ours: str, theirs: str) -> bool:
    """Whether merging two commits has no conflict and comes to a tree.

    Commits never change, so this is computed once: a worker asks it at each look at a batch.
    """
    view = view_of(top)
    side = side_of(view, ours, theirs, own)
    merged = merge_trees(view, side, project_side(view, theirs, ours))
    return not merged.conflicts and merged.tree == tree
