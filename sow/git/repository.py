"""What a repository is: its folders, its branch, and whether clones of it can be made.

Owns that its first working tree need not be the folder that git names for it: where git's folder
lies elsewhere (a submodule's, or one made with `--separate-git-dir`) git names that folder,
and a bare one has no tree. Reads only.
"""

import os
import re
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from shutil import which
from stat import S_ISDIR

from msgspec import Struct
from msgspec.structs import replace

from sow.errors import SowError, StateError
from sow.files import read_if_there, write_atomically
from sow.git.git_errors import (
    WITHOUT_COMMIT,
    GitMissing,
    GitRefused,
    GitTooOld,
    NoRepository,
)
from sow.git.head import find_git
from sow.git.inert_refs import UnsafeClone, is_symbolic, read_head, read_ref
from sow.git.run import git, git_answer
from sow.git.settings_text import plain_settings
from sow.git.view import view_of
from sow.user_folders import BaseFolder, user_folder

NEEDED_VERSION = (2, 38)
"""`git merge-tree --write-tree`, by which sow merges without a working tree, came with 2.38."""

SMALLEST_GIT = 1 << 20
"""A program of fewer bytes is a script or a launcher, behind which git may be exchanged."""
GIT_NOTE = "git-is-new-enough"
NOTE_LIMIT = 1 << 16

BARE = "lies in a bare repository, or in git's own folder"
PATHS = ("rev-parse", "--path-format=absolute")
QUESTIONS = (
    "--show-toplevel",
    "--git-dir",
    "--git-common-dir",
    "--is-shallow-repository",
    "--show-object-format",
)
HEAD = ("HEAD^{commit}", "--symbolic-full-name", "HEAD")
"""A commit, then the branch; `HEAD` itself where it is detached."""


SAYING = ("config", "config.worktree", "commondir", "shallow")
"""The files in git's folder that decide what else git answers."""
SETTINGS_LIMIT = 1 << 20
SHA1, SHA256 = "sha1", "sha256"
"""The two ways in which git names objects. A repository has one of them for good."""
SHA256_DIGITS = 64


class Repository(Struct, frozen=True):
    """A repository with a working tree."""

    top: Path
    """The root of its working tree, without links."""
    git_dir: Path
    """This working tree's own git folder."""
    common_dir: Path
    """The git folder that all working trees share: objects and branches."""
    branch: str | None
    """The branch that is checked out; None where HEAD is detached."""
    commit: str
    """The commit that HEAD names."""
    is_shallow: bool = False
    object_format: str = SHA1
    """How its objects are named."""


def format_of(commit: str) -> str:
    """Return how the objects of a commit's repository are named."""
    return SHA256 if len(commit) == SHA256_DIGITS else SHA1


def git_version() -> tuple[int, ...]:
    """Return git's version, such as (2, 39, 5). Raises GitMissing."""
    program = which("git")
    return _version_of(program, _version(os.path.realpath(program)) if program else None)


@lru_cache(maxsize=4)
def _version_of(_program: str | None, _file: tuple[int, ...] | None) -> tuple[int, ...]:
    """Return the version of a program that lies at a path, and of what its file is like."""
    text = git(Path("/"), "version")
    found = re.search(r"(\d+)\.(\d+)(?:\.(\d+))?", text)
    if found is None:
        raise GitMissing
    return tuple(int(number) for number in found.groups() if number is not None)


def refuse_old_git() -> None:
    """Raise GitTooOld where the installed git cannot do what clones and merges need; GitMissing.

    That a program was new enough is noted in the user's cache, with what its file was like. A small
    program, which may only start another one, is asked each time.
    """
    program = which("git")
    facts = _version(os.path.realpath(program)) if program else None
    if facts is None or facts[1] < SMALLEST_GIT:
        _refuse_old(git_version())
        return
    note = Path(user_folder(BaseFolder.CACHE), GIT_NOTE)
    known = f"{os.path.realpath(program or '')} {facts} is {NEEDED_VERSION} or newer\n".encode()
    with suppress(OSError, SowError):
        if read_if_there(note, NOTE_LIMIT) == known:
            return
    _refuse_old(git_version())
    with suppress(OSError, SowError):
        note.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_atomically(note, known, mode=0o600, durable=False)


