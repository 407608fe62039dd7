"""How the project's own commits remember in their messages which task's commit they bring.

Only the project's own line counts, the first parents of its branch: elsewhere
an agent may write what it likes.

A squash and a rebase bring a task's commits by other ones, so that they are no ancestors of
the project's branch. Whoever merges a branch that goes on from such a commit (that of a task which
depends on it, above all) has to know: git alone would take what came by two ways for two changes of
the same lines. Writes objects alone.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from sow.git.git_errors import GitRefused
from sow.git.merge_tree import scratch_commit
from sow.git.run import LONG_SECONDS
from sow.git.view import View, view_of
from sow.schema.task import TaskMerge

TASK_MARK = "Sow-Task"
"""Whose it is."""
COMMIT_MARK = "Sow-Commit"
"""The task's commit, which a squash does not hold as a parent."""
MARKS = "%x00".join(
    (
        *("%H", "%P"),
        *(f"%(trailers:key={mark},valueonly,separator=%x2C)" for mark in (TASK_MARK, COMMIT_MARK)),
    )
)
FALSE = re.compile(rf"(?i)\W*(?:{TASK_MARK}|{COMMIT_MARK})\b|.*-{{20,}} >8 -{{20,}}")
"""A line that git could take for one of ours, or for the end of a message, which hides ours."""


class Mark(NamedTuple):
    """A commit of the project's own line, and what its message says."""

    commit: str
    parents: str
    """With a blank between two."""
    task: str
    """Empty where the message names none."""
    brought: str
    """The task's commit."""


def mark_lines(mark: str, commit: str) -> str:
    """Return the last lines of a message that brings a commit of the task that `mark` names."""
    return f"{TASK_MARK}: {mark}\n{COMMIT_MARK}: {commit}\n"


def marked(message: str, mark: str, commit: str) -> str:
    """Return an agent's own message with our last lines, and none that looks like them."""
    kept = [line for line in message.splitlines() if not FALSE.match(line)]
    return "\n".join(kept).rstrip() + f"\n\n{mark_lines(mark, commit)}"


def marks_since(view: View, tip: str, commit: str) -> list[Mark]:
    """Return the project's own commits since `commit` went apart, the newest first.

    Raises GitRefused.
    """
    words = ("log", "-z", "--first-parent", f"--format={MARKS}", tip, f"^{commit}")
    records = view.records(*words, seconds=LONG_SECONDS)
    count = len(Mark._fields)
    return [Mark(*records[at : at + count]) for at in range(0, len(records), count)]


def brought_by(view: View, project: str, commit: str) -> str:
    """Return the commit of the project's own line that brought a merged commit, by its message.

    A commit that nobody has merged by sow came as it is. Raises GitRefused.
    """
    format_ = f"--format={MARKS}"
    fixed = ("--fixed-strings", f"--grep={COMMIT_MARK}: {commit}")
    words = ("log", "-z", "--first-parent", "--max-count=1", *fixed, format_, project)
    records = view.records(*words, seconds=LONG_SECONDS)
    return records[0] if records and Mark(*records).brought == commit else commit


Marks = Sequence[Mark]
"""What `marks_since` returns."""


def project_side(view: View, project: str, other: str, marks: Marks | None = None) -> str:
    """Return the commit to merge `other` with: the project's, or one like it with more parents.

    These are what of `other` was brought otherwise, so that the two have it in common. `marks` are
    those since `other` went apart, where the caller has them. Raises GitRefused.
    """
    brought = _brought_otherwise(view, project, other, marks)
    if not brought:
        return project
    return scratch_commit(view, f"{project}^{{tree}}", project, *brought)


def is_named(marks: Marks, commit: str) -> bool:
    """Whether one of the messages names the commit."""
    return any(mark.brought == commit for mark in marks)


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


def _brought_otherwise(
    view: View, project: str, other: str, marks: Marks | None
) -> tuple[str, ...]:
    """Return the newest such commit of each task."""
    if marks is None:
        marks = marks_since(view, project, other)
    # What a merge has for a parent came as it is: git need not be asked about it.
    otherwise = [mark for mark in marks if mark.brought not in ("", *mark.parents.split())]
    if not otherwise:
        return ()
    words = ("rev-list", other, f"^{project}")
    apart = set(view.text(*words, seconds=LONG_SECONDS).splitlines())
    newest: dict[str, str] = {}
    for mark in otherwise:
        if mark.brought in apart:
            newest.setdefault(mark.task, mark.brought)
    return tuple(dict.fromkeys(newest.values()))
