"""What lies in a clone's working tree and is not committed, seen without trusting its index.

The index is made anew from the commit, so that nothing an agent wrote into its
own (files marked as unchanged, a monitor's word, a damaged file) hides a
change. Nested repositories are never entered: git would run their monitors.
"""

import os
import stat
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from msgspec import Struct

from sow.clones.clone_facts import CloneFacts
from sow.clones.gitlinks import files_in_empty_links
from sow.clones.staged import staged_versions
from sow.files.scratch import scratch_folder
from sow.git.merge_tree import GITLINK
from sow.git.private_view import is_sparse
from sow.git.run import LONG_SECONDS
from sow.git.view import View, as_records

NESTED = "separate repositories: their contents are not part of the clone"
STATE = "below .sow/project: only the main checkout keeps the project's state"
RECORDS = "below .sow/run: records of this machine, which are never committed"
COPIED = "copied into the clone by sow (clones.copy): they are never committed"
EMPTY_LINK = "in the folder of a submodule that is not initialised, where git sees no files"
HEAD = "HEAD"
MISSING, MODIFIED, OTHER = "R", "C", "?"
"""How `git ls-files -t` marks what differs from the index."""
NEEDS_UPDATE = 1
"""The exit code of `git update-index --refresh` where files differ from the index."""
SPECIAL = "not readable, or neither files nor symbolic links"


class Untaken(Struct, frozen=True):
    """Work that was left where it lies, and why."""

    reason: str
    paths: tuple[str, ...] = ()


class WorkTree(Struct, frozen=True):
    """What differs from a commit: what can be taken into the next one, and what cannot."""

    commit: str
    changed: tuple[str, ...]
    removed: tuple[str, ...]
    absent: tuple[str, ...]
    """Not there because the clone is checked out without them: no removal."""
    untaken: tuple[Untaken, ...]
    staged: tuple[str, ...] = ()
    """Paths of which git's index alone has a version."""
    links: tuple[str, ...] = ()
    """The commit's entries for other repositories."""
    heads: tuple[str, ...] = ()
    """The folders in which the commit has a file `HEAD`, as a repository has."""

    @property
    def paths(self) -> tuple[str, ...]:
        """All that can be taken."""
        return tuple(sorted((*self.changed, *self.removed)))


def work_tree(view: View, facts: CloneFacts, commit: str, withheld: Sequence[str] = ()) -> WorkTree:
    """Compare the working tree with `commit`, and leave the view's index at that commit.

    `withheld` are paths, files or folders, that sow has copied into the clone.
    Raises GitRefused.
    """
    view.text("read-tree", commit, seconds=LONG_SECONDS)
    listed = _listed(view)
    links, gone = listed.links, listed.gone
    found = listed.found
    staged = staged_versions(view, facts.path / ".git", commit)
    found |= set(staged.in_files)  # `git add -f` takes files that are ignored
    reasons: dict[str, list[str]] = {}
    changed = []
    if left := sorted(files_in_empty_links(facts.path, links)):
        reasons[EMPTY_LINK] = left
    for path in sorted(found):
        reason = _why_not(facts, path, links, withheld)
        if reason is None:
            changed.append(path)
        else:
            reasons.setdefault(reason, []).append(path)
    absent = absent_paths(view, facts, gone)
    return WorkTree(
        commit=commit,
        changed=tuple(changed),
        removed=tuple(sorted(gone - absent)),
        absent=tuple(sorted(absent)),
        untaken=tuple(Untaken(reason, tuple(paths)) for reason, paths in reasons.items()),
        staged=tuple(path for path in staged.alone if not facts.holds_state(path)),
        links=tuple(sorted(links)),
        heads=tuple(sorted(listed.heads)),
    )


class _Listed(NamedTuple):
    """How a working tree differs from the view's index."""

    links: set[str]
    """The index's entries for other repositories."""
    heads: set[str]
    """The folders in which it has a file `HEAD`."""
    gone: set[str]
    """Files that are missing."""
    found: set[str]
    """Those changed or new."""


