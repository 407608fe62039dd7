"""What of a branch the project's branch holds though its commits are none of its ancestors.

A squash and a rebase bring a task's commits by other ones, whose messages name them.
Whoever merges a branch that goes on from such a commit (that of a task which depends on it,
above all) has to know: git alone would take what came by two ways for two changes of the same
lines. Writes objects alone.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from sow.clones.merge_marks import brought_by, marks_since
from sow.git.git_errors import GitRefused
from sow.git.merge_tree import scratch_commit
from sow.git.run import LONG_SECONDS
from sow.git.view import View, view_of
from sow.schema.task import TaskMerge


def project_side(view: View, project: str, other: str) -> str:
    """Return the commit to merge `other` with: the project's, or one like it with more parents.

    These are what of `other` was brought otherwise, so that the two have it in common.
    Raises GitRefused.
    """
    brought = _brought_otherwise(view, project, other)
    if not brought:
        return project
    return scratch_commit(view, f"{project}^{{tree}}", project, *brought)


def is_brought_otherwise(view: View, project: str, commit: str) -> bool:
    """Whether a message of the project's own line names the commit. Raises GitRefused."""
    return any(marked == commit for _, _, marked in marks_since(view, project, commit))


def lost_results(folder: Path, project: str, merges: Sequence[TaskMerge]) -> Iterator[str]:
    """Yield the commits that brought tasks' work, and that the project's branch has no more.

    One that somebody has written anew, message and all, is there. Raises GitRefused.
    """
    view = view_of(folder)
    apart = _apart(view, project, sorted({merge.result for merge in merges}))
    for merge in merges:
        if merge.result in apart and brought_by(view, project, merge.commit) == merge.commit:
            yield merge.result


def _apart(view: View, project: str, commits: Sequence[str]) -> set[str]:
    """Return which of some commits are no ancestors of the project's, or are not there."""
    try:
        words = ("rev-list", *commits, f"^{project}")
        return {*view.text(*words, seconds=LONG_SECONDS).splitlines()} & {*commits}
    except GitRefused:  # one of them is no commit here
        return {
            commit
            for commit in commits
            if view.commit_of(commit) is None or not view.is_ancestor(commit, project)
        }


def _brought_otherwise(view: View, project: str, other: str) -> tuple[str, ...]:
    """Return the newest such commit of each task."""
    marks = marks_since(view, project, other)
    if not marks:
        return ()
    words = ("rev-list", other, f"^{project}")
    apart = set(view.text(*words, seconds=LONG_SECONDS).splitlines())
    newest: dict[str, str] = {}
    for _, task, commit in marks:
        if commit in apart:
            newest.setdefault(task, commit)
    return tuple(dict.fromkeys(newest.values()))