def _refuse_old(version: tuple[int, ...]) -> None:
    if version < NEEDED_VERSION:
        raise GitTooOld(".".join(map(str, version)), ".".join(map(str, NEEDED_VERSION)))


def repository_of(folder: Path) -> Repository:
    """Return the repository that `folder` lies in. Raises NoRepository, GitMissing, GitRefused.

    Where `folder` is the top of a plain repository, git's files tell. A process that asks again, as
    a worker does at each look at a batch, is told by them of any other as long as they say that
    nothing but the branch or its commit can have changed.
    """
    marks = _marks(folder)
    known = _known.get(folder)
    if known is not None and known[0] == marks and (again := _as_it_is(known[1])) is not None:
        return again
    repository = _read(folder) or _asked(folder)
    if marks is not None and _is_plain(repository):
        _known[folder] = marks, repository
    return repository


_known: dict[Path, tuple[tuple[object, ...], Repository]] = {}
"""What git has said of a folder, and what its files were like before."""


def _marks(folder: Path) -> tuple[object, ...] | None:
    """Return what tells that git would answer as before, but for the branch and its commit.

    None where git has to be asked.
    """
    try:
        git, _, _ = find_git(os.path.realpath(folder))
        if not git.endswith("/.git"):
            return None
        there = [path.stat() for path in (folder, Path(git))]
        owners = [(facts.st_dev, facts.st_ino, facts.st_uid) for facts in there]
        return (git, *owners, *(_version(f"{git}/{name}") for name in SAYING))
    except OSError:
        return None


def _version(path: str) -> tuple[int, ...] | None:
    try:
        facts = os.stat(path)  # noqa: PTH116
    except FileNotFoundError:
        return None
    return facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns


def _read(folder: Path) -> Repository | None:
    """Return what git would say of a repository of the usual form whose top is `folder`.

    None where git has to be asked: of another user's folder above all, which only git may trust.
    """
    top = os.path.realpath(folder)
    git_dir = f"{top}/.git"
    try:
        facts = [os.lstat(each) for each in (top, git_dir, f"{git_dir}/objects", f"{git_dir}/refs")]
        text = read_if_there(Path(git_dir, "config"), SETTINGS_LIMIT) or b""
    except OSError:
        return None
    is_ours = all(S_ISDIR(each.st_mode) and each.st_uid == os.geteuid() for each in facts)
    is_usual = not any(os.path.lexists(f"{git_dir}/{name}") for name in SAYING[1:])
    if not (is_ours and is_usual and _are_usual(plain_settings(text))):
        return None
    found = Path(git_dir)
    repository = Repository(top=Path(top), git_dir=found, common_dir=found, branch=None, commit="")
    return _as_it_is(repository) if _is_plain(repository) else None


def _are_usual(settings: Sequence[tuple[str, str]] | None) -> bool:
    """Whether settings are those of a repository with files, of git's first form."""
    if not settings:
        return False
    given = dict(settings)
    is_first = (
        given.get("core.repositoryformatversion") == "0" and given.get("core.bare") == "false"
    )
    return is_first and not any(name.startswith("extensions.") for name in given)


def _is_plain(repository: Repository) -> bool:
    """Whether all that says where a repository lies stands in its one file of settings."""
    if not repository.git_dir == repository.common_dir == repository.top / ".git":
        return False
    try:
        text = (repository.git_dir / "config").read_bytes().lower()
    except OSError:
        return False
    return not any(word in text for word in (b"include", b"worktree"))


