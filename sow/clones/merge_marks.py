"""How the project's own commits remember in their messages which task's commit they bring.

Only the project's own line counts, the first parents of its branch: elsewhere
an agent may write what it likes.
"""

import re

from sow.git.run import LONG_SECONDS
from sow.git.view import View

TASK_MARK = "Sow-Task"
"""Whose it is."""
COMMIT_MARK = "Sow-Commit"
"""The task's commit, which a squash does not hold as a parent."""
MARKS = "%x00".join(
    (
        "%H",
        *(f"%(trailers:key={mark},valueonly,separator=%x2C)" for mark in (TASK_MARK, COMMIT_MARK)),
    )
)
FALSE = re.compile(rf"\W*(?:{TASK_MARK}|{COMMIT_MARK})\b|.*-{{20,}} >8 -{{20,}}", re.IGNORECASE)
"""A line that git could take for one of ours, or for the end of a message, which hides ours."""


def mark_lines(mark: str, commit: str) -> str:
    """Return the last lines of a message that brings a commit of the task that `mark` names."""
    return f"{TASK_MARK}: {mark}\n{COMMIT_MARK}: {commit}\n"


def marked(message: str, mark: str, commit: str) -> str:
    """Return an agent's own message with our last lines, and none that looks like them."""
    kept = [line for line in message.splitlines() if not FALSE.match(line)]
    return "\n".join(kept).rstrip() + f"\n\n{mark_lines(mark, commit)}"


def marks_since(view: View, tip: str, commit: str) -> list[tuple[str, str, str]]:
    """Return the project's own commits since `commit` went apart: each with task and commit.

    Raises GitRefused.
    """
    words = ("log", "-z", "--first-parent", f"--format={MARKS}", tip, f"^{commit}")
    records = view.records(*words, seconds=LONG_SECONDS)
    return list(zip(records[::3], records[1::3], records[2::3], strict=True))


def brought_by(view: View, project: str, commit: str) -> str:
    """Return the commit of the project's own line that brought a merged commit, by its message.

    A commit that nobody has merged by sow came as it is. Raises GitRefused.
    """
    format_ = f"--format={MARKS}"
    fixed = ("--fixed-strings", f"--grep={COMMIT_MARK}: {commit}")
    words = ("log", "-z", "--first-parent", "--max-count=1", *fixed, format_, project)
    records = view.records(*words, seconds=LONG_SECONDS)
    return records[0] if records and records[2] == commit else commit