def _listed(view: View) -> _Listed:
    """Return how the working tree differs from the view's index.

    Git is asked once: it marks each path with a letter, and one that is several things it lists
    several times.
    """
    words = ("ls-files", "-z", "-t", "--stage", "--deleted", "--modified", "--others")
    links, heads, gone, found = set[str](), set[str](), set[str](), set[str]()
    for record in view.records(*words, "--exclude-standard", seconds=LONG_SECONDS):
        mark, rest = record[0], record[2:]
        facts, _, path = rest.partition("\t")
        if mark == OTHER:
            found.add(rest)
        elif mark == MISSING:
            gone.add(path)
        elif mark == MODIFIED:
            found.add(path)
        elif facts.startswith(GITLINK):
            links.add(path)
        elif path == HEAD or path.endswith(f"/{HEAD}"):
            heads.add(os.path.dirname(path))  # noqa: PTH120 - a text is what is wanted
    gone -= links
    return _Listed(links, heads, gone, found - gone)


def links_and_missing(view: View) -> tuple[dict[str, str], set[str]]:
    """Return the index's entries for other repositories, with the commits, and missing files."""
    words = ("ls-files", "-z", "-t", "--stage", "--deleted")
    links, missing = dict[str, str](), set[str]()
    for record in view.records(*words, seconds=LONG_SECONDS):
        mark, rest = record[0], record[2:]
        facts, _, path = rest.partition("\t")
        if mark == MISSING:
            missing.add(path)
        elif facts.startswith(GITLINK):
            links[path] = facts.split()[1]
    return links, missing


def take(view: View, found: WorkTree) -> str:
    """Put all that can be taken into the view's index, and return the tree. Raises GitRefused."""
    removals = [f"0 {'0' * len(found.commit)}\t{path}" for path in found.removed]
    if removals:
        view.text("update-index", "-z", "--index-info", stdin=as_records(removals))
    words = ("update-index", "--add", "--remove", "--replace", "-z", "--stdin")
    if found.changed:
        view.text(*words, stdin=as_records(found.changed), seconds=LONG_SECONDS)
    tree = view.text("write-tree")
    hide_absent(view, found.absent)
    return tree


def absent_paths(view: View, facts: CloneFacts, missing: set[str]) -> set[str]:
    """Return which missing paths the clone is checked out without. Raises GitRefused."""
    state = {path for path in missing if facts.holds_state(path)}
    return state | _left_out(view, missing - state)


def hide_absent(view: View, paths: Iterable[str]) -> None:
    """Note in the view's index which paths are not checked out, and the files' times."""
    words = ("update-index", "-q", "--refresh", "--skip-worktree", "-z", "--stdin")
    stdin = as_records(sorted(paths))
    view.text(*words, stdin=stdin, accepted=(0, NEEDS_UPDATE), seconds=LONG_SECONDS)


def _why_not(facts: CloneFacts, path: str, links: set[str], withheld: Sequence[str]) -> str | None:
    """Return why a changed path cannot be taken; None where it can."""
    if facts.holds_records(path.removesuffix("/")):
        return RECORDS
    if facts.holds_state(path.removesuffix("/")):
        return STATE
    if path in links or path.endswith("/"):
        return NESTED
    if any(path == copy or path.startswith(f"{copy.rstrip('/')}/") for copy in withheld):
        return COPIED
    whole = facts.path / path
    try:
        mode = whole.lstat().st_mode
    except OSError:
        return SPECIAL
    if stat.S_ISDIR(mode) and (whole / ".git").exists():
        return NESTED
    if stat.S_ISLNK(mode) or (stat.S_ISREG(mode) and os.access(whole, os.R_OK)):
        return None
    return SPECIAL


def _left_out(view: View, gone: set[str]) -> set[str]:
    """Return which missing paths the clone is checked out without, by its own patterns.

    Git says it itself: it checks empty files of these names out into a folder
    that is thrown away, by the same patterns.
    """
    if not gone or not is_sparse(view):
        return set()
    empty = view.text("hash-object", "-w", "--stdin", stdin=b"")
    with scratch_folder("sparse") as scratch:
        tree = scratch / "tree"
        tree.mkdir()
        elsewhere = {"GIT_WORK_TREE": str(tree), "GIT_INDEX_FILE": str(scratch / "index")}
        entries = as_records([f"100644 {empty}\t{path}" for path in sorted(gone)])
        view.text("update-index", "-z", "--index-info", stdin=entries, variables=elsewhere)
        listed = view.text("write-tree", variables=elsewhere)
        words = ("read-tree", "--reset", "-u", listed)
        view.text(*words, variables=elsewhere, seconds=LONG_SECONDS)
        records = view.records("ls-files", "-z", "-t", variables=elsewhere)
    return {record[2:] for record in records if record.startswith("S ")}
