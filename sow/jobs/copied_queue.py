"""Whose queue a file is: a copied folder brings along that of the checkout that it was copied from.

Owns the note of the place in the file, and its comparison. A worker of the copy would take the
original's agents for its own, and run what is queued there once more. Whatever cannot be told
is taken for the checkout's own: a folder that was moved, restored, or is seen under another name.
"""

import os
import sqlite3
from pathlib import Path

from sow.errors import QueueError
from sow.jobs.faults import put_aside_command
from sow.jobs.queue_files import count_commit
from sow.paths import Workspace


class CopiedQueue(QueueError):
    """The queue's file came along when the checkout was copied."""

    def __init__(self, workspace: Workspace, original: Path) -> None:
        super().__init__(
            f"the queue file {workspace.queue_db} is a copy of the one of {original}, and what runs"
            " and waits there is not to run here as well",
            hint="Put the copy aside, then call again; this checkout begins a queue of its own:\n"
            f"    {put_aside_command(workspace.queue_db)}\n"
            "The original and its agents stay as they are.",
        )


def refuse_copied(connection: sqlite3.Connection, workspace: Workspace) -> None:
    """Raise CopiedQueue where the file is that of another checkout, which is still there."""
    noted = _noted(connection)
    if noted is None or noted[0] == _mark(workspace):
        return
    mark, root = noted
    if mark and _mark(Workspace(root)) == mark:
        raise CopiedQueue(workspace, root)


def note_place(connection: sqlite3.Connection, workspace: Workspace) -> None:
    """Put on record where the file lies, unless that is on record."""
    if _noted(connection) == (_mark(workspace), workspace.root):
        return
    connection.execute("begin immediate")
    try:
        put_place(connection, workspace)
        count_commit(connection)
        connection.execute("commit")
    except BaseException:
        connection.rollback()
        raise


def put_place(connection: sqlite3.Connection, workspace: Workspace) -> None:
    """Write down where the file lies, in the transaction that is open."""
    value = _mark(workspace).encode() + b" " + os.fsencode(workspace.root)
    connection.execute("insert or replace into control values ('place', ?)", (value,))


def _noted(connection: sqlite3.Connection) -> tuple[str, Path] | None:
    row = connection.execute("select value from control where name = 'place'").fetchone()
    if row is None or not isinstance(row[0], bytes):
        return None
    mark, _, root = row[0].partition(b" ")
    return mark.decode("ascii", "replace"), Path(os.fsdecode(root))


def _mark(workspace: Workspace) -> str:
    """Return what tells a folder from its copies; empty where it cannot be seen."""
    try:
        facts = workspace.run.stat()
    except (OSError, ValueError):
        return ""
    return f"{facts.st_dev}:{facts.st_ino}"
