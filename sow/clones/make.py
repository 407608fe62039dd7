"""Making a task's clone: a draft beside its place, step by step, renamed into it at the end.

Owns the steps and their order. Killed anywhere, they leave a draft that nobody
takes for a clone, or a clone whose mark says that it is not whole yet. What
makes a clone ready for work (`clones.setup`) and who says that it is whole is
the caller's, under the same lock.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from msgspec import Struct

from sow.clone_mark import CloneMark
from sow.clones.base import Dependency, begin_branch
from sow.clones.copying import copy_files
from sow.clones.deleting import NotDeleted, delete_clone, delete_folder
from sow.clones.locks import FOLDER_MODE, draft_path, unfinished
from sow.clones.mark import Stage, mark_for, own_mark, write_mark
from sow.clones.place import Place, refuse_branch_in_the_way
from sow.clones.steps import no_step
from sow.clones.taken_over import as_pattern, copy_settings, keep_out_of_commits
from sow.errors import StateError
from sow.files import NotWritten
from sow.git.git_errors import GitRefused
from sow.git.promised import fetch_promised, is_partial
from sow.git.repository import Repository, refuse_old_git
from sow.git.run import LONG_SECONDS, git, git_environment
from sow.git.settings_text import add_settings
from sow.git.view import view_of

WITHOUT_STATE = (("core.sparseCheckout", "true"), ("core.sparseCheckoutCone", "false"))
"""The settings by which a part of the commit is not checked out."""
NO_SPACE = "No space left"
SUBMODULES = (
    "the repository has submodules, which are not initialised in the clone; clones.setup can do"
    " it, for example with `git submodule update --init`"
)
POINTERS = "files of Git LFS whose contents are not on this machine are only pointers in the clone"


class PlaceTaken(StateError):
    """Something that is not the task's clone lies where it should be."""

    def __init__(self, place: Place) -> None:
        super().__init__(
            f"{place.path} is in the place of the clone of task {place.task}, but sow did not"
            " make it",
            hint="Look at it and move it away. sow then creates the clone from the commits of"
            f" its branch {place.branch} that are in the repository.",
        )


class CloneOrder(Struct, frozen=True):
    """What a clone is made of."""

    place: Place
    repository: Repository
    base: str
    """The commit of the project's branch, at which a task that has no branch yet begins."""
    dependencies: tuple[Dependency, ...] = ()
    """The completed tasks that are not merged yet; a branch that is new begins with their work."""
    copy: tuple[str, ...] = ()
    is_begun: bool = False
    """Whether a session has begun in the clone: one that is there is kept then, whole or not."""


class MadeClone(Struct, frozen=True):
    """A task's clone as it is now."""

    mark: CloneMark
    is_new: bool
    notes: tuple[str, ...] = ()
    """What a person should know, in sentences."""

    @property
    def is_whole(self) -> bool:
        """Whether nothing is left to be done before an agent works in it."""
        return self.mark.stage == Stage.WHOLE


def make_clone(order: CloneOrder, *, step: Callable[[str], None] = no_step) -> MadeClone:
    """Return the clone of a task, made if it is not there. The caller holds its lock.

    A clone that is whole is left as it is; one that is not, and in which no
    session has begun, is made again. Raises GitTooOld, PromisedNotFetched, GitRefused (a full disk
    and a path that git refuses among them), BranchInPlaceOfFolder,
    DependencyConflict, PlaceTaken, NotWritten; nothing is in the clone's place
    then that was not there before.
    """
    place = order.place
    refuse_old_git()
    sweep(place.path)
    present = own_mark(place)
    if present is not None:
        if present.stage == Stage.WHOLE or order.is_begun:
            return MadeClone(_refreshed(place, present), is_new=False)
        delete_clone(place.path)
    elif os.path.lexists(place.path):
        raise PlaceTaken(place)
    refuse_branch_in_the_way(order.repository, place.branch)
    if is_partial(order.repository):
        fetch_promised(order.repository, _begins_with(order))
    return _make(order, step)


def _make(order: CloneOrder, step: Callable[[str], None]) -> MadeClone:
    """Take the steps. Whoever is killed after one of them has done it whole."""
    place, repository = order.place, order.repository
    with drafted(place.path) as draft:
        draft.mkdir(mode=FOLDER_MODE)
        step("draft begun")
        _clone(draft, repository)
        step("objects cloned")
        copy_settings(draft, repository)
        step("settings taken")
        base = begin_branch(draft, repository, place, order.base, order.dependencies)
        step("branch begun")
        notes = _check_out(draft, place)
        step("checked out")
        mark = mark_for(place, base)
        write_mark(draft, mark)
        step("mark written")
        draft.rename(place.path)
        step("put in place")
        copied = copy_files(place.workspace, place.path, place.inside, order.copy)
        keep_out_of_commits(place.path, repository, copied.paths)
        mark = mark._replace(copied=copied.paths)
        write_mark(place.path, mark)
        step("files copied")
    return MadeClone(mark, is_new=True, notes=(*notes, *copied.notes))


