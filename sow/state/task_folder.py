"""A task's folder as a whole: what lies in a new one, and how it comes and goes by one rename.

Owns both. Whoever calls holds the lock of the project's folder, so a draft that
lies beside the tasks is what somebody left who was killed.
"""

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from sow.files import (
    NotWritten,
    discard_tree,
    make_folder,
    move,
    remove_empty,
    sync_folder,
    write_atomically,
)
from sow.ids import PhaseName, TaskId
from sow.schema.task import TaskState, TaskStatus
from sow.state.kept.copies import forget, wrote
from sow.state.kept.store import kept_for
from sow.state.statefiles import new_state
from sow.state.transitions import moment

STATE = "state.yaml"
DESCRIPTION = "description.md"
LOG = "log.md"
DRAFT = ".tmp"


def first_files(
    folder: Path,
    *,
    task_id: TaskId,
    phase: PhaseName,
    name: str,
    agent: str,
    now: float,
    description: str = "",
    depends_on: Sequence[str] = (),
    checks: Sequence[str] = (),
    references: Sequence[str] = (),
    key: str | None = None,
    priority: int | None = None,
    metadata: Mapping[str, str] | None = None,
) -> dict[str, bytes]:
    """Return the files of a new, pending task, by their names. Raises RefusedChange."""
    fields = {
        "id": task_id,
        **({} if key is None else {"key": key}),
        "name": name,
        "phase": phase,
        "status": TaskStatus.PENDING,
        "assigned_agent": agent,
        "iteration": 1,
        "depends_on": list(dict.fromkeys(depends_on)),
        **({} if priority is None else {"priority": priority}),
        "created_at": moment(now),
        "updated_at": moment(now),
        "references": list(dict.fromkeys(references)),
        "feedback": [],
        "files_modified": [],
        **({"checks": list(dict.fromkeys(checks))} if checks else {}),
        "metadata": dict(metadata or {}),
    }
    return {
        STATE: new_state({"task": fields}, TaskState, path=folder / STATE),
        DESCRIPTION: (description or f"# {name}\n").encode(),
        LOG: b"",
    }


def build(folder: Path, files: Mapping[str, bytes]) -> None:
    """Make a task's folder under a name of its own and put it in place by one rename.

    Raises NotWritten, LeadsOut; then nothing of it is there.
    """
    _sweep(folder)
    draft = folder.with_name(f".{folder.name}.{os.urandom(6).hex()}{DRAFT}")
    try:
        make_folder(draft / "feedback")
        for name, data in files.items():
            make_folder((draft / name).parent)
            write_atomically(draft / name, data)
        remove_empty(folder)
        move(draft, folder)
        sync_folder(folder.parent)
    except OSError as error:
        raise NotWritten(folder, error) from error
    finally:
        discard_tree(draft)
    for name, data in files.items():
        wrote(folder / name, data)


def take_away(folder: Path) -> None:
    """Remove a task's folder by one rename, and its copies first: else they would be put back.

    Raises NotWritten, LeadsOut.
    """
    _sweep(folder)
    draft = folder.with_name(f".{folder.name}.{os.urandom(6).hex()}{DRAFT}")
    kept = kept_for(folder / STATE)
    try:
        if kept is not None:
            for path in [path for path in folder.rglob("*") if path.is_file()]:
                forget(kept, kept.name(path))
        move(folder, draft)
        sync_folder(folder.parent)
    except OSError as error:
        raise NotWritten(folder, error) from error
    finally:
        discard_tree(draft)


def _sweep(folder: Path) -> None:
    """Remove the drafts of tasks that killed commands have left beside a folder."""
    with suppress(OSError):
        for name in os.listdir(folder.parent):  # noqa: PTH208 - names are what is wanted
            if name.startswith(".") and name.endswith(DRAFT):
                discard_tree(folder.parent / name)
