"""What an agent left uncommitted in its clone, committed on its task's branch.

Whatever cannot be taken is told, and lies as it lay. The clone's index and
branch are written in an order that bears a kill at any point: the index first,
which then only holds what is about to be committed.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from sow.clones.clone_facts import CloneFacts
from sow.clones.conflicts import unsolved_paths
from sow.clones.steps import no_step
from sow.clones.update import UNFINISHED, finish_update
from sow.clones.work_tree import Untaken, WorkTree, hide_absent, take, work_tree
from sow.git.identity import COMMITTER, identity_of, note_of_committer
from sow.git.inert_refs import (
    check_out_name,
    read_head,
    read_ref,
    read_text,
    remove_file,
    write_branch,
    write_file,
)
from sow.git.private_view import index_of, private_view, real_git_dir
from sow.git.repository import Repository
from sow.git.view import View
from sow.terminal_text import readable

MERGE_FILES = ("MERGE_MSG", "MERGE_MODE", "AUTO_MERGE", "MERGE_HEAD")
"""What git leaves of a merge, in the order in which it is removed: while the last one is there, the
others may be."""
TEXT_LIMIT = 1 << 20
LONGEST_SUBJECT = 100
"""In characters: git's tools cut a longer subject, and a task's name may have any length."""


class Leftovers(Struct, frozen=True):
    """What became of an agent's uncommitted work."""

    commit: str | None
    """The last commit of the task's branch now; None where the branch has none."""
    made: str | None = None
    """The commit that was made; None where there was nothing to commit."""
    files: tuple[str, ...] = ()
    """What it holds."""
    notes: tuple[str, ...] = ()
    """What else was done, in sentences."""
    untaken: tuple[Untaken, ...] = ()


def commit_leftovers(
    facts: CloneFacts,
    main: Repository,
    *,
    task: str,
    name: str,
    known: str | None = None,
    withheld: Sequence[str] = (),
    step: Callable[[str], None] = no_step,
) -> Leftovers:
    """Commit what is not committed in a clone on its task's branch, and say what was not taken.

    `task` and `name` are the task's id and name, which are the commit's subject.
    No process may be at work in the clone. `known` is the branch's last commit
    that sow knows of, for a clone whose agent has deleted the branch;
    `withheld` are the paths that sow copied there. Work on another branch, or
    on none, is taken where it goes on from the task's. An update that was
    interrupted is completed before. Raises UnsafeClone, GitRefused, CannotUpdate.
    """
    git_dir = real_git_dir(facts.path)
    finish_update(facts, main)
    head = read_head(git_dir)
    on_branch = read_ref(git_dir, f"refs/heads/{facts.branch}")
    for file, what in UNFINISHED.items():
        if (git_dir / file).exists():
            return _untouched(on_branch, f"{what} is in progress in the clone: finish or abort it")
    with private_view(facts.path, main) as view:
        here = view.commit_of(head.commit) if head.commit else None
        if here is None:
            return _untouched(on_branch, "no commit is checked out in the clone")
        tip = here if on_branch == here else _known_tip(view, on_branch, known, facts.base) or here
        found = work_tree(view, facts, here, withheld)
        if head.branch != facts.branch and not view.is_ancestor(tip, here):
            there = _already_on_branch(view, facts, here, tip, withheld)
            if there is None:
                return _elsewhere(view, facts, here, tip, found, on_branch)
            here, found = tip, there
            write_file(git_dir, "index", index_of(view).read_bytes())
        merged = _merge_head(view, git_dir, here)
        if merged and (unsolved := unsolved_paths(view, facts, here, merged)):
            reason = "a merge is in progress in the clone, and these conflicts are not solved"
            return replace(_untouched(on_branch, ""), untaken=(Untaken(reason, unsolved),))
        text = _message(task, name)
        commit, committer = _commit(view, main, found, here, merged, text)
        step("commit made")
        if commit != here:
            write_file(git_dir, "index", index_of(view).read_bytes())
            remove_file(git_dir, "index.lock")  # of a git that was killed with its agent
            step("index written")
        notes = _moved(git_dir, facts, head.branch, on_branch, commit, step)
        if commit != here:
            notes += note_of_committer(committer)
    if commit != here or read_text(git_dir, MERGE_FILES[-1], TEXT_LIMIT) is not None:
        for file in MERGE_FILES:
            remove_file(git_dir, file)
            step(f"{file} removed")
    if commit == here:
        return Leftovers(commit, notes=notes, untaken=found.untaken)
    return Leftovers(commit, commit, found.paths, notes, found.untaken)


