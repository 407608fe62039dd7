"""Which queue of a server is a repository's, and whether it can be reached at all.

Owns the queue's name: a word in `.sow/.queue`, which is committed, so that all clones of a
repository have one queue. The first who opens a queue on a server makes the name. A checkout that
has used a queue keeps its name in `.sow/run`, for a branch without that file, or with another name
in it, may be checked out while jobs run.
"""

import os
import re
from contextlib import suppress
from pathlib import Path

from sow.errors import QueueError
from sow.files import NotAFile, read_regular, write_new
from sow.jobs.store import Database
from sow.paths import Workspace

NAME = re.compile(r"[a-z0-9]{1,32}")
NAME_LIMIT = 256
"""The largest file of that name which is read, in bytes."""
SCHEMA_PREFIX = "sow_"
INSTALL = "pip install 'sow-agents[postgres]'"


def open_made(workspace: Workspace, url: str) -> Database:
    """Open a repository's queue on a server, and make it first where there is none.

    Raises QueueError.
    """
    found = _open(workspace, url, _name(workspace) or _make_name(workspace), make=True)
    assert found is not None  # noqa: S101 - it was to be made
    return found


def open_existing(workspace: Workspace, url: str) -> Database | None:
    """Open a repository's queue on a server, or return None where nothing was ever queued."""
    name = _name(workspace)
    return _open(workspace, url, name, make=False) if name else None


def refuse_without_driver() -> None:
    """Raise QueueError where psycopg is not installed."""
    try:
        from psycopg import Connection  # noqa: F401 - a late module imports when it is asked
    except ImportError as error:
        if "psycopg" not in f"{error.name} {error}":  # it may be there without its library
            raise
        raise QueueError(
            "`queue: url` names a server, and sow's environment has no psycopg",
            hint=f"Run `{INSTALL}` there, or take the key `queue` out of your configuration.",
        ) from error


def _open(workspace: Workspace, url: str, name: str, *, make: bool) -> Database | None:
    refuse_without_driver()
    from sow.jobs.server_making import open_server  # it imports psycopg

    is_begun = os.path.lexists(workspace.queue_name_here)
    schema = f"{SCHEMA_PREFIX}{name}"
    database = open_server(workspace, url, schema, make=make and not is_begun)
    if database is None and is_begun:
        from sow.jobs.server_faults import place_of  # as above

        raise QueueError(
            f"the queue that this checkout uses, {schema}, is not on {place_of(url)}, or may not"
            " be seen there",
            hint="Check server, database and role in `queue: url`. If it was removed for good, run"
            f" `rm {workspace.queue_name_here}`: the next job makes a new one.",
        )
    if database is not None:
        _keep(workspace, name)
    return database


def _name(workspace: Workspace) -> str:
    """Return what a repository's queue is called; empty where it has no name yet."""
    return _read(workspace.queue_name_here) or _read(workspace.queue_name)


def _read(path: Path) -> str:
    """Return the name in a file; empty where there is none."""
    try:
        name = read_regular(path, NAME_LIMIT).decode("utf-8", "replace").strip()
    except FileNotFoundError:
        return ""
    except (OSError, NotAFile) as error:
        raise QueueError(f"{path} cannot be read: {error}", hint="Make it a file.") from error
    if NAME.fullmatch(name):
        return name
    raise QueueError(
        f"{path} is no name of a queue: {name[:40]!r}",
        hint="It holds one word of small letters and digits. If a merge has left two, keep the one"
        " whose queue has the jobs.",
    )


def _make_name(workspace: Workspace) -> str:
    """Name a repository's queue; where another process was first, its name counts."""
    name = os.urandom(8).hex()
    try:
        write_new(workspace.queue_name, f"{name}\n".encode())
    except FileExistsError:
        return _read(workspace.queue_name)
    return name


def _keep(workspace: Workspace, name: str) -> None:
    """Keep the name of the queue that this checkout uses now."""
    if not workspace.queue_name_here.exists():
        with suppress(FileExistsError):
            write_new(workspace.queue_name_here, f"{name}\n".encode(), mode=0o600)
