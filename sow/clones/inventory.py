"""Everything that lies in a clone and in no kept place: what would be lost with it.

Asked before a merge and before every removal. The clone is the agent's: it is
looked at through private views, its refs are read as files, and nothing of it
acts. What cannot be looked at counts as work. Reads only, and asks no network.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from sow.clones.ignored_files import Ignored, ignored_files
from sow.clones.inner_work import InnerWork, ignored_paths, inner_work
from sow.clones.kept_commits import lost_from_logs, not_in, types_of
from sow.clones.place import Place
from sow.clones.record import SetupMade
from sow.clones.work_tree import COPIED, RECORDS, STATE, work_tree
from sow.git.inert_refs import UnsafeClone, read_head
from sow.git.inner_view import InnerRepository, inner_repository
from sow.git.named_commits import logged_commits, named_commits, remote_commits, waiting_patches
from sow.git.private_view import private_view, real_git_dir
from sow.git.repository import Repository, branch_commit
from sow.git.view import view_of

GIT = ".git"
BARE = frozenset({"HEAD", "objects", "refs"})
"""A folder with these names is a git folder."""
GITS_OWN = frozenset({"objects", "refs", "logs", "hooks", "info", "modules", "worktrees"})
"""Folders of a git folder in which git has its own things, or which are looked at elsewhere."""
MOST_ENTRIES = 2_000_000
"""So many files and folders are looked at; a clone with more counts as one that holds work."""
MOST_REPOSITORIES = 200
"""So many repositories inside of one clone are looked at."""


class InnerPlaces(Struct):
    """Where repositories lie inside a clone, relative to its top."""

    work_trees: list[str] = field(default_factory=list)
    """Folders, other than the top, that have a `.git`."""
    bare: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    """Folders that could not be looked at."""
    is_cut_short: bool = False


def inner_places(clone: Path) -> InnerPlaces:
    """Return where repositories lie in the working tree of a clone. Raises nothing."""
    found = InnerPlaces()
    folders, count = [""], 0
    while folders:
        folder = folders.pop()
        try:
            entries = _entries(clone / folder)
        except OSError:
            found.unread.append(folder or ".")
            continue
        count += len(entries)
        if count > MOST_ENTRIES:
            found.is_cut_short = True
            return found
        names = {entry.name for entry in entries}
        if folder and GIT in names:
            found.work_trees.append(folder)
        elif folder and names >= BARE:
            found.bare.append(folder)
            continue
        folders += [
            f"{folder}/{entry.name}" if folder else entry.name
            for entry in entries
            if entry.name != GIT and entry.is_dir(follow_symlinks=False)
        ]
    return found


def modules_of(git_dir: Path) -> Iterator[Path]:
    """Yield the git folders of submodules that a git folder keeps, those of theirs included."""
    above = [git_dir / "modules"]
    with_trees = git_dir / "worktrees"
    if with_trees.is_dir() and not with_trees.is_symlink():
        above += [path / "modules" for path in with_trees.iterdir()]
    while above:
        folder = above.pop()
        if folder.is_symlink() or not folder.is_dir():
            continue
        names = {entry.name for entry in _entries(folder)}
        if names >= BARE:
            yield folder
            yield from modules_of(folder)
        else:
            above += [folder / name for name in names]


def inside_git(git_dir: Path) -> Iterator[Path]:
    """Yield the repositories that somebody has put into a git folder, beside what git keeps there.

    A copy of it that an agent has made for safety, say.
    """
    folders = [entry.name for entry in _entries(git_dir) if entry.is_dir(follow_symlinks=False)]
    for name in sorted(set(folders) - GITS_OWN):
        places = inner_places(git_dir / name)
        yield from (git_dir / name / folder for folder in places.bare)
        yield from (git_dir / name / folder / GIT for folder in places.work_trees)
        if {entry.name for entry in _entries(git_dir / name)} >= BARE:
            yield git_dir / name


def _entries(folder: Path) -> list["os.DirEntry[str]"]:
    with os.scandir(folder) as entries:
        return list(entries)


class Inventory(Struct, frozen=True):
    """What would be lost with a clone. All empty: nothing."""

    uncommitted: tuple[str, ...] = ()
    """Files that are in no commit."""
    unbrought: tuple[str, ...] = ()
    """The clone's own names with commits that the repository does not have."""
    inner: tuple[InnerWork, ...] = ()
    """The repositories inside of it that hold something."""
    reset: tuple[str, ...] = ()
    """Commits that were taken back by a reset: told, and no reason to keep a clone."""
    staged: tuple[str, ...] = ()
    """Files of which a version lies in git's index alone: told, and no reason to keep a clone."""
    ignored: tuple[Ignored, ...] = ()
    """Ignored files: told, and no reason to keep a clone."""
    unknown: tuple[str, ...] = ()
    """What nobody could look at, in words."""


