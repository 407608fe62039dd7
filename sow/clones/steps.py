"""The steps of work that a kill may interrupt, and the notes that let the next try complete it.

A note lies in the main repository's git folder, in the folder `sow`, where no
agent's clone reaches. So do the other records of clones, which have the same form.
"""

from contextlib import suppress
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

from msgspec import Struct, convert, json, to_builtins

from sow.files import read_if_there, write_atomically
from sow.git.repository import Repository

LIMIT = 1 << 24
T = TypeVar("T", bound=Struct)


def no_step(name: str) -> None:
    """Do nothing between two steps: tests kill there."""


def read_json(path: Path, form: type[T]) -> T | None:
    """Return a record in a git folder; None where there is none, or one that cannot be used."""
    data = read_if_there(path, LIMIT)
    if data is None:
        return None
    with suppress(ValueError):
        return json.decode(data, type=form)
    # Names of files that are no UTF-8 are Python's to read; it takes 3 ms to import.
    from json import loads

    with suppress(ValueError):
        return convert(loads(data), form)
    return None


def write_json(path: Path, record: Struct, *, durable: bool = True) -> None:
    """Write a record, names of files that are no UTF-8 included. Raises NotWritten.

    Without `durable` a loss of power may undo it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, _as_json(record), durable=durable)


def _as_json(record: Struct) -> bytes:
    with suppress(UnicodeEncodeError):
        return json.encode(record)
    from json import dumps  # as in `read_json`

    return dumps(to_builtins(record)).encode("ascii")


def note_path(main: Repository, kind: str, branch: str) -> Path:
    """Return where the note of some work on a branch lies."""
    return main.common_dir / "sow" / kind / f"{quote(branch, safe='')}.json"


def remove_note(main: Repository, kind: str, branch: str) -> None:
    """Say that it is done."""
    note_path(main, kind, branch).unlink(missing_ok=True)
