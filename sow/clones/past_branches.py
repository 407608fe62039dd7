"""The branches of tasks of the checkout's other projects, and which of them can go.

What such a branch holds counts as kept where another name leads to it that is
no branch of a task.
"""

import re
from collections.abc import Sequence

from msgspec import Struct

from sow.clones.main_checkout import Checkout
from sow.clones.place import ID_DIGITS, Place
from sow.git.view import view_of

BRANCH = re.compile(r"sow/[a-z0-9-]+-(?P<project>[0-9a-f]{8})/(?P<task>\d+)")
NO_TASKS = ("--not", "--exclude=refs/heads/sow/*", "--all")
"""Words of `rev-list`: what is reached from names other than those of tasks' branches."""


class PastBranch(Struct, frozen=True):
    """The branch of a task of such a project."""

    name: str
    project: str
    task: str
    commit: str
    alone: int
    """How many of its commits no other name leads to, those of other tasks' branches apart."""
    subject: str
    """The first line of its last commit."""
    has_clone: bool = False
    """Whether the clone of its task is there."""
    is_checked_out: bool = False

    @property
    def reasons(self) -> tuple[str, ...]:
        """What stands against removing it, in a few words each."""
        found = ["its clone is there"] if self.has_clone else []
        if self.is_checked_out:
            found.append("it is checked out")
        if self.alone:
            some = f"{self.alone} commit{'s' * (self.alone != 1)}"
            found.append(f"{some} on no other branch, the newest: {self.subject}")
        return tuple(found)


def past_branches(
    here: Checkout, clones: Sequence[Place], besides: str | None, only: str | None = None
) -> list[PastBranch]:
    """Return the branches of tasks of other projects. Raises GitRefused.

    `clones` are the places of clones that are there still.
    """
    view = view_of(here.repository.top)
    words = ("for-each-ref", "--format=%(objectname) %(refname:lstrip=2) %(subject)")
    trees = view.text("worktree", "list", "--porcelain")
    used = set(re.findall(r"^branch refs/heads/(.+)$", trees, re.MULTILINE))
    places = {(place.project[:ID_DIGITS], place.task) for place in clones}
    found = []
    for line in view.text(*words, "refs/heads/sow/").splitlines():
        commit, name, subject = line.split(" ", 2)
        named = BRANCH.fullmatch(name)
        if named is None or (besides or "")[:ID_DIGITS] == named["project"]:
            continue
        if only is not None and only[:ID_DIGITS] != named["project"]:
            continue
        alone = int(view.text("rev-list", "--count", commit, *NO_TASKS))
        has_clone = (named["project"], named["task"]) in places
        branch = PastBranch(
            name, named["project"], named["task"], commit, alone, subject, has_clone, name in used
        )
        found.append(branch)
    return found


def remove_branch(here: Checkout, branch: PastBranch) -> bool:
    """Remove a branch; False where git does not: somebody moves it now. Raises GitMissing."""
    words = ("update-ref", "--no-deref", "-d", f"refs/heads/{branch.name}", branch.commit)
    code, _, _ = view_of(here.repository.top).answer(*words)
    return code == 0
