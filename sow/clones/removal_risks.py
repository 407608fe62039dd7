"""What stands against removing a clone: work that would be lost with it, or is not merged yet.

Owns that judgement. The clone is the agent's: it is looked at through a private
view, and its refs are read as files.
"""

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from sow.clones.clone_facts import text_of
from sow.clones.ignored_files import still_there
from sow.clones.inner_work import InnerWork
from sow.clones.inventory import Inventory, inventory
from sow.clones.merging import is_merged
from sow.clones.place import Place
from sow.clones.record import SetupMade, noted_clone
from sow.faults import passing_fault
from sow.git.git_errors import GitRefused
from sow.git.inert_refs import UnsafeClone, read_ref
from sow.git.private_view import real_git_dir
from sow.git.repository import Repository, branch_commit

MOST_NAMED = 5
"""How many files or branches a sentence names."""
MOST_TOLD = 12
"""How many of those that go along."""


class RemovalRisks(Struct, frozen=True):
    """What would be lost with a clone, or is not merged. Without reasons it can go."""

    inventory: Inventory = Inventory()
    unmerged: str | None = None
    """The task's commit that is not in the project's branch."""
    unknown: str = ""
    """Why nobody can tell, in words."""

    @property
    def uncommitted(self) -> tuple[str, ...]:
        """Files that are in no commit."""
        return self.inventory.uncommitted

    @property
    def unbrought(self) -> tuple[str, ...]:
        """The clone's own branches and stashes with commits that the repository does not have."""
        return self.inventory.unbrought

    def after_keeping(self, clone: Path) -> "RemovalRisks":
        """Return the same after results were moved out of the clone."""
        paths = [each.path for each in self.inventory.ignored]
        left = replace(self.inventory, ignored=still_there(clone, paths))
        return replace(self, inventory=left)

    @property
    def losses(self) -> tuple[str, ...]:
        """What would be lost with it, in a few words each."""
        return self.losses_named(MOST_NAMED)

    def losses_named(self, most: int) -> tuple[str, ...]:
        """Return the same with so many names of each kind."""
        found = []
        for unknown in (self.unknown, *self.inventory.unknown):
            if unknown:
                found.append(f"cannot be checked: {unknown}")
        if self.uncommitted:
            found.append(f"uncommitted: {text_of(self.uncommitted, most)}")
        if self.unbrought:
            found.append(f"not in the repository: {text_of(self.unbrought, most)}")
        found += [words for work in self.inventory.inner for words in _words_of(work, most)]
        return tuple(found)

    @property
    def reasons(self) -> tuple[str, ...]:
        """All that stands against removing it, in a few words each."""
        return (*self.losses, *([f"not merged: {self.unmerged[:12]}"] if self.unmerged else []))

    @property
    def goes_along(self) -> tuple[str, ...]:
        """What goes with it and is no reason to keep it, in a few words each."""
        found = []
        if self.inventory.ignored:
            words = [each.words for each in self.inventory.ignored]
            found.append(f"ignored files: {text_of(words, MOST_TOLD)}")
        if self.inventory.reset:
            commits = [commit[:12] for commit in self.inventory.reset]
            found.append(f"commits that were reset: {text_of(commits, MOST_TOLD)}")
        if self.inventory.staged:
            files = text_of(self.inventory.staged, MOST_TOLD)
            found.append(f"staged versions that are in no file: {files}")
        return tuple(found)


def _words_of(work: InnerWork, most: int) -> list[str]:
    """Return in words what a repository inside a clone holds."""
    found, path = [], text_of([work.path], 1)
    if work.unknown:
        found.append(f"the repository {path} cannot be checked: {work.unknown}")
    if work.files:
        found.append(f"uncommitted in {path}: {text_of(work.files, most)}")
    if work.commits:
        names = [name for name, _ in work.commits]
        found.append(f"commits that only {path} has: {text_of(names, most)}")
    return found


def removal_risks(
    place: Place,
    main: Repository,
    project: str,
    *,
    withheld: Sequence[str] = (),
    known: str | None = None,
) -> RemovalRisks:
    """Return what stands against removing the clone at a place.

    `project` is the commit of the project's branch, and `known` one that it is known to hold.
    `withheld` is what sow has copied into the clone. Nothing of the clone acts.
    Raises nothing for what it holds, and GitRefused or OSError for a fault that passes.
    """
    noted = noted_clone(main, place.project, place.task)
    made = noted.setup if noted is not None else SetupMade()
    tip = branch_commit(main, place.branch)
    try:
        git_dir = real_git_dir(place.path)
        tip = read_ref(git_dir, f"refs/heads/{place.branch}") or tip
        found = inventory(place, main, withheld, made)
    except UnsafeClone as error:
        return RemovalRisks(unknown=error.message)
    except GitRefused as error:
        if error.passes:
            raise
        return RemovalRisks(unknown=error.message.splitlines()[-1])
    except OSError as error:
        if passing_fault(error) is not None:
            raise
        return RemovalRisks(unknown=f"{error.filename} cannot be read ({error.strerror})")
    merged = tip in (None, known) or (tip is not None and is_merged(main, project, tip))
    return RemovalRisks(found, None if merged else tip)


def unmerged(place: Place, main: Repository, project: str) -> str | None:
    """Return the commit of a task's branch in the repository, where it is not merged."""
    tip = branch_commit(main, place.branch)
    return None if tip is None or is_merged(main, project, tip) else tip
