"""The cursor of each session: up to which change it was shown the news, in a small file each.

Owns these files, and the signs by which nothing at all has happened since: the queue's file and
the notes of statuses are as they were. Imports nothing heavy, for a hook asks at every turn.
"""

import json
import os
import re
import time
from contextlib import suppress
from pathlib import Path

from sow.files import read_regular, remove_file, write_atomically
from sow.jobs.private_folders import make_private
from sow.paths import Workspace, may_be_on_server

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
MOST = 200
"""How many sessions are remembered: those that asked last."""
LIMIT = 1 << 16

Signs = list[list[int]]


def signs_of(workspace: Workspace) -> Signs:
    """Return what the files look like that every change leaves a trace in.

    A change of a queue on a server leaves none: then no two looks are alike.
    """
    if may_be_on_server(workspace):
        return [[time.time_ns()]]
    queue = workspace.queue_db
    files = (queue, queue.with_name(f"{queue.name}-wal"), workspace.status_notes)
    return [_sign(file) for file in files]


def _sign(file: Path) -> list[int]:
    try:
        found = os.stat(file)  # noqa: PTH116 - asked at every turn
    except OSError:
        return []
    return [found.st_ino, found.st_size, found.st_mtime_ns]


def is_name(text: str) -> bool:
    """Whether a session may be called so."""
    return NAME.fullmatch(text) is not None


def read_cursor(workspace: Workspace, session: str) -> tuple[str, Signs] | None:
    """Return the cursor of a session and the signs at that time; None for one that is new."""
    try:
        found = json.loads(read_regular(workspace.sessions / f"{session}.json", LIMIT))
        cursor, signs = found["cursor"], found["signs"]
    except (OSError, ValueError, LookupError, TypeError):
        return None
    return (cursor, signs) if isinstance(cursor, str) and isinstance(signs, list) else None


def write_cursor(workspace: Workspace, session: str, cursor: str, signs: Signs) -> None:
    """Write the cursor of a session, in a folder that only its owner can read."""
    folder = workspace.sessions
    make_private(folder, below=workspace.sow)
    data = json.dumps({"cursor": cursor, "signs": signs}).encode()
    write_atomically(folder / f"{session}.json", data, durable=False)
    _forget_oldest(folder)


def _forget_oldest(folder: Path) -> None:
    names = os.listdir(folder)  # noqa: PTH208 - names alone, which are few
    if len(names) <= MOST:
        return
    files = [folder / name for name in names]
    with suppress(OSError):
        files.sort(key=lambda file: file.stat().st_mtime)
    for file in files[:-MOST]:
        with suppress(OSError):
            remove_file(file)
