"""Exactly what one task has changed: not what its base, its dependencies or the project brought.

The project's state and what steers sow in `.sow` is no part of it; that a task's commits
touch it is told.
"""

from collections.abc import Sequence

from msgspec import Struct

from sow.clones.clone_facts import CloneFacts
from sow.clones.merge_marks import Marks, project_side
from sow.clones.steering import steering_files
from sow.git.git_errors import GitRefused
from sow.git.merge_tree import merge_trees
from sow.git.run import LONG_SECONDS
from sow.git.view import WITH_PATTERNS, View

PLAIN = ("--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=dirty")
"""A difference that no program of the repository takes part in."""
STAT_WIDTH = "--stat=100"


class Difference(Struct, frozen=True):
    """A task's own change."""

    base: str
    """The commit, or the tree, that it is told against."""
    commit: str
    files: tuple[str, ...]
    """All files that it adds, changes or removes; of a renamed one both names."""
    state_files: tuple[str, ...] = ()
    """What its commits change of sow's own files: left out everywhere else."""
    steers: tuple[str, ...] = ()
    """Those of its files that steer agents or machines, and what it has in `.sow/run`."""


def difference(
    view: View,
    facts: CloneFacts,
    commit: str,
    project: str | None = None,
    marks: Marks | None = None,
) -> Difference:
    """Return what the task's commits up to `commit` change.

    `project` is the last commit of the project's branch: what the task's branch
    took from there since it began is not the task's. `marks` are those of `project` since
    `commit`, where the caller has them. Raises GitRefused.
    """
    base = own_base(view, facts.base, commit, project, marks)
    words = ("diff-tree", "-r", "-z", "--name-only", "--no-renames", base, commit)
    paths = view.records(*words, seconds=LONG_SECONDS)
    files = tuple(path for path in paths if not facts.is_own(path))
    state = tuple(path for path in paths if facts.is_own(path))
    records = filter(facts.holds_records, state)  # left out too, but nobody makes it by mistake
    return Difference(base, commit, files, state, steering_files((*files, *records)))


def own_base(
    view: View, base: str, commit: str, project: str | None, marks: Marks | None = None
) -> str:
    """Return what to compare a task's commit with: where it began, or what it has taken in since.

    That is the newest commit on the project's own line that the task's branch
    holds. Merges into the project's branch have the project as first parent, so
    the task's own commits never lie on that line; where somebody has moved the
    branch to the task's commit, the base stays. Raises GitRefused.
    """
    if project and marks is not None:
        newest = _below(project, [mark.parents for mark in marks])
    else:
        newest = project and _newest_contained(view, commit, project)
    if not newest or newest in (base, commit):
        return base
    common = view.text("merge-base", newest, base, accepted=(0, 1))
    if common == newest:
        return base
    if common == base:
        return newest
    return merge_trees(view, base, project_side(view, newest, base)).tree


def _newest_contained(view: View, commit: str, project: str) -> str | None:
    words = ("rev-list", "--first-parent", "--parents", project, f"^{commit}")
    code, output, complaint = view.answer(*words)
    if code != 0:
        if view.commit_of(project) is None:
            return None
        raise GitRefused(view.folder, words, code, complaint)
    outside = output.decode().splitlines()
    return _below(project, [line.partition(" ")[2] for line in outside])


def _below(project: str, outside: Sequence[str]) -> str | None:
    """Return the newest commit of the project's line that the task's branch has.

    `outside` are the parents of each commit of that line that it has not, the newest first.
    """
    if not outside:
        return project
    parents = outside[-1].split()
    return parents[0] if parents else None


def patch_of(view: View, facts: CloneFacts, found: Difference | None) -> bytes:
    """Return a difference as a patch; None stands for that of a working tree from its HEAD.

    Untracked files are not in it. Raises GitRefused.
    """
    return _diff(view, facts, found, "--patch")


def stat_of(view: View, facts: CloneFacts, found: Difference | None) -> bytes:
    """Return the same as a line for each file. Raises GitRefused."""
    return _diff(view, facts, found, STAT_WIDTH)


def _diff(view: View, facts: CloneFacts, found: Difference | None, form: str) -> bytes:
    commits = (found.base, found.commit) if found is not None else ("HEAD",)
    without = facts.own_paths[1:] if found is not None else (facts.project_folder,)
    everything = ("--", ":(top)", *(f":(top,exclude,literal,icase){path}" for path in without))
    words = ("diff", *PLAIN, form, "-M", *commits, *everything)
    return view.raw(*words, variables=WITH_PATTERNS, seconds=LONG_SECONDS)


def working_tree_files(view: View, facts: CloneFacts) -> tuple[str, ...]:
    """Return what in a working tree differs from its HEAD, untracked files too: everybody's.

    Raises GitRefused.
    """
    words = ("diff", *PLAIN, "-z", "--name-only", "--no-renames", "HEAD")
    changed = view.records(*words, seconds=LONG_SECONDS)
    others = view.records("ls-files", "-z", "--others", "--exclude-standard", seconds=LONG_SECONDS)
    found = sorted({*changed, *others})
    return tuple(path for path in found if not facts.holds_state(path))