def inventory(
    place: Place, main: Repository, withheld: Sequence[str], made: SetupMade
) -> Inventory:
    """Return what lies in the clone at a place and nowhere else.

    `withheld` are the files that sow has put into the clone, `made` is what its
    setup has made. Raises UnsafeClone, GitRefused.
    """
    git_dir = real_git_dir(place.path)
    named = named_commits(git_dir)
    head = read_head(git_dir)
    with private_view(place.path, main) as view:
        logged = logged_commits(git_dir)
        known = {*named.values(), *remote_commits(git_dir)}
        there = types_of(view, {*known, *logged.commits, *([head.commit] if head.commit else ())})
        here = head.commit
        if here is None or there.get(here) != "commit":
            raise UnsafeClone(git_dir, "has no commit checked out")
        found = work_tree(view, place.since(here), here, withheld)
        ignored = ignored_paths(view, found.links)
        kept = view_of(main.top)
        tip = branch_commit(main, place.branch)
        lost = not_in(kept, set(named.values()), {tip} if tip is not None else ())
        logs = lost_from_logs(view, logged, known, [kept], there)
    not_taken = [
        path
        for untaken in found.untaken
        if untaken.reason not in (COPIED, STATE, RECORDS)
        for path in untaken.paths
    ]
    inner, unknown = _inner(place.path, main, set(found.heads))
    inner = tuple(filter(None, (_without_setup(place.path, work, made) for work in inner)))
    files = [path for path in ignored if not _is_state(place, path)]
    files += [path for work in inner for path in work.ignored]
    return Inventory(
        uncommitted=tuple(sorted({*found.paths, *not_taken})),
        unbrought=(
            *(name for name, commit in named.items() if commit in lost),
            *(f"on no branch ({commit[:12]})" for commit in sorted(logs.left)),
            *waiting_patches(git_dir),
        ),
        inner=tuple(work for work in inner if work.commits or work.files or work.unknown),
        reset=(*sorted(logs.reset), *(commit for work in inner for commit in work.reset)),
        staged=(*found.staged, *(path for work in inner for path in work.staged)),
        ignored=ignored_files(place.path, files, withheld, made),
        unknown=tuple(unknown),
    )


def inner_keys(place: Place, main: Repository) -> tuple[str, ...]:
    """Return what distinguishes the repositories inside a clone as they are now."""
    inner, _ = _inner(place.path, main, set())
    return tuple(key for work in inner for key in _keys(place.path, work))


def _is_state(place: Place, path: str) -> bool:
    return place.holds_state(path.rstrip("/"))


def _inner(
    clone: Path, main: Repository, tracked: set[str]
) -> tuple[tuple[InnerWork, ...], list[str]]:
    """Return what each repository inside a clone holds, and what could not be looked at.

    A folder whose `HEAD` is `tracked` is a part of the work.
    """
    places = inner_places(clone)
    unknown = [f"{folder} cannot be read" for folder in places.unread]
    if places.is_cut_short:
        unknown.append("it has too many files to check")
    found: list[InnerWork] = []
    seen: dict[Path, InnerRepository] = {}
    for path in places.work_trees:
        try:
            repository = inner_repository(clone, path)
        except UnsafeClone as error:
            found.append(InnerWork(path, unknown=error.why))
            continue
        seen[repository.git_dir] = repository
    seen |= {
        clone / path: _bare(clone, clone / path) for path in places.bare if path not in tracked
    }
    tops = [Path(os.path.realpath(clone)) / ".git"]
    tops += [folder for folder, each in seen.items() if not each.is_linked]
    kept = {module for top in tops for module in modules_of(top)} | set(inside_git(tops[0]))
    for folder in kept - seen.keys():
        seen[folder] = _bare(clone, folder)
    chosen = sorted(seen.values(), key=lambda each: each.path)
    if len(chosen) > MOST_REPOSITORIES:
        left = len(chosen) - MOST_REPOSITORIES
        unknown.append(f"{len(chosen)} repositories are in it, and {left} of them were not checked")
    found += [inner_work(clone, each, main) for each in chosen[:MOST_REPOSITORIES]]
    return tuple(found), unknown


def _bare(clone: Path, folder: Path) -> InnerRepository:
    top = Path(os.path.realpath(clone))
    path = Path(os.path.realpath(folder)).relative_to(top).as_posix()
    module = path.removeprefix(".git/modules/") if path.startswith(".git/modules/") else None
    return InnerRepository(path, folder, folder, None, module)


def _without_setup(clone: Path, work: InnerWork, made: SetupMade) -> InnerWork | None:
    """Return what was not there before after the setup; None where that is nothing."""
    known = set(made.inner)
    left = replace(
        work,
        commits=tuple(each for each in work.commits if _key_of_commit(work, each) not in known),
        files=tuple(path for path in work.files if _key_of_file(clone, path) not in known),
        reset=tuple(commit for commit in work.reset if f"{work.path} {commit}" not in known),
    )
    holds = (left.commits, left.files, left.reset, left.staged, left.ignored, left.unknown)
    return left if any(holds) else None


def _keys(clone: Path, work: InnerWork) -> Iterable[str]:
    yield from (_key_of_commit(work, each) for each in work.commits)
    yield from (_key_of_file(clone, path) for path in work.files)
    yield from (f"{work.path} {commit}" for commit in work.reset)


def _key_of_commit(work: InnerWork, each: tuple[str, str]) -> str:
    return f"{work.path} {each[0]} {each[1]}"


def _key_of_file(clone: Path, path: str) -> str:
    try:
        facts = os.lstat(clone / path)
    except OSError:
        return path
    return f"{path} {facts.st_size} {facts.st_mtime_ns}"
