"""Which folders a process in a sandbox sees: in a clone, or in the root of the workspace itself.

Owns what is hidden and what is there of the main checkout. In a clone the main checkout is hidden
but for `.sow`, without its `run`. In the root it is writable but for `.sow` and `.git`: whoever
wrote there could have the user's own git run a hook. So nothing can be committed in the root.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from sow.errors import ConfigurationError
from sow.paths import Workspace
from sow.sandbox.machine import Wanted, too_wide

ALTERNATES = "info/alternates"
ALTERNATES_LIMIT = 1 << 16
MOST_BORROWED = 16


AGENT_ELSEWHERE = (
    "Have the task run in a clone (--clone, or clones.use: always), or in another folder."
)


class TooWide(ConfigurationError):
    """The folder of an agent or a check holds what no sandbox may let it write."""

    def __init__(self, folder: str, why: str, hint: str) -> None:
        super().__init__(f"a sandbox cannot make {folder} writable: {why}", hint=hint)


def visible_in_clone(workspace: Workspace, clone: Path, cwd: Path, *, borrows: bool) -> Wanted:
    """Return what is seen in a clone. Other clones beside it are hidden.

    `borrows`: the clone has the objects of the main repository, where no agent could say so.
    """
    top = repository_around(workspace.root)
    return Wanted(
        folder=str(clone),
        cwd=str(cwd),
        readable=(str(workspace.sow), *(objects_of(top) if borrows else ())),
        hidden=(str(top), str(workspace.root), str(workspace.run), str(clone.parent)),
    )


def visible_in_root(workspace: Workspace, cwd: Path) -> Wanted:
    """Return what is seen in the root of a workspace, or in another folder that was named."""
    folder = workspace.root if cwd.is_relative_to(workspace.root) else cwd
    top = repository_around(workspace.root)
    return Wanted(
        folder=str(folder),
        cwd=str(cwd),
        readable=(str(workspace.sow), *({str(top / ".git"), str(folder / ".git")})),
        hidden=(str(workspace.run),),
    )


def checked_folder(visible: Wanted, *, hint: str = AGENT_ELSEWHERE) -> Wanted:
    """Return what is seen, if its folder may be written. Raises TooWide, with this hint."""
    if why := too_wide(visible.folder, os.environ):
        raise TooWide(visible.folder, why, hint)
    return visible


def with_parts(visible: Wanted, **more: tuple[str, ...]) -> Wanted:
    """Return what is seen with more paths in its lists."""
    lists = {name: (*getattr(visible, name), *paths) for name, paths in more.items()}
    return msgspec.structs.replace(visible, **lists)


def objects_of(top: Path) -> tuple[str, ...]:
    """Return the folders of objects of a repository of the user's, those it borrows among them."""
    git = top / ".git"
    common = git if git.is_dir() else _common_of(git)
    return tuple(dict.fromkeys(_borrowed(common / "objects", MOST_BORROWED)))


def _borrowed(objects: Path, depth: int) -> Iterator[str]:
    yield str(objects)
    try:
        text = (objects / ALTERNATES).read_bytes()[:ALTERNATES_LIMIT]
    except OSError:
        return
    for line in text.splitlines() if depth else ():
        if line and not line.startswith(b"#"):
            yield from _borrowed(objects / os.fsdecode(line), depth - 1)


def _common_of(file: Path) -> Path:
    """Return the git folder that the file `.git` of a linked working tree belongs to."""
    try:
        folder = file.parent / file.read_text("utf-8").removeprefix("gitdir:").strip()
        return folder / (folder / "commondir").read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return file


def repository_around(root: Path) -> Path:
    """Return the folder with `.git` at or above a workspace's root, else the root."""
    real = Path(os.path.realpath(root))
    return next((each for each in (real, *real.parents) if (each / ".git").exists()), real)
