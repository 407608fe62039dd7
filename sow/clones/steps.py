"""The steps of work that a kill may interrupt, and the notes that let the next try complete it.

A note lies in the main repository's git folder, in the folder `sow`, where no
agent's clone reaches.
"""

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sow.files import NotAFile, read_regular, write_atomically
from sow.git.repository import Repository

NOTE_LIMIT = 1 << 24


def no_step(name: str) -> None:
    """Do nothing between two steps: tests kill there."""


def note_path(main: Repository, kind: str, branch: str) -> Path:
    """Return where the note of some work on a branch lies."""
    return main.common_dir / "sow" / kind / f"{quote(branch, safe='')}.json"


def write_note(main: Repository, kind: str, branch: str, note: Mapping[str, Any]) -> None:
    """Write down what is about to be done. Raises NotWritten."""
    path = note_path(main, kind, branch)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, json.dumps(note).encode("ascii"))


def read_note(main: Repository, kind: str, branch: str) -> dict[str, Any] | None:
    """Return what was about to be done; None where nothing was, or nobody can read it."""
    with suppress(FileNotFoundError, NotAFile, ValueError):
        note = json.loads(read_regular(note_path(main, kind, branch), NOTE_LIMIT))
        return note if isinstance(note, dict) else None
    return None


def remove_note(main: Repository, kind: str, branch: str) -> None:
    """Say that it is done."""
    note_path(main, kind, branch).unlink(missing_ok=True)