def _as_it_is(repository: Repository) -> Repository | None:
    """Return a repository with the branch and the commit that it has now.

    None where git has to be asked.
    """
    with suppress(UnsafeClone, OSError):
        git_dir = repository.git_dir
        head = read_head(git_dir)
        path = f"{git_dir}/refs/heads/{head.branch}"
        is_plain = os.path.realpath(path) == path and not is_symbolic(git_dir, head.branch)
        if head.branch and head.commit and is_plain:
            return replace(repository, branch=head.branch, commit=head.commit)
    return None


def _asked(folder: Path) -> Repository:
    """Return what git says: asked once. What it has answered before it refuses says why."""
    code, output, complaint = git_answer(folder, *PATHS, "--is-inside-work-tree", *QUESTIONS, *HEAD)
    inside, *answers = output.decode("utf-8", "surrogateescape").removesuffix("\n").split("\n")
    if not inside:
        if "not a git repository" in complaint:
            raise NoRepository(folder, "lies in no git repository")
        if "cannot use bare repository" in complaint:
            raise NoRepository(folder, BARE)
        raise GitRefused(folder, ("rev-parse",), code, complaint)
    if inside != "true":
        raise NoRepository(folder, BARE)
    if code != 0:
        refused = GitRefused(folder, ("rev-parse",), code, complaint)
        if refused.passes:
            raise refused
        raise NoRepository(folder, WITHOUT_COMMIT)
    *paths, commit, branch = answers
    if len(paths) != len(QUESTIONS):  # a path holds a line break
        paths = [git(folder, *PATHS, question) for question in QUESTIONS]
    top, git_dir, common_dir, shallow, object_format = paths
    return Repository(
        top=Path(top).resolve(),
        git_dir=Path(git_dir).resolve(),
        common_dir=Path(common_dir).resolve(),
        branch=None if branch == "HEAD" else branch.removeprefix("refs/heads/"),
        commit=commit,
        is_shallow=shallow == "true",
        object_format=object_format,
    )


def branch_commit(main: Repository, branch: str) -> str | None:
    """Return the last commit of a branch, as it is now; None where there is no such branch.

    Git's files tell. Git is asked where a link leads elsewhere, or the refs have another form.
    """
    ref = f"refs/heads/{branch}"
    path = str(main.common_dir / ref)
    if os.path.realpath(path) == path:
        with suppress(UnsafeClone, OSError):
            return read_ref(main.common_dir, ref)
    return view_of(main.top).commit_of(ref)


def working_tree_of(main: Repository, branch: str) -> Path | None:
    """Return the working tree that has `branch` checked out; None where none has.

    Git is asked only where there are several. Raises StateError, GitRefused.
    """
    if main.git_dir == main.common_dir and not (main.common_dir / "worktrees").exists():
        with suppress(UnsafeClone, OSError):
            head = read_head(main.common_dir)
            if head.commit is not None and not is_symbolic(main.common_dir, head.branch):
                return main.top if head.branch == branch else None
    view = view_of(main.top)
    listed = view.text("worktree", "list", "--porcelain", "-z").split("\0\0")
    for number, record in enumerate(listed):
        tree = dict(line.partition(" ")[::2] for line in record.split("\0"))
        if tree.get("branch") != f"refs/heads/{branch}" or "bare" in tree:
            continue
        folder = Path(tree["worktree"])
        if number == 0:
            return _first_tree(main, branch, folder)
        if folder.is_dir():
            return folder
    return None


def _first_tree(main: Repository, branch: str, listed: Path) -> Path:
    """Return where the first working tree is: a list of them tells where git's folder lies."""
    if main.git_dir == main.common_dir:
        return main.top
    there = view_of(main.common_dir).text("--git-dir=.", "rev-parse", "--show-toplevel")
    for folder in (Path(there).resolve(), listed):
        if folder.resolve() != main.common_dir:  # as it is where no setting names a tree
            return folder
    raise StateError(
        f"the branch {branch} is checked out in the first working tree of {main.common_dir},"
        " and git does not say where that is",
        hint="Check out another branch there, or call from there.",
    )
