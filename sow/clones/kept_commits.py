"""Which commits of a clone, or of a repository inside of it, lie in a kept place.

A commit is kept where a name in the main repository leads to it, in the main
repository's own copy of a submodule, or where another repository has it, by the
word of a remote-tracking ref. Reads only.
"""

from collections.abc import Collection, Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, NamedTuple

from sow.git.repository import Repository
from sow.git.view import View, view_of

if TYPE_CHECKING:
    from sow.git.inner_view import InnerRepository
    from sow.git.named_commits import Logged

MOST_ASKED = 100
"""Of so many commits git is asked one by one; any further count as not kept."""
MOST_LOGGED = 1000
"""So many commits are looked at that only a reflog names."""
COMMITS = ("commit", "tag")


def not_in(repository: View, commits: Collection[str], named: Collection[str] = ()) -> set[str]:
    """Return which commits no name of a trusted repository leads to.

    `named` are those that a name of it stands for, as its files say: they only have to be there.
    Raises GitRefused.
    """
    return _not_reached(repository, commits, ("--not", "--all"), named)


def not_below(view: View, commits: Collection[str], kept: Collection[str]) -> set[str]:
    """Return which commits are not part of the history of `kept`. Raises GitRefused."""
    there = types_of(view, kept)
    return _not_reached(view, commits, tuple(f"^{commit}" for commit in there))


def _not_reached(
    view: View, commits: Collection[str], below: Collection[str], reached: Collection[str] = ()
) -> set[str]:
    """Return which commits are not below the words of `rev-list`; what is no commit has to exist.

    So have those that are known to be `reached`. Raises GitRefused.
    """
    types = types_of(view, commits)
    asked = sorted(
        commit for commit, kind in types.items() if kind in COMMITS and commit not in reached
    )
    missing = set(commits) - types.keys()
    if not asked or not _some_unreached(view, asked, below):
        return missing
    lost = {commit for commit in asked[:MOST_ASKED] if _some_unreached(view, [commit], below)}
    return missing | lost | set(asked[MOST_ASKED:])


def _some_unreached(view: View, commits: Iterable[str], below: Iterable[str]) -> bool:
    hidden = [word for word in below if word.startswith("^")]
    words = [word for word in below if not word.startswith("^")]
    return bool(
        view.text("rev-list", "--max-count=1", "--stdin", *words, stdin=_lines(commits, hidden))
    )


def types_of(view: View, objects: Collection[str]) -> dict[str, str]:
    """Return the types of those objects that are there. Raises GitRefused."""
    if not objects:
        return {}
    words = ("cat-file", "--batch-check=%(objectname) %(objecttype)")
    found = {}
    for line in view.text(*words, stdin=_lines(objects)).splitlines():
        name, _, kind = line.partition(" ")
        if kind != "missing":
            found[name] = kind
    return found


def counterparts(main: Repository, found: "InnerRepository") -> list[View]:
    """Return the main repository, and what it has itself of a repository inside a clone."""
    views = [view_of(main.top)]
    if found.module is not None:
        folder = main.common_dir / "modules" / found.module
        if (folder / "HEAD").is_file():
            views.append(View(main.top, {"GIT_DIR": str(folder)}))
    if (main.top / found.path / ".git").exists():
        views.append(view_of(main.top / found.path))
    return views


class LostFromLogs(NamedTuple):
    """Commits that only a reflog names, and that lie in no kept place."""

    left: set[str]
    """Left behind: their branch was removed or moved."""
    reset: set[str]
    """Taken back by a reset."""


def lost_from_logs(
    view: View,
    logged: "Logged",
    named: Collection[str],
    kept: Iterable[View],
    there: Mapping[str, str] | None = None,
) -> LostFromLogs:
    """Return the commits that only a reflog names. Raises GitRefused.

    `there` are the types of all of them that are there, where the caller has asked. What an
    amended commit or a rebase has replaced, and what has the same files as a commit that has a
    name, is not among them.
    """
    there = types_of(view, logged.commits | set(named)) if there is None else there
    asked = sorted(logged.commits & there.keys())
    hidden = [f"^{name}" for name in (set(named) | logged.replaced) & there.keys()]
    below = _parents(view, asked, hidden) if asked else {}
    if not below:
        return LostFromLogs(set(), set())
    reset = _taken_back(view, logged, there) & below.keys()
    left, gone = _tips(below, below.keys() - reset), _tips(below, reset)
    for other in kept:
        left, gone = not_in(other, left), not_in(other, gone)
    trees = _trees(view, there.keys() & set(named), MOST_LOGGED) if left or gone else set()
    return LostFromLogs(
        *({tip for tip in tips if not _trees(view, [tip], 1) <= trees} for tips in (left, gone))
    )


def _taken_back(view: View, logged: "Logged", there: Collection[str]) -> set[str]:
    pairs = sorted(pair for pair in logged.reset if set(pair) <= set(there))
    found = set[str]()
    for old, new in pairs[:MOST_ASKED]:
        found |= _parents(view, [old], [f"^{new}"]).keys()
    return found


def _parents(view: View, commits: Iterable[str], hidden: Iterable[str]) -> dict[str, list[str]]:
    """Return the commits below `commits` that `hidden` does not reach, each with its parents."""
    words = ("rev-list", f"--max-count={MOST_LOGGED}", "--parents", "--stdin")
    lines = view.text(*words, stdin=_lines(commits, hidden)).splitlines()
    return {line.split()[0]: line.split()[1:] for line in lines}


def _tips(parents: Mapping[str, list[str]], commits: AbstractSet[str]) -> set[str]:
    """Return those of the commits on which no other of them is built."""
    return set(commits) - {above for commit in commits for above in parents[commit]}


def _trees(view: View, commits: Iterable[str], most: int) -> set[str]:
    words = ("rev-list", f"--max-count={most}", "--format=%T", "--no-commit-header", "--stdin")
    return set(view.text(*words, stdin=_lines(commits)).split())


def _lines(*names: Iterable[str]) -> bytes:
    return "".join(f"{name}\n" for each in names for name in each).encode()
