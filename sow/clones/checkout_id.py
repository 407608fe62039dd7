"""The id of a checkout: what tells its clones from those of every other one.

It lies in the checkout's own git folder, with the checkout's path. A checkout
that was copied has its original's file, and gets an id of its own; one that was
moved keeps its id. Owns that file.
"""

import os
import re
from pathlib import Path

from msgspec import Struct

from sow.clone_mark import CHECKOUT_PLACE
from sow.clones.steps import read_json, write_json
from sow.errors import StateError
from sow.files import locked_folder
from sow.git.git_errors import GitRefused, NoRepository
from sow.git.repository import Repository, repository_of

ID = re.compile("[0-9a-f]{8}")


class CheckoutRecord(Struct, frozen=True):
    """What the file holds."""

    id: str
    path: str


def checkout_id(repository: Repository) -> str:
    """Return the id of a checkout: 8 hex digits, made where it has none yet.

    Raises StateError, NotWritten, StateLocked.
    """
    path = repository.git_dir / CHECKOUT_PLACE
    here = os.fsdecode(repository.top)
    record = _read(path)
    if record is not None and record.path == here:
        return record.id
    path.parent.mkdir(exist_ok=True)
    with locked_folder(path.parent):
        record = _read(path)
        if record is not None and record.path == here:
            return record.id
        keeps = record is not None and not _is_held_by_another(record, repository)
        fresh = record.id if record is not None and keeps else os.urandom(4).hex()
        write_json(path, CheckoutRecord(fresh, here))
        return fresh


def recorded_path(file: Path) -> str | None:
    """Return where the checkout lies whose record this is; None where that cannot be told."""
    record = _read(file)
    return record.path if record is not None else None


def _read(path: Path) -> CheckoutRecord | None:
    """Return the record; None where there is none, or one that cannot be used."""
    record = read_json(path, CheckoutRecord)
    return record if record is not None and ID.fullmatch(record.id) else None


def _is_held_by_another(record: CheckoutRecord, repository: Repository) -> bool:
    """Whether the checkout that the record speaks of is still there, with the same id."""
    try:
        other = repository_of(Path(record.path))
    except GitRefused as error:
        if error.passes:
            raise
        return False
    except NoRepository:
        return False
    if str(other.top) != record.path:
        return False
    if other.git_dir == repository.git_dir:
        raise StateError(
            f"{repository.top} and {record.path} share one git folder, so sow cannot distinguish"
            " the clones of their tasks",
            hint="One of them is a copied worktree. Remove it, or create it properly: `git -C"
            f" {record.path} worktree add`.",
        )
    found = _read(other.git_dir / CHECKOUT_PLACE)
    return found is not None and found.id == record.id
