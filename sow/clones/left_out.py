"""What a task has changed of sow's own files: left out of what comes of the task, and told.

Owns the words, and the command by which a person takes such a file all the same: the task's
branch has it.
"""

from collections.abc import Sequence
from shlex import quote

from sow.clones.clone_facts import CloneFacts
from sow.terminal_text import printable

SHOWN = 12
NEVER_TAKEN = ("project", "run")
"""What is of one machine, or kept by sow alone, whatever a branch has of it."""


def left_out_words(facts: CloneFacts, paths: Sequence[str], commit: str) -> str:
    """Return that files were left out, which, and how a person takes those that may be wanted.

    `commit` is one of the task's that has them as its agent left them.
    """
    names = ", ".join(printable(_text(path)) for path in paths[:SHOWN])
    more = f" and {len(paths) - SHOWN} more" * (len(paths) > SHOWN)
    words = f"left out, for it is sow's own: {names}{more}"
    command = taking_command(facts, paths, commit)
    return f"{words}; to take it all the same: `{command}`" if command else words


def taking_command(facts: CloneFacts, paths: Sequence[str], commit: str) -> str:
    """Return the command that brings files of the task's into the checkout, removals too.

    It names them from the repository's top. Empty where nobody should take any of the files.
    """
    wanted = taken_by_hand(facts, paths)
    files = " ".join(quote(f":/{path}") for path in wanted)
    source = f"--source={commit[:12]} --staged --worktree"
    return f"git restore {source} -- {files}" if wanted else ""


def taken_by_hand(facts: CloneFacts, paths: Sequence[str]) -> tuple[str, ...]:
    """Return those of the files that a person may want: sow's settings, not its state."""
    folder, *own = facts.own_paths
    files = {path for path in own if path.removeprefix(f"{folder}/") not in NEVER_TAKEN}
    return tuple(path for path in paths if path in files)


def _text(path: str) -> str:
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
