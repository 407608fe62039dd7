"""A task's commit merged into the project's branch, computed without a working tree.

Computing writes objects and nothing else; `branch_move` makes the result the
project's. The main repository's own settings hold here, as for a merge by hand.
"""

import re
from collections.abc import Mapping, Sequence

from msgspec import Struct

from sow.clones.clone_facts import CloneFacts, text_of
from sow.clones.merge_marks import (
    Marks,
    is_named,
    mark_lines,
    marked,
    marks_since,
    project_side,
)
from sow.errors import StateError
from sow.git.git_errors import GitRefused
from sow.git.identity import COMMITTER, identity_of
from sow.git.merge_tree import merge_trees, scratch_commit, side_of, with_paths_of
from sow.git.repository import Repository
from sow.git.run import LONG_SECONDS
from sow.git.view import View, view_of
from sow.lifecycle.refusal_steps import first_after
from sow.schema.job_terms import MergeWay

FIELDS = ("%H", "%T", "%P", "%an", "%ae", "%ad", "%B")
NO_NAME = " .,:;<>\"\\'"
"""What git leaves out at the ends of a name."""
NAME = re.compile(r"(?:[0-9a-f]{40}|[0-9a-f]{64})")
SHOWN = 12


class NotOneByOne(StateError):
    """The commits of a task do not apply one by one, though its work can be merged."""

    def __init__(self, task: str, why: str) -> None:
        self.task_id = task
        super().__init__(
            f"task {task} cannot be rebased: {why}",
            hint=f"Nothing was changed. Merge it without a rebase (`{first_after(self)}`) or as"
            f" one commit (`sow merge {task} --squash`).",
        )


class TaskCommit(Struct, frozen=True):
    """What is to be merged."""

    task: str
    """The task's id."""
    title: str
    """What the task is called."""
    commit: str
    facts: CloneFacts


class Commit(Struct, frozen=True):
    """One of the task's own."""

    name: str
    tree: str
    parent: str | None
    author: Mapping[str, str]
    message: str

    @property
    def shown(self) -> str:
        """How a person finds it."""
        return f"{self.name[:12]} ({self.message.strip().partition(chr(10))[0][:60]})"


def rebase(
    view: View, onto: str, wanted: TaskCommit, tree: str, committer: Mapping[str, str]
) -> str | None:
    """Return the last of the commits made anew; None where not one of them brings anything.

    `tree` is what a merge comes to. Raises NotOneByOne, GitRefused.
    """
    steps = _steps(view, onto, wanted)
    if steps and steps[-1][1] != tree:
        why = "its commits applied one by one give other files than its merge"
        raise NotOneByOne(wanted.task, why)
    at = onto
    for number, (commit, result) in enumerate(steps, 1):
        stands_for = wanted.commit if number == len(steps) else commit.name
        message = marked(commit.message, _mark_of(wanted), stands_for)
        at = view.text(
            *("-c", "i18n.commitEncoding=UTF-8", "commit-tree", result, "-p", at),
            stdin=message.encode("utf-8", "replace"),
            variables={**committer, **commit.author},
        )
    return at if steps else None


def _steps(view: View, onto: str, wanted: TaskCommit) -> list[tuple[Commit, str]]:
    """Return each commit that brings something, with the tree that it comes to."""
    steps: list[tuple[Commit, str]] = []
    at = view.text("rev-parse", f"{onto}^{{tree}}")
    trees: dict[str | None, str] = {}
    own = wanted.facts.own_paths  # in each of them as the project has it
    for commit in _commits(view, onto, wanted):
        if commit.parent not in trees:
            trees[commit.parent] = with_paths_of(view, _tree_of(view, commit.parent), onto, own)
        before = trees[commit.parent]
        after = trees[commit.name] = with_paths_of(view, commit.tree, onto, own)
        result = after if before == at else _applied(view, wanted, commit, at, before, after)
        if result != at:
            steps.append((commit, result))
            at = result
    return steps


def _applied(
    view: View, wanted: TaskCommit, commit: Commit, at: str, before: str, after: str
) -> str:
    """Return `at` with what leads from `before` to `after`. Raises NotOneByOne."""
    base = scratch_commit(view, before)
    ours, theirs = (scratch_commit(view, tree, base) for tree in (at, after))
    merged = merge_trees(view, ours, theirs)
    if merged.conflicts:
        names = text_of(merged.conflicts, SHOWN)
        why = f"its commit {commit.shown} does not apply on its own, because of {names}"
        raise NotOneByOne(wanted.task, why)
    return merged.tree


def _tree_of(view: View, commit: str | None) -> str:
    """Return a commit's tree; without a commit, the empty one."""
    return (
        view.text("rev-parse", f"{commit}^{{tree}}") if commit else view.text("mktree", stdin=b"")
    )


