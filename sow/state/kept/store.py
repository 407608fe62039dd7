"""Where the copies of a checkout lie: `<git dir>/sow/kept`, else the user's state folder.

Owns that place and the names in it. There is a folder for each checkout and branch, and
in it one for each project, so that what another branch holds is never taken
for this one's. Imports next to nothing: `sow agent log` passes through here.
"""

import os
from functools import lru_cache
from pathlib import Path

from sow.git.head import BLANKS, common_dir, find_git, small_text
from sow.paths import SOW_FOLDER, path_at
from sow.user_folders import BaseFolder, user_folder

KEPT_FOLDER = "kept"
KEPT = f"sow/{KEPT_FOLDER}"
LONGEST_NAME = 200
ID_PARTS, ID_LENGTH = [8, 4, 4, 4, 12], 36
"""The digits of each part of a project's id, and how long it is with its dashes."""
_HEXADECIMAL = frozenset("0123456789abcdef")


class Checkout:
    """A folder that holds `.sow`, and the branch that it has checked out now.

    `git` is git's folder of the checkout and `head` what HEAD says; both are
    empty without git. `real` is `root` without links, `inside` where it lies in the checkout.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.real = _real(str(root))
        git, top, head = find_git(self.real)
        if git and not _is_ours(git):  # what lies there is not to be trusted
            git = top = head = ""
        self.git, self.head = git, head
        self.inside = os.path.relpath(self.real, top) if top and self.real != top else ""

    @property
    def branch_folder(self) -> str:
        """Return where the copies of this checkout and branch lie."""
        if not self.git:
            folder = f"{user_folder(BaseFolder.STATE)}/{KEPT_FOLDER}"
            return f"{folder}/{_quoted(self.real)}@"
        return f"{self.git}/{KEPT}/{_quoted(self.inside)}@{_quoted(self.head)}"

    @property
    def commit(self) -> str:
        """Return the commit that HEAD names; empty where that takes more than two small files."""
        if not self.head.startswith("ref: "):
            return self.head
        return small_text(f"{common_dir(self.git)}/{self.head[5:]}").strip(BLANKS)


_real_roots: dict[str, tuple[int, int]] = {}
"""The roots that were found to be free of links, with their device and inode then."""


def _real(root: str) -> str:
    """Return a root without links: one that is free of them is looked through once."""
    try:
        facts = os.stat(root)  # noqa: PTH116
    except OSError:
        return os.path.realpath(root)
    found = facts.st_dev, facts.st_ino
    if _real_roots.get(root) != found:
        real = os.path.realpath(root)
        if real != root:
            return real
        _real_roots[root] = found
    return root


class Kept:
    """The copies of one project in one checkout. `folder` need not exist."""

    def __init__(self, checkout: Checkout, project_id: str) -> None:
        self.checkout = checkout
        self.project_id = project_id
        self.sow = f"{checkout.root}/{SOW_FOLDER}"
        self.folder = f"{checkout.branch_folder}/{project_id}"
        self.is_restored = False
        """Whether one look has been taken by this reader at all that differs."""
        self.has_found_one = False
        """Whether this reader has come upon a file that differs, and has looked at it alone."""
        self.put_back: dict[str, bytes] = {}
        """What that look has put back: it counts though git may have taken it once more by now."""

    @property
    def files(self) -> str:
        """The folder of the copies; below it they lie as they do below `.sow`."""
        return f"{self.folder}/files"

    def name(self, path: Path | str) -> str:
        """Return the name of a file below `.sow`, as both folders have it."""
        return str(path)[len(self.sow) + 1 :]

    def copy(self, name: str) -> str:
        """Return where the copy of a file lies."""
        return f"{self.folder}/files/{name}"

    def versions(self, name: str) -> str:
        """Return where the list of a file's versions lies."""
        return f"{self.folder}/versions/{name}"

    @property
    def first_versions(self) -> str:
        """The list of the first versions of files that came many at once, each with its name."""
        return f"{self.folder}/first-versions"


def root_of(path: Path) -> Path | None:
    """Return the root of the workspace whose project `path` lies in."""
    text = str(path)
    at = text.rfind(f"/{SOW_FOLDER}/project")
    return path_at(text[:at] or "/") if at >= 0 else None


def kept_at(root: Path) -> Kept | None:
    """Return the copies of the project in a workspace; None where no project ever was.

    Where its `state.yaml` is missing, the project is the one that was kept last.
    """
    checkout = Checkout(root)
    project_id = project_id_at(root) or _last_kept(checkout.branch_folder)
    return Kept(checkout, project_id) if project_id else None


def project_id_at(root: Path) -> str:
    """Return the id of the project that is checked out in a workspace; empty for none."""
    return _id_in(small_text(f"{root}/{SOW_FOLDER}/project/state.yaml"))


@lru_cache(maxsize=4)
def _id_in(text: str) -> str:
    """Return the project's id in the beginning of its state: the same text is searched once."""
    for line in text.split("\n"):
        key, _, value = line.partition(":")
        if (
            key[:1] in (" ", "\t")
            and key.lstrip() == "id"
            and (found := _id_at_front(value.strip()))
        ):
            return found
    return ""


def _id_at_front(text: str) -> str:
    """Return the project's id that a value begins with, in quotes or not; empty for any other."""
    words = text[1:] if text[:1] in ("'", '"') else text
    found, after = words[:ID_LENGTH], words[ID_LENGTH:]
    parts = found.split("-")
    is_id = [len(part) for part in parts] == ID_PARTS and all(map(_HEXADECIMAL.issuperset, parts))
    return found if is_id and not (after[:1].isalnum() or after[:1] == "_") else ""


def kept_for(path: Path) -> Kept | None:
    """Return the copies that a file of a project belongs to; None outside a workspace."""
    root = root_of(path)
    return kept_at(root) if root is not None else None


def _last_kept(branch_folder: str) -> str:
    """Return the project of a branch whose copies are the newest."""
    try:
        names = os.listdir(branch_folder)  # noqa: PTH208 - a text is what is wanted
    except OSError:
        return ""
    newest = [
        (_changed_at(f"{branch_folder}/{name}/files/project/state.yaml"), name) for name in names
    ]
    return max(newest, default=(0, ""))[1] if any(at for at, _ in newest) else ""


def _changed_at(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns  # noqa: PTH116
    except OSError:
        return 0


def _is_ours(folder: str) -> bool:
    try:
        return os.stat(folder).st_uid == os.geteuid()  # noqa: PTH116
    except OSError:
        return False


def _quoted(text: str) -> str:
    name = text.removeprefix("ref: ").replace("%", "%25").replace("/", "%2F")
    if len(name.encode("utf-8", "surrogateescape")) <= LONGEST_NAME:
        return name
    from hashlib import sha256

    return sha256(text.encode("utf-8", "surrogateescape")).hexdigest()
