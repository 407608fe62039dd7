"""A task's own commits made anew, one by one, on the project's branch, without a working tree.

Owns which commits those are, and that they come to what a merge comes to: a
verdict was given on that. Merges among them are left out, and so is whatever
brings nothing. Writes objects alone.
"""

import re
from collections.abc import Mapping, Sequence

from msgspec import Struct

from sow.clones.merge_marks import marked, marks_since
from sow.errors import StateError
from sow.files.scratch import scratch_folder
from sow.git.merge_tree import merge_trees, scratch_commit, with_paths_of
from sow.git.run import LONG_SECONDS
from sow.git.view import View
from sow.lifecycle.refusal_steps import first_after

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
            hint="Nothing was changed. It can be merged as it is, or as one commit:"
            f" `{first_after(self)}`, `sow merge {task} --squash`.",
        )


class Series(Struct, frozen=True):
    """What is to be made anew."""

    task: str
    mark: str
    """How messages name the task."""
    onto: str
    tip: str
    """The last commit of the task."""
    base: str
    """The commit at which the task began."""
    own: tuple[str, ...]
    """The paths that stay as the project has them."""


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


def rebase(view: View, series: Series, tree: str, committer: Mapping[str, str]) -> str | None:
    """Return the last of the commits made anew; None where not one of them brings anything.

    `tree` is what a merge comes to. Raises NotOneByOne, GitRefused.
    """
    with scratch_folder("index") as scratch:
        steps = _steps(view, series, committer, f"{scratch}/index")
    if steps and steps[-1][1] != tree:
        why = "one by one, its commits come to other files than its merge does"
        raise NotOneByOne(series.task, why)
    at = series.onto
    for number, (commit, result) in enumerate(steps, 1):
        stands_for = series.tip if number == len(steps) else commit.name
        message = marked(commit.message, series.mark, stands_for)
        at = view.text(
            *("-c", "i18n.commitEncoding=UTF-8", "commit-tree", result, "-p", at),
            stdin=message.encode("utf-8", "replace"),
            variables={**committer, **commit.author},
        )
    return at if steps else None


def _steps(
    view: View, series: Series, identity: Mapping[str, str], index: str
) -> list[tuple[Commit, str]]:
    """Return each commit that brings something, with the tree that it comes to."""
    steps: list[tuple[Commit, str]] = []
    at = view.text("rev-parse", f"{series.onto}^{{tree}}")
    trees: dict[str | None, str] = {}
    for commit in _commits(view, series):
        if commit.parent not in trees:
            trees[commit.parent] = _tree(view, series, _tree_of(view, commit.parent), index)
        before = trees[commit.parent]
        after = trees[commit.name] = _tree(view, series, commit.tree, index)
        result = (
            after if before == at else _applied(view, series, commit, at, before, after, identity)
        )
        if result != at:
            steps.append((commit, result))
            at = result
    return steps


def _applied(
    view: View,
    series: Series,
    commit: Commit,
    at: str,
    before: str,
    after: str,
    identity: Mapping[str, str],
) -> str:
    """Return `at` with what leads from `before` to `after`. Raises NotOneByOne."""
    base = scratch_commit(view, before, identity)
    ours, theirs = (scratch_commit(view, tree, identity, base) for tree in (at, after))
    merged = merge_trees(view, ours, theirs)
    if merged.conflicts:
        names = ", ".join(merged.conflicts[:SHOWN])
        why = f"its commit {commit.shown} does not apply alone, because of {names}"
        raise NotOneByOne(series.task, why)
    return merged.tree


def _tree_of(view: View, commit: str | None) -> str:
    """Return a commit's tree; without a commit, the empty one."""
    return (
        view.text("rev-parse", f"{commit}^{{tree}}") if commit else view.text("mktree", stdin=b"")
    )


def _tree(view: View, series: Series, tree: str, index: str) -> str:
    """Return a tree with what is sow's own as the project has it."""
    return with_paths_of(view, tree, series.onto, series.own, index)


def _commits(view: View, series: Series) -> list[Commit]:
    """Return the task's own commits that the project has not, the oldest first.

    What an earlier merge has brought counts as had, whatever it was made of.
    """
    had = (commit for *_, commit in marks_since(view, series.onto, series.base))
    names = [f"{series.onto}...{series.tip}", *(f"^{name}" for name in had if NAME.fullmatch(name))]
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
