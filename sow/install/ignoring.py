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


def lines_for(file: Path) -> tuple[str, ...]:
    """Return the lines by which git ignores a file and its backups; none without git."""
    exclude, name = _place(file)
    return () if exclude is None else (name, f"{name}{BACKUPS}")


def missing_lines(file: Path) -> tuple[str, ...]:
    """Return those of the lines that git lacks. Changes nothing; the folder may be missing."""
    tried = (file, file.with_name(f"{file.name}.backup"))
    lines = zip(lines_for(file), tried, strict=False)
    return tuple(line for line, path in lines if not _is_ignored(path))


def ignore_locally(file: Path, lines: Sequence[str]) -> None:
    """Add lines to git's own list, where they are not there yet.

    Before a last line that has no end, so that they can be taken out again and it has none still.
    """
    exclude, _ = _place(file) if lines else (None, "")
    if exclude is None:
        return

    def with_lines(data: bytes | None) -> bytes | None:
        text = data or b""
        there = {line.strip() for line in text.splitlines()}
        new = b"".join(line + b"\n" for line in map(os.fsencode, lines) if line not in there)
        rest, end, last = text.rpartition(b"\n")
        return rest + end + new + last if new else data

    change_document(exclude, with_lines, keeps_backup=False)


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
        return b"".join(kept) or None

    change_document(exclude, without, keeps_backup=False)


def _place(file: Path) -> tuple[Path | None, str]:
    """Return git's own list for a file, and its name there; no list outside of a repository."""
    folder = _folder_of(file)
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
    folder = _folder_of(file)
    name = os.path.relpath(Path(os.path.realpath(file.parent)) / file.name, folder)
    code, _, _ = git_answer(folder, "check-ignore", "--quiet", "--", name)
    return code == 0


def _folder_of(file: Path) -> Path:
    """Return the folder that a file lies in, or would lie in as far as there is one."""
    place = Path(os.path.realpath(file.parent))
    return next(folder for folder in (place, *place.parents) if folder.is_dir())
