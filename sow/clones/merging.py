"""A task's commit merged into the project's branch, computed without a working tree.

Computing writes objects and nothing else; `moving` makes the result the
project's. The main repository's own settings hold here, as for a merge by hand.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from tempfile import TemporaryDirectory

from sow.clones.facts import CloneFacts
from sow.git.identity import identity_of
from sow.git.merge_tree import merge_trees, with_folder_of
from sow.git.repository import Repository
from sow.git.run import LONG_SECONDS
from sow.git.view import View, view_of

TASK_MARK = "Sow-Task"
"""In the message of a merge: whose it is."""
COMMIT_MARK = "Sow-Commit"
"""In the message of a merge: the task's commit, which a squash does not hold as a parent."""
MARKS = "%x00".join(
    (
        "%H",
        *(f"%(trailers:key={mark},valueonly,separator=%x2C)" for mark in (TASK_MARK, COMMIT_MARK)),
    )
)


@dataclass(frozen=True)
class TaskCommit:
    """What is to be merged."""

    task: str
    """The task's id."""
    title: str
    """What the task is called."""
    commit: str
    facts: CloneFacts


@dataclass(frozen=True)
class ConflictingFile:
    """A file that cannot be merged, and the merged tasks that changed it on the project's side."""

    path: str
    tasks: tuple[str, ...]


@dataclass(frozen=True)
class Merge:
    """What a merge comes to: a commit, or the files in conflict. Nothing is changed by it."""

    onto: str
    """The commit that it goes on from."""
    commit: str | None
    """The merge's commit; the same as `onto` where that holds the task already."""
    conflicts: tuple[ConflictingFile, ...] = ()
    words: str = ""
    """What git says of the conflicts."""


def compute_merge(
    main: Repository, onto: str, wanted: TaskCommit, *, squash: bool = False
) -> Merge:
    """Merge a task's commit onto a commit of the project's branch. Raises GitRefused.

    What the task's commits change below `.sow/project` is left out. Both
    commits must be in the main repository.
    """
    view = view_of(main.top)
    if is_merged(main, onto, wanted.commit):
        return Merge(onto, onto)
    author = identity_of(main.top)
    with TemporaryDirectory(prefix="sow-index-") as name:
        ours, theirs = _sides(view, onto, wanted, author, scratch=f"{name}/index")
    merged = merge_trees(view, ours, theirs)
    if merged.conflicts:
        files = _with_tasks(view, onto, wanted.commit, merged.conflicts)
        return Merge(onto, None, files, merged.words)
    parents = [onto] if squash else [onto, wanted.commit]
    words = [word for parent in parents for word in ("-p", parent)]
    stdin = _message(wanted, squash=squash).encode("utf-8", "replace")
    commit = view.text("commit-tree", merged.tree, *words, stdin=stdin, variables=author)
    return Merge(onto, commit)


def is_merged(main: Repository, project: str, commit: str, remembered: str | None = None) -> bool:
    """Whether the project's branch holds a task's commit: as an ancestor, or squashed.

    `remembered` is the commit that the task's record names as its squash.
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
    return any(marked == commit for _, _, marked in _marks(view, tip, commit))


def brought_by(main: Repository, project: str, commit: str) -> str:
    """Return the commit of the project's own line that brought a merged commit, by its message.

    A commit that nobody has merged by sow came as it is. Raises GitRefused.
    """
    view = view_of(main.top)
    format_ = f"--format={MARKS}"
    fixed = ("--fixed-strings", f"--grep={COMMIT_MARK}: {commit}")
    words = ("log", "-z", "--first-parent", "--max-count=1", *fixed, format_, project)
    records = view.records(*words, seconds=LONG_SECONDS)
    return records[0] if records and records[2] == commit else commit


def _sides(
    view: View, onto: str, wanted: TaskCommit, author: Mapping[str, str], *, scratch: str
) -> tuple[str, str]:
    """Return the two commits to merge: the task's with the project's state as the project has it.

    Where an earlier commit of the task was squashed into the project, the two
    are given that one as their common ancestor: what it brought is no conflict.
    """
    folder = wanted.facts.project_folder
    tree = with_folder_of(view, wanted.commit, onto, folder, scratch)
    squashed = _squashed_before(view, onto, wanted)
    if squashed is None:
        theirs = _commit(view, tree, author, wanted.commit)
        return onto, theirs
    earlier = with_folder_of(view, squashed, onto, folder, scratch)
    base = _commit(view, earlier, author)
    return _commit(view, f"{onto}^{{tree}}", author, base), _commit(view, tree, author, base)


def _commit(view: View, tree: str, author: Mapping[str, str], *parents: str) -> str:
    """Make a commit that only this computation sees."""
    words = [word for parent in parents for word in ("-p", parent)]
    name = view.text("rev-parse", tree)
    return view.text("commit-tree", name, *words, stdin=b"One side\n", variables=author)


def _squashed_before(view: View, onto: str, wanted: TaskCommit) -> str | None:
    """Return the task's newest commit that was squashed into the project since they went apart."""
    for squash, task, commit in _marks(view, onto, wanted.commit):
        if task == _mark_of(wanted) and view.commit_of(commit):
            apart = not view.is_ancestor(squash, wanted.commit)
            if apart and view.is_ancestor(commit, wanted.commit):
                return commit
    return None


def _marks(view: View, tip: str, commit: str) -> list[tuple[str, str, str]]:
    """Return the project's own commits since the task's went apart: each with whose it is."""
    words = ("log", "-z", "--first-parent", f"--format={MARKS}", tip, f"^{commit}")
    records = view.records(*words, seconds=LONG_SECONDS)
    return list(zip(records[::3], records[1::3], records[2::3], strict=True))


def _with_tasks(
    view: View, onto: str, commit: str, paths: Sequence[str]
) -> tuple[ConflictingFile, ...]:
    """Return the files in conflict, each with the tasks that brought it to the project's side.

    Merge by merge: a log limited to a path leaves some out where several
    commits are of the same second (seen with git 2.39).
    """
    brought: dict[str, dict[str, None]] = {path: {} for path in paths}
    for merge, mark, _ in _marks(view, onto, commit):
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


def _message(wanted: TaskCommit, *, squash: bool) -> str:
    """Return a merge's message. A task's title is text of others: it stays one line of it."""
    title = " ".join(wanted.title.split())[:200] or wanted.task
    first = title if squash else f"Merge task {wanted.task}: {title}"
    return f"{first}\n\n{TASK_MARK}: {_mark_of(wanted)}\n{COMMIT_MARK}: {wanted.commit}\n"