@contextmanager
def drafted(path: Path) -> Iterator[Path]:
    """Give a place beside a clone's own, to make it in; what is left there goes if that fails.

    Raises NotWritten for what the system refuses in the block.
    """
    draft = draft_path(path)
    try:
        yield draft
    except BaseException as error:
        with suppress(NotDeleted):
            delete_folder(draft)
        if isinstance(error, OSError):
            raise NotWritten(path, error) from error
        raise


def _begins_with(order: CloneOrder) -> list[str]:
    """Return the commits of the repository whose files a clone may need."""
    view = view_of(order.repository.top)
    earlier = view.commit_of(f"refs/heads/{order.place.branch}")
    commits = [order.base, *(each.commit for each in order.dependencies)]
    if order.place.base and view.commit_of(order.place.base) is not None:
        commits.append(order.place.base)
    return [*commits, earlier] if earlier is not None else commits


def finish_clone(place: Place) -> CloneMark:
    """Write that a clone is whole. The caller holds its lock. Raises PlaceTaken, NotWritten."""
    mark = own_mark(place)
    if mark is None:
        raise PlaceTaken(place)
    whole = mark._replace(stage=str(Stage.WHOLE))
    write_mark(place.path, whole)
    return whole


def sweep(path: Path) -> list[Path]:
    """Delete what the dead have left beside a clone; return it. The caller holds its lock."""
    left = unfinished(path)
    for folder in left:
        delete_folder(folder)
    return left


def _refreshed(place: Place, mark: CloneMark) -> CloneMark:
    """Return a clone's mark, led to the workspace again if that was moved meanwhile."""
    workspace = os.fsdecode(place.workspace)
    if mark.workspace == workspace:
        return mark
    mark = mark._replace(workspace=workspace)
    write_mark(place.path, mark)
    return mark


def _clone(draft: Path, repository: Repository) -> None:
    """Clone the objects, by hard links where the file system allows for them.

    `--local` is not said: with it git refuses where links cannot be made,
    without it git copies. Where the objects cannot be taken as files (links
    among them, a collection of garbage at the same time), git's own transport
    takes them.
    """
    try:
        _run_clone(draft, repository)
    except GitRefused as error:
        if NO_SPACE in error.complaint:
            raise
        delete_folder(draft)
        draft.mkdir(mode=FOLDER_MODE)
        _run_clone(draft, repository, "--no-local")


def _run_clone(draft: Path, repository: Repository, *more: str) -> None:
    branch = ("--branch", repository.branch) if repository.branch else ()
    git(
        draft,
        *("-c", "protocol.file.allow=always", "clone", "--quiet", "--origin", "origin"),
        *("--no-tags", "--single-branch", "--no-checkout", "--dissociate", "--no-reject-shallow"),
        *branch,
        *more,
        "--",
        os.fsdecode(repository.common_dir),
        ".",
        seconds=LONG_SECONDS,
    )


def _check_out(draft: Path, place: Place) -> list[str]:
    """Check out all but sow's own folders; return notes. The user's own filters act."""
    notes = []
    leave_out(draft, place.absent_folders)
    words = ("checkout", "--quiet", "--force", place.branch, "--")
    try:
        git(draft, *words, seconds=LONG_SECONDS)
    except GitRefused as error:
        if "lfs" not in error.complaint.lower():
            raise
        environ = git_environment(os.environ, GIT_LFS_SKIP_SMUDGE="1")
        git(draft, *words, seconds=LONG_SECONDS, environ=environ)
        notes.append(POINTERS)
    if (draft / ".gitmodules").is_file():
        notes.append(SUBMODULES)
    return notes


def leave_out(folder: Path, paths: Iterable[str]) -> None:
    """Have nothing at these paths checked out in a repository, be it a folder, a file or a link."""
    patterns = "/*\n" + "".join(f"!/{as_pattern(path)}\n" for path in paths)
    (folder / ".git" / "info").mkdir(exist_ok=True)
    encoded = patterns.encode("utf-8", "surrogateescape")
    (folder / ".git" / "info" / "sparse-checkout").write_bytes(encoded)
    add_settings(folder, WITHOUT_STATE)
