"""The contents that Git LFS keeps for a task's commits, brought into the main repository.

A commit holds only their names, which are the SHA-256 of what they hold. The
clone's copies are the agent's: each is copied, never linked, and only where it
holds what its name says.
"""

import hashlib
import os
import re
from contextlib import suppress
from pathlib import Path

from sow.clones.clone_facts import CloneFacts
from sow.git.inert_refs import UnsafeClone
from sow.git.private_view import real_git_dir
from sow.git.repository import Repository

PLACE = Path("lfs") / "objects"
NAME = re.compile(r"[0-9a-f]{64}")
PIECE = 1 << 20


def bring_large_files(facts: CloneFacts, main: Repository) -> tuple[str, ...]:
    """Copy what the clone's Git LFS has and the main repository's has not; return the names.

    Done twice, it copies nothing more. Raises UnsafeClone, OSError (a full disk).
    """
    git_dir = real_git_dir(facts.path)
    source = git_dir / PLACE
    if source.is_symlink() or source.parent.is_symlink():
        raise UnsafeClone(source, "is a link to elsewhere")
    brought = []
    for folder, _, names in os.walk(source):  # follows no link to a folder
        for name in filter(NAME.fullmatch, names):
            target = main.common_dir / PLACE / name[:2] / name[2:4] / name
            if not target.exists() and _copied(Path(folder, name), target):
                brought.append(name)
    return tuple(sorted(brought))


def _copied(source: Path, target: Path) -> bool:
    """Copy a file that holds what its name says; whether it did."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        descriptor = os.open(source, flags)
    except OSError:  # a link, or a pipe
        return False
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = target.with_name(f".{target.name}.{os.urandom(6).hex()}.sow")
    digest = hashlib.sha256()
    try:
        with os.fdopen(descriptor, "rb") as file, draft.open("xb") as copy:
            while piece := file.read(PIECE):
                digest.update(piece)
                copy.write(piece)
        if digest.hexdigest() != target.name:
            return False
        draft.replace(target)
        return True
    finally:
        with suppress(FileNotFoundError):
            draft.unlink()
