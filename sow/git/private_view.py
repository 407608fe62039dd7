"""A clone that an agent has had, seen through a git folder of our own.

Whatever an agent may have written into its clone's `.git` (filters, diff
drivers, textconv, monitors, hooks, includes, aliases, another working tree,
replaced objects, grafts, borrowed objects) is unknown to the git that runs
here: of that folder it sees the objects alone. Our folder has the settings of
this module, and of the *main* repository what says how files are stored (its
filters, line ends, attributes) and which are ignored. The user's own global
settings hold, as everywhere.
"""

import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from sow.files import read_if_there
from sow.files.scratch import scratch_folder
from sow.git.inert_refs import UnsafeClone, read_text
from sow.git.repository import Repository
from sow.git.run import git
from sow.git.settings_text import LOCAL, as_lines, plain_settings, quoted, settings_in, settings_of
from sow.git.special_files import refuse_special_files
from sow.git.view import View, view_of

LIST_LIMIT = 1 << 20
"""The longest list of patterns, or of borrowed folders, that is read."""
INDEX = "index"
SPARSE = "info/sparse-checkout"
"""The patterns by which a part of the clone is checked out, as the clone has them."""
TAKEN = ("info/exclude", "info/attributes", "shallow")
"""What of the main repository's git folder says how its files are stored, and which are ignored."""
STORING = re.compile(
    r"(?:filter|lfs|merge)\."
    r"|core\.(?:autocrlf|eol|safecrlf|attributesfile|excludesfile|precomposeunicode"
    r"|checkroundtripencoding|bigfilethreshold|filemode|symlinks|ignorecase)$"
)
"""The settings of the main repository without which the same files would be other contents."""

ELSEWHERE = re.compile(rb"(?i)include|worktreeconfig")
"""Stands in a repository's settings where others lie in another file."""

SETTINGS = """\
[core]
	repositoryFormatVersion = 1
	bare = false
	commitGraph = false
	multiPackIndex = false
	untrackedCache = false
	splitIndex = false
	logAllRefUpdates = false
	sparseCheckout = {sparse}
	sparseCheckoutCone = false
[index]
	sparse = false
[extensions]
	objectFormat = {object_format}
[lfs]
	storage = {lfs}
"""


@contextmanager
def private_view(
    clone: Path, main: Repository, *, reads_main: bool = False, with_special_files: bool = False
) -> Iterator[View]:
    """Give a view of a clone of `main` in which nothing of the clone's settings acts.

    Its index is empty and lies in our folder, as do its HEAD and its refs. New
    objects go to the clone. With `reads_main` those of `main` can be read as
    well, and nothing must be written: git makes no object that it sees there,
    and the clone would lack it. The folder ends with the block. Raises
    UnsafeClone where clone or git folder are not real folders, where it borrows
    objects that `main` does not borrow itself, or where git would wait for a pipe;
    `with_special_files` is for who reads objects alone, and looks for pipes in the working tree.
    """
    git_dir = real_git_dir(clone)
    _refuse_borrowing(git_dir, main)
    if not with_special_files:
        refuse_special_files(git_dir / "objects", clone)
    with scratch_folder("git") as folder:
        files = {name: read_if_there(main.common_dir / name, LIST_LIMIT) for name in TAKEN}
        files[SPARSE] = _sparse_patterns(git_dir)
        view = own_view(folder, clone, git_dir / "objects", files, main, main.object_format)
        if reads_main:
            objects = _quoted(str(main.common_dir / "objects"))
            more = {"GIT_ALTERNATE_OBJECT_DIRECTORIES": objects}
            view = View(clone, {**view.variables, **more})
        yield view


def own_view(
    folder: Path,
    work_tree: Path,
    objects: Path,
    files: Mapping[str, bytes | None],
    main: Repository,
    object_format: str,
) -> View:
    """Return the view of a working tree through a git folder of ours, which is made in `folder`.

    `objects` are those of the repository that is looked at, `files` what lies in its git folder.
    """
    for name in ("refs/heads", "info"):
        (folder / name).mkdir(parents=True)
    (folder / "objects").symlink_to(objects)
    (folder / "HEAD").write_text("ref: refs/heads/nothing\n")
    for name, data in files.items():
        if data is not None:
            (folder / name).write_bytes(data)
    settings = SETTINGS.format(
        sparse=str(files.get(SPARSE) is not None).lower(),
        object_format=object_format,
        lfs=quoted(str(main.common_dir / "lfs")),
    )
    text = storing_settings(main) + settings
    (folder / "config").write_text(text, "utf-8", "surrogateescape")
    variables = {
        "GIT_DIR": str(folder),
        "GIT_WORK_TREE": str(work_tree),
        "GIT_INDEX_FILE": str(folder / INDEX),
    }
    return View(work_tree, variables)