def _commits(view: View, onto: str, wanted: TaskCommit) -> list[Commit]:
    """Return the task's own commits that the project has not, the oldest first.

    What an earlier merge has brought counts as had, whatever it was made of.
    """
    had = (mark.brought for mark in marks_since(view, onto, wanted.facts.base))
    names = [f"{onto}...{wanted.commit}", *(f"^{name}" for name in had if NAME.fullmatch(name))]
    records = view.records(
        *("log", "-z", "--reverse", "--topo-order", "--no-merges", "--no-show-signature"),
        *("--cherry-pick", "--right-only", "--ignore-missing", "--date=raw", "--encoding=UTF-8"),
        f"--format={'%x00'.join(FIELDS)}",
        "--stdin",
        stdin="".join(f"{name}\n" for name in names).encode(),
        seconds=LONG_SECONDS,
    )
    count = len(FIELDS)
    return [_commit(records[at : at + count]) for at in range(0, len(records), count)]


def _commit(fields: Sequence[str]) -> Commit:
    name, tree, parents, author, address, date, message = fields
    who = {"GIT_AUTHOR_NAME": author, "GIT_AUTHOR_EMAIL": address} if author.strip(NO_NAME) else {}
    when = {"GIT_AUTHOR_DATE": f"@{date}"}
    return Commit(name, tree, parents or None, {**who, **when}, message)


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
    marks: Marks | None = None
    """Those of `onto` since the task's commit; None where it has that."""
    committer: str | None = None
    """The address of whoever made the commit; None where none was made."""


def compute_merge(
    main: Repository, onto: str, wanted: TaskCommit, *, way: MergeWay = MergeWay.MERGE
) -> Merge:
    """Merge a task's commit onto a commit of the project's branch. Raises GitRefused, NotOneByOne.

    What the task's commits change of sow's own files is left out. Both
    commits must be in the main repository. Every way comes to the same files.
    """
    view = view_of(main.top)
    if view.is_ancestor(wanted.commit, onto):
        return Merge(onto, onto)
    marks = marks_since(view, onto, wanted.commit)
    if is_named(marks, wanted.commit):
        return Merge(onto, onto)
    author = identity_of(main.top)
    theirs = side_of(view, wanted.commit, onto, wanted.facts.own_paths)
    merged = merge_trees(view, project_side(view, onto, wanted.commit, marks), theirs)
    if merged.conflicts:
        files = _with_tasks(view, onto, wanted.commit, merged.conflicts)
        return Merge(onto, None, files, merged.words)
    committer = author[COMMITTER]
    if way is MergeWay.REBASE:
        rebased = rebase(view, onto, wanted, merged.tree, author)
        if rebased is not None:
            return Merge(onto, rebased, marks=marks, committer=committer)
    parents = [onto, wanted.commit] if way is MergeWay.MERGE else [onto]
    words = [word for parent in parents for word in ("-p", parent)]
    stdin = _message(wanted, way).encode("utf-8", "replace")
    commit = view.text("commit-tree", merged.tree, *words, stdin=stdin, variables=author)
    return Merge(onto, commit, marks=marks, committer=committer)


def is_merged(main: Repository, project: str, commit: str, remembered: str | None = None) -> bool:
    """Whether the project's branch holds a task's commit: as an ancestor, squashed or rebased.

    `remembered` is the commit that the task's record names as what brought it.
    Without it, the messages on the project's own line tell. Raises GitRefused.
    """
    view = view_of(main.top)
    try:
        if view.is_ancestor(commit, project):
            return True
    except GitRefused:
        if view.commit_of(project) is None or view.commit_of(commit) is None:
            return False
        raise
    if remembered and view.commit_of(remembered) and view.is_ancestor(remembered, project):
        return True
    return is_named(marks_since(view, project, commit), commit)


def _with_tasks(
    view: View, onto: str, commit: str, paths: Sequence[str]
) -> tuple[ConflictingFile, ...]:
    """Return the files in conflict, each with the tasks that brought it to the project's side.

    Merge by merge: a log limited to a path leaves some out where several
    commits are of the same second (seen with git 2.39).
    """
    brought: dict[str, dict[str, None]] = {path: {} for path in paths}
    for mark in marks_since(view, onto, commit):
        if mark.task:
            commits = (f"{mark.commit}^1", mark.commit)
            words = ("diff-tree", "-r", "-z", "--name-only", "--no-renames", *commits)
            for path in brought.keys() & set(view.records(*words, seconds=LONG_SECONDS)):
                brought[path][_task_of(mark.task)] = None
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
