"""What of a branch the project's branch holds though its commits are none of its ancestors.

A squash and a rebase bring a task's commits by other ones, whose messages name them.
Whoever merges a branch that goes on from such a commit (that of a task which depends on it,
above all) has to know: git alone would take what came by two ways for two changes of the same
lines. Writes objects alone.
"""

from sow.clones.merge_marks import marks_since
from sow.git.identity import NOBODY
from sow.git.merge_tree import scratch_commit
from sow.git.run import LONG_SECONDS
from sow.git.view import View


def project_side(view: View, project: str, other: str) -> str:
    """Return the commit to merge `other` with: the project's, or one like it with more parents.

    These are what of `other` was brought otherwise, so that the two have it in common.
    Raises GitRefused.
    """
    brought = _brought_otherwise(view, project, other)
    if not brought:
        return project
    return scratch_commit(view, f"{project}^{{tree}}", NOBODY, project, *brought)


def is_brought_otherwise(view: View, project: str, commit: str) -> bool:
    """Whether a message of the project's own line names the commit. Raises GitRefused."""
    return any(marked == commit for _, _, marked in marks_since(view, project, commit))


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
