"""A settings file of one machine is never committed: git's own list of this checkout says so.

Owns the lines in `.git/info/exclude`. What is ignored already needs none.
"""

import os
import re
from collections.abc import Sequence
from pathlib import Path

from sow.errors import SowError
from sow.git.run import git, git_answer
from sow.install.documents import backups_of, change_document

BACKUPS = ".backup*"
SIGNS = re.compile(r"[\\*?\[]")
"""What stands for other letters in git's patterns, where no backslash is before it."""


def ignore_locally(file: Path) -> tuple[str, ...]:
    """Have git ignore a file and its backups; return the lines that it took, none without git."""
    exclude, name = _place(file)
    if exclude is None:
        return ()
    wanted = [name, f"{name}{BACKUPS}"]
    tried = [file, file.with_name(f"{file.name}.backup")]
    new = [line for line, path in zip(wanted, tried, strict=True) if not _is_ignored(path)]

    def with_lines(data: bytes | None) -> bytes | None:
        text = data or b""
        if text and not text.endswith(b"\n"):
            text += b"\n"
        return text + b"".join(os.fsencode(line) + b"\n" for line in new) if new else data

    change_document(exclude, with_lines, keeps_backup=False)
    return tuple(new)


def stop_ignoring(file: Path, lines: Sequence[str]) -> None:
    """Take lines out again that `ignore_locally` has added.

    That of the backups stays as long as there are some: they hold what one machine's settings said.
    """
    exclude, _ = _place(file) if lines else (None, "")
    if exclude is None or not exclude.exists():
        return
    kept = BACKUPS if backups_of(file) else ""
    gone = {os.fsencode(line) for line in lines if not (kept and line.endswith(kept))}

    def without(data: bytes | None) -> bytes | None:
        kept = [
            line for line in (data or b"").splitlines(keepends=True) if line.strip() not in gone
        ]
        return b"".join(kept)

    change_document(exclude, without, keeps_backup=False)


def _place(file: Path) -> tuple[Path | None, str]:
    """Return git's own list for a file, and its name there; no list outside of a repository."""
    folder = next(folder for folder in file.parents if folder.is_dir())
    try:
        top, exclude = git(
            folder,
            *("rev-parse", "--path-format=absolute", "--show-toplevel"),
            *("--git-path", "info/exclude"),
        ).splitlines()
    except (SowError, ValueError):
        return None, ""
    within = os.path.relpath(os.path.realpath(file.parent), os.path.realpath(top))
    name = os.path.normpath(os.path.join(within, file.name))  # noqa: PTH118
    return Path(exclude), "/" + SIGNS.sub(r"\\\g<0>", name)


def _is_ignored(file: Path) -> bool:
    code, _, _ = git_answer(file.parent, "check-ignore", "--quiet", "--", file.name)
    return code == 0
