"""A hash of every file of a repository, to see that nothing of it has changed."""

import hashlib
import os
import stat
from pathlib import Path


def fingerprint(main: Path, *branches: str) -> dict[str, str]:
    """Return a hash of every file of a repository, save its objects and these branches."""
    found = {}
    for folder, folders, files in os.walk(main):
        relative = Path(folder).relative_to(main)
        if relative == Path(".git"):
            folders[:] = [name for name in folders if name not in ("objects", "sow")]
        for name in [*files, *(name for name in folders if (Path(folder) / name).is_symlink())]:
            path = Path(folder) / name
            mode = path.lstat().st_mode
            data = b""
            if stat.S_ISLNK(mode):
                data = bytes(path.readlink())
            elif stat.S_ISREG(mode):  # reading a FIFO would wait for whoever writes
                data = path.read_bytes()
            found[str(relative / name)] = hashlib.sha256(data).hexdigest() + oct(mode)
    for branch in branches:
        found.pop(f".git/refs/heads/{branch}", None)
    return found
