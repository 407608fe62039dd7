"""Whose the queue's file is: this user's own, made on this machine for this very folder.

A repository, a pull or an archive can bring along a file of that name. So sow's own has a
second name beside it that nobody can guess: a code of the user's secret, of the machine and
of the folder `.sow/run` (its device and inode, as it is told apart from copies). The proof is
that both names are one file. Nothing brings that along: git knows no second names, and
in a copy of the folder the code is another one.

Who copies a file over ours (`cp -r`, `unzip -o`) keeps its names and changes what is in it. So
a row in the file holds a code of the secret as well. Where it is missing or wrong, no other row is
believed.

Owns these names, that row and the quick look at them, before anything of the file is read. What
becomes of a file without that proof is `unproven_queue`. Light: each opening asks here.
"""

import os
import sqlite3
import stat
from pathlib import Path

from sow.jobs.open_files import Place
from sow.jobs.user_secret import code_of
from sow.paths import Workspace
from sow.processes.disks import is_on_shared_disk
from sow.processes.procfs import machine_id

PREFIX = "queue.own-"
DIGITS = 32
JOURNAL = "-journal"
ROW = "owner"
"""The row of the table `control` that holds the code: a word of its own, and the code of that."""


def is_own(workspace: Workspace) -> bool:
    """Whether the file under the queue's name is this user's own. Raises NoSecret.

    False too where there is none, and where a rollback journal lies beside it: SQLite would play
    that back into the file, and ours, whose log is another one, never has any.
    """
    run = str(workspace.run)
    try:
        file = os.lstat(f"{run}/queue.db")
        folder = os.stat(run)  # noqa: PTH116
    except OSError:
        return False
    if not has_name((file.st_dev, file.st_ino), f"{run}/{_by_folder(folder, machine_id())}"):
        return False
    return not os.path.lexists(f"{run}/queue.db{JOURNAL}")


def name_here(run: Path) -> str:
    """Return the path of the second name by which `is_own` knows a file. Raises OSError."""
    return f"{run}/{_by_folder(os.stat(run), machine_id())}"  # noqa: PTH116


def has_name(file: Place, name: str) -> bool:
    """Whether a path is a name of this regular file."""
    try:
        facts = os.lstat(name)
    except OSError:
        return False
    return stat.S_ISREG(facts.st_mode) and file == (facts.st_dev, facts.st_ino)


def names_here(workspace: Workspace) -> tuple[str, ...]:
    """Return the second names of a file that is ours in this folder. Raises OSError, NoSecret.

    All but the first stand for the folder by its place: a device may have another number after
    a restart of the machine. On a disk that other machines see as well, one leaves the machine out.
    """
    folder = os.stat(workspace.run)  # noqa: PTH116
    machine, root = machine_id(), os.path.realpath(workspace.root)
    places = (machine, "") if machine and is_on_shared_disk(workspace.run) else (machine,)
    codes = (code_of("place", each, str(folder.st_ino), root) for each in places)
    return _by_folder(folder, machine), *(f"{PREFIX}{code[:DIGITS]}" for code in codes)


def _by_folder(folder: os.stat_result, machine: str) -> str:
    code = code_of("folder", machine, f"{folder.st_dev}:{folder.st_ino}")
    return f"{PREFIX}{code[:DIGITS]}"


def is_same(file: os.stat_result, path: str) -> bool:
    """Whether a path is another name of a regular file."""
    return has_name((file.st_dev, file.st_ino), path)


def give_names(file: Path, workspace: Workspace) -> None:
    """Give a file of ours its second names. Raises OSError, NoSecret.

    The caller holds the folder's lock, and has put aside what has such a name (`all_names`)
    and is another file.
    """
    facts = os.lstat(file)
    for name in names_here(workspace):
        path = workspace.run / name
        if not is_same(facts, str(path)):
            os.link(file, path)


def all_names(run: Path) -> list[Path]:
    """Return all that lies in a folder under a name of such a form, whoever has made it."""
    return list(run.glob(f"{PREFIX}*"))


def sign_content(connection: sqlite3.Connection, run: Path) -> None:
    """Write down that what is in a file is this user's, for the folder `run` (`.sow/run`).

    In the transaction that is open. Raises NoSecret, OSError.
    """
    word = os.urandom(DIGITS // 2).hex()
    value = f"{word} {_content_code(word, run)}"
    connection.execute("insert or replace into control values (?, ?)", (ROW, value))


def is_signed(connection: sqlite3.Connection, run: Path) -> bool:
    """Whether what is in a file is this user's, and of this folder.

    Raises sqlite3.Error, NoSecret, OSError.
    """
    row = connection.execute("select value from control where name = ?", (ROW,)).fetchone()
    word, _, code = str(row[0] if row is not None else "").partition(" ")
    return bool(word) and code == _content_code(word, run)


def _content_code(word: str, run: Path) -> str:
    """Return a code that a file of another checkout has not, for that is another folder.

    The folder keeps its inode where the checkout is moved; its device may have another number
    after a restart.
    """
    return code_of("content", word, str(os.stat(run).st_ino))  # noqa: PTH116
