"""Where a queue's file says that it lies: the note of an older sow, which told copies apart by it.

Owns the note, which a file still gets, for an older sow may open it as well, and its
comparison. The proof of whose a file is, is `queue_owner`.
"""

import os
import sqlite3
from pathlib import Path

from sow.paths import Workspace


def put_place(connection: sqlite3.Connection, workspace: Workspace) -> None:
    """Write down where the file lies, in the transaction that is open."""
    mark, _ = _marks(workspace)
    value = mark.encode() + b" " + os.fsencode(workspace.root)
    connection.execute("insert or replace into control values ('place', ?)", (value,))


def noted_place(connection: sqlite3.Connection) -> tuple[str, Path] | None:
    """Return the folder's mark and the root that a file names; None where it names none."""
    row = connection.execute("select value from control where name = 'place'").fetchone()
    if row is None:
        return None
    value = row[0] if isinstance(row[0], bytes) else str(row[0]).encode()
    mark, _, root = value.partition(b" ")
    return mark.decode("ascii", "replace"), Path(os.fsdecode(root))


def is_noted_here(noted: tuple[str, Path], workspace: Workspace) -> bool:
    """Whether a file names this very folder; a device may have another number since."""
    mark, root = noted
    here, inode = _marks(workspace)
    return mark == here or (mark.endswith(f":{inode}") and root == workspace.root)


def _marks(workspace: Workspace) -> tuple[str, str]:
    """Return what tells a folder from its copies, and the part of it that stays for good."""
    facts = workspace.run.stat()
    return f"{facts.st_dev}:{facts.st_ino}", str(facts.st_ino)