def view_folder(view: View) -> Path:
    """Return the git folder of a private view: a repository of its own, for git's `fetch`."""
    return Path(view.variables["GIT_DIR"])


def name_commit(view: View, ref: str, commit: str) -> None:
    """Make a ref of a private view name a commit. The folder is ours: no git is needed for it."""
    path = view_folder(view) / ref
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{commit}\n")


def index_of(view: View) -> Path:
    """Return the index of a private view."""
    return Path(view.variables["GIT_INDEX_FILE"])


def is_sparse(view: View) -> bool:
    """Whether the clone says that it is checked out in part."""
    return (view_folder(view) / SPARSE).exists()


def real_git_dir(clone: Path) -> Path:
    """Return a clone's git folder. Raises UnsafeClone where it, or the clone, is no real folder."""
    git_dir = clone / ".git"
    for folder in (clone, git_dir, git_dir / "objects", git_dir / "refs"):
        try:
            mode = folder.lstat().st_mode
        except OSError as error:
            raise UnsafeClone(folder, f"cannot be read ({error.strerror})") from error
        if not stat.S_ISDIR(mode):
            raise UnsafeClone(folder, "is not a real folder")
    with os.scandir(git_dir / "objects") as entries:
        for entry in entries:
            if entry.is_symlink():
                raise UnsafeClone(Path(entry.path), "is a symbolic link to another place")
    return git_dir


def _refuse_borrowing(git_dir: Path, main: Repository) -> None:
    """Raise UnsafeClone where the clone reads the objects of a repository that is not its own."""
    own = _borrowed(read_text(git_dir, "objects/info/alternates", LIST_LIMIT) or "", git_dir)
    if not own:
        return
    objects = main.common_dir / "objects"
    text = (read_if_there(objects / "info" / "alternates", LIST_LIMIT) or b"").decode(
        "utf-8", "replace"
    )
    if foreign := own - _borrowed(text, main.common_dir) - {objects.resolve()}:
        path = git_dir / "objects" / "info" / "alternates"
        raise UnsafeClone(path, f"borrows objects from {min(foreign)}")


def _borrowed(text: str, git_dir: Path) -> set[Path]:
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return {(git_dir / "objects" / line).resolve() for line in lines}


def storing_settings(main: Repository) -> str:
    """Return the main repository's settings that `STORING` names, as lines of our own file.

    Of the same text git is asked once in a process. What includes other files is asked each time.
    """
    text = read_if_there(main.common_dir / "config", LIST_LIMIT) or b""
    if text and not ELSEWHERE.search(text):
        return _storing_lines(settings_in(text))
    return _storing_lines(
        (setting.name, setting.value)
        for setting in settings_of(view_of(main.top))
        if setting.scope == LOCAL
    )


def _storing_lines(settings: Iterable[tuple[str, str]]) -> str:
    return as_lines((name, value) for name, value in settings if STORING.match(name))


def _sparse_patterns(git_dir: Path) -> bytes | None:
    """Return which part of the clone is checked out, as it says; None where it is the whole.

    Its settings are handed to git as text: nothing that they include is read.
    """
    patterns = read_text(git_dir, SPARSE, LIST_LIMIT)
    if patterns is None:
        return None
    answers = []
    for name in ("config.worktree", "config"):
        text = read_text(git_dir, name, LIST_LIMIT)
        if text is not None and "sparsecheckout" in text.lower():
            answers.append(_says_sparse(text.encode("utf-8", "surrogateescape")))
    if "true" in answers:
        return patterns.encode("utf-8", "surrogateescape")
    return None


def _says_sparse(text: bytes) -> str:
    """Return what settings say of a checkout in part: true, false or nothing. The last one holds.

    Git is asked only where it is not plain.
    """
    plain = plain_settings(text)
    if plain is not None:
        values = [value for name, value in plain if name == "core.sparsecheckout"]
        if not values or values[-1] in ("true", "false"):
            return values[-1] if values else ""
    words = ("config", "--file", "-", "--no-includes", "--type=bool", "core.sparseCheckout")
    answer = git(Path("/"), *words, stdin=text, accepted=range(256))
    return answer.splitlines()[-1] if answer else ""


def _quoted(path: str) -> str:
    """Return a path as one entry of a list of folders."""
    if ":" not in path and not path.startswith('"'):
        return path
    return '"' + path.replace("\\", "\\\\").replace('"', '\\"') + '"'
