"""What has changed in a working tree between two looks at it: for a run that should change nothing.

Owns the comparison. It sees the commit, and each file that git calls changed
or new; whose hand it was, nobody can tell.
"""

from pathlib import Path
from typing import NamedTuple

from sow.clones.difference import working_tree_files
from sow.clones.task_diff import facts_of
from sow.errors import SowError
from sow.git.repository import repository_of
from sow.git.view import view_of
from sow.terminal_text import readable


class Look(NamedTuple):
    """A working tree as it was at one time."""

    commit: str
    files: dict[str, str]
    """What differs from that commit, save sow's own files: each with what tells its versions
    apart."""


def look_at_tree(root: Path) -> Look | None:
    """Return how the working tree of a workspace stands; None where git cannot tell."""
    try:
        main = repository_of(root)
        facts = facts_of(root, main.top, main.top, "", main.commit)
        paths = working_tree_files(view_of(main.top), facts)
    except SowError:
        return None
    own = f"{facts.inside}/.sow/" if facts.inside else ".sow/"
    ours = {path for path in paths if path.startswith(own) and path != f"{own}config.yaml"}
    seen = [path for path in paths if path not in ours]
    return Look(main.commit, {readable(path): _version(main.top / path) for path in seen})


def changed_between(before: Look, after: Look) -> tuple[str, ...]:
    """Return what a person should look at: files that changed, and that the commit did."""
    names = {*before.files, *after.files}
    changed = sorted(name for name in names if before.files.get(name) != after.files.get(name))
    moved = [f"commit {after.commit[:12]}"] if after.commit != before.commit else []
    return (*moved, *changed)


def _version(path: Path) -> str:
    try:
        found = path.lstat()
    except OSError:
        return "gone"
    return f"{found.st_mode} {found.st_size} {found.st_mtime_ns} {found.st_ino}"
