"""A task's commit merged into the project's branch, computed without a working tree.

Computing writes objects and nothing else; `moving` makes the result the
project's. The main repository's own settings hold here, as for a merge by hand.
"""

from collections.abc import Sequence

from msgspec import Struct

from sow.clones.brought_otherwise import is_brought_otherwise, project_side
from sow.clones.clone_facts import CloneFacts
from sow.clones.merge_marks import mark_lines, marks_since
from sow.clones.rebasing import Series, rebase
from sow.files.scratch import scratch_folder
from sow.git.identity import NOBODY, identity_of
from sow.git.merge_tree import merge_trees, scratch_commit, with_paths_of
from sow.git.repository import Repository
from sow.git.run import LONG_SECONDS
from sow.git.view import View, view_of
from sow.schema.job_terms import MergeWay


class TaskCommit(Struct, frozen=True):
    """What is to be merged."""

    task: str
    """The task's id."""
    title: str
    """What the task is called."""
    commit: str
    facts: CloneFacts


class ConflictingFile(Struct, frozen=True):
    """A file that cannot be merged, and the merged tasks that changed it on the project's side."""

    path: str
    tasks: tuple[str, ...]


class Merge(Struct, frozen=True):
    """What a merge comes to: a commit, or the files in conflict. Nothing is changed by it."""

    onto: str
    """The commit that it goes on from."""
    commit: str | None
    """The merge's commit; the same as `onto` where that holds the task already."""
    conflicts: tuple[ConflictingFile, ...] = ()
    words: str = ""
    """What git says of the conflicts."""


def compute_merge(
    main: Repository, onto: str, wanted: TaskCommit, *, way: MergeWay = MergeWay.MERGE
) -> Merge:
    """Merge a task's commit onto a commit of the project's branch. Raises GitRefused, NotOneByOne.

    What the task's commits change of sow's own files is left out. Both
    commits must be in the main repository. Every way comes to the same files.
    """
    view = view_of(main.top)
    if is_merged(main, onto, wanted.commit):
        return Merge(onto, onto)
    author = identity_of(main.top)
    ours, theirs = _sides(view, onto, wanted)
    merged = merge_trees(view, ours, theirs)
    if merged.conflicts:
        files = _with_tasks(view, onto, wanted.commit, merged.conflicts)
        return Merge(onto, None, files, merged.words)
    if way is MergeWay.REBASE:
        mark, base = _mark_of(wanted), wanted.facts.base
        series = Series(wanted.task, mark, onto, wanted.commit, base, wanted.facts.own_paths)
        rebased = rebase(view, series, merged.tree, author)
        if rebased is not None:
            return Merge(onto, rebased)
    parents = [onto, wanted.commit] if way is MergeWay.MERGE else [onto]
    words = [word for parent in parents for word in ("-p", parent)]
    stdin = _message(wanted, way).encode("utf-8", "replace")
    commit = view.text("commit-tree", merged.tree, *words, stdin=stdin, variables=author)
    return Merge(onto, commit)


def is_merged(main: Repository, project: str, commit: str, remembered: str | None = None) -> bool:
    """Whether the project's branch holds a task's commit: as an ancestor, squashed or rebased.

    `remembered` is the commit that the task's record names as what brought it.
    Without it, the messages on the project's own line tell. Raises GitRefused.
    """
    view = view_of(main.top)
    tip = view.commit_of(project)
    if tip is None or view.commit_of(commit) is None:
        return False
    if view.is_ancestor(commit, tip):
        return True
    if remembered and view.commit_of(remembered) and view.is_ancestor(remembered, tip):
        return True
    return is_brought_otherwise(view, tip, commit)


def _sides(view: View, onto: str, wanted: TaskCommit) -> tuple[str, str]:
    """Return the two commits to merge; what is sow's own is the project's in both."""
    own = wanted.facts.own_paths
    with scratch_folder("index") as scratch:
        tree = with_paths_of(view, f"{wanted.commit}^{{tree}}", onto, own, f"{scratch}/index")
    theirs = scratch_commit(view, tree, NOBODY, wanted.commit)
    return project_side(view, onto, wanted.commit), theirs


def _with_tasks(
    view: View, onto: str, commit: str, paths: Sequence[str]
) -> tuple[ConflictingFile, ...]:
    """Return the files in conflict, each with the tasks that brought it to the project's side.

    Merge by merge: a log limited to a path leaves some out where several
    commits are of the same second (seen with git 2.39).
    """
    brought: dict[str, dict[str, None]] = {path: {} for path in paths}
    for merge, mark, _ in marks_since(view, onto, commit):
        if mark:
            words = ("diff-tree", "-r", "-z", "--name-only", "--no-renames", f"{merge}^1", merge)
            for path in brought.keys() & set(view.records(*words, seconds=LONG_SECONDS)):
                brought[path][_task_of(mark)] = None
    return tuple(ConflictingFile(path, tuple(tasks)) for path, tasks in brought.items())


def _mark_of(wanted: TaskCommit) -> str:
    """Return how the message of a merge names the task: as its branch does."""
    return wanted.facts.branch.removeprefix("sow/")


def _task_of(mark: str) -> str:
    return mark.rpartition("/")[2]


def _message(wanted: TaskCommit, way: MergeWay) -> str:
    """Return a merge's message. A task's title is text of others: it stays one line of it."""
    title = " ".join(wanted.title.split())[:200] or wanted.task
    first = f"Merge task {wanted.task}: {title}" if way is MergeWay.MERGE else title
    return f"{first}\n\n{mark_lines(_mark_of(wanted), wanted.commit)}"