def _known_tip(view: View, *commits: str | None) -> str | None:
    """Return the first of some commits that the clone has."""
    return next(filter(view.commit_of, filter(None, commits)), None)


def _message(task: str, name: str) -> str:
    subject = readable(f"{task}: {' '.join(name.split())}")[:LONGEST_SUBJECT].rstrip()
    return f"{subject}\n\nIts agent left this uncommitted.\n"


def _untouched(commit: str | None, reason: str) -> Leftovers:
    return Leftovers(commit, untaken=(Untaken(reason),))


def _already_on_branch(
    view: View, facts: CloneFacts, here: str, tip: str, withheld: Sequence[str]
) -> WorkTree | None:
    """Return how the files differ from `tip`, which goes on from `here`: if in nothing to be taken.

    So a clone stands whose branch was moved by a try that was killed before it
    was checked out. The view's index is as that try has written it then.
    """
    if not view.is_ancestor(here, tip):
        return None
    found = work_tree(view, facts, tip, withheld)
    if found.paths:
        return None
    hide_absent(view, found.absent)
    return found


def _elsewhere(
    view: View,
    facts: CloneFacts,
    here: str,
    tip: str,
    found: WorkTree,
    on_branch: str | None,
) -> Leftovers:
    """Tell of work that does not go on from the task's branch: it is left where it is."""
    commits = view.text("rev-list", "--count", here, f"^{tip}")
    untaken = list(found.untaken)
    if commits != "0":
        words = f"{commits} commits on {here[:12]}, which is not based on {facts.branch}"
        untaken.append(Untaken(words))
    if found.paths:
        words = f"uncommitted on {here[:12]}, which is not based on {facts.branch}"
        untaken.append(Untaken(words, found.paths))
    return Leftovers(on_branch, untaken=tuple(untaken))


def _merge_head(view: View, git_dir: Path, here: str) -> str | None:
    """Return the commit that is being merged in the clone; None where none is, or it is done."""
    text = (read_text(git_dir, "MERGE_HEAD", TEXT_LIMIT) or "").split()
    merged = view.commit_of(text[0]) if text else None
    return None if merged is None or view.is_ancestor(merged, here) else merged


def _commit(
    view: View, main: Repository, found: WorkTree, here: str, merged: str | None, text: str
) -> tuple[str, str]:
    """Return the commit that holds all that can be taken, and its committer's address.

    It is `here` where there is nothing.
    """
    if not found.paths and not merged:
        return here, ""
    tree = take(view, found)
    if not merged and tree == view.text("rev-parse", f"{here}^{{tree}}"):
        return here, ""
    parents = [word for parent in (here, merged) if parent for word in ("-p", parent)]
    variables = identity_of(main.top)
    commit = view.text("commit-tree", tree, *parents, stdin=text.encode(), variables=variables)
    return commit, variables[COMMITTER]


def _moved(
    git_dir: Path,
    facts: CloneFacts,
    checked_out: str | None,
    on_branch: str | None,
    commit: str,
    step: Callable[[str], None],
) -> tuple[str, ...]:
    """Make the task's branch name `commit`, and be the one that is checked out."""
    notes = []
    if on_branch != commit:
        write_branch(git_dir, facts.branch, commit)
        step("branch moved")
    if on_branch is None:
        notes.append(f"{facts.branch} was missing in the clone and was created again")
    if checked_out != facts.branch:
        check_out_name(git_dir, facts.branch)
        step("branch checked out")
        was = checked_out or "no branch"
        notes.append(f"{was} was checked out in the clone; its work is now on {facts.branch}")
    return tuple(notes)
