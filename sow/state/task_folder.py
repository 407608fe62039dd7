"""A task's folder as a whole: what lies in a new one, and how it comes and goes by one rename.

Owns both. Whoever calls holds the lock of the project's folder, so a draft that
lies beside the tasks is what somebody left who was killed.
"""

import errno
import os
from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

from sow.files import (
    NotWritten,
    discard_tree,
    move,
    opened_folder,
    put_in_place,
    sync_file_system,
    sync_folder,
    write_folder,
)
from sow.files.inside import USUAL, is_at
from sow.ids import PhaseName, TaskId
from sow.schema.task import TaskState, TaskStatus
from sow.state.kept.copies import forget, keep, list_new
from sow.state.kept.store import Kept, kept_for
from sow.state.statefiles import new_state
from sow.state.transitions import moment

STATE = "state.yaml"
DESCRIPTION = "description.md"
LOG = "log.md"
DRAFT = ".tmp"
FOLDERS = ("feedback",)
"""What lies in each, empty at first."""


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
    requires: Sequence[str] = (),
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
        **({"requires": list(dict.fromkeys(requires))} if requires else {}),
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
    _sweep(folder.parent)
    draft = _draft_of(folder)
    try:
        with opened_folder(folder.parent, makes=USUAL) as above:
            write_folder(above, draft.name, files, empty=FOLDERS, durable=True)
            put_in_place(above, draft.name, folder)
            os.fsync(above)
    except OSError as error:
        raise NotWritten(folder, error) from error
    finally:
        discard_tree(draft)
    _keep(kept_for(folder), folder, files)


def build_all(tasks: Mapping[Path, Mapping[str, bytes]]) -> None:
    """Make the folders of many tasks, given with their files, as `build` makes one.

    All drafts are written and synced together before the first is renamed: whatever happens, a
    folder that is there is whole. Raises NotWritten, LeadsOut; then some of them are there.
    """
    parents = dict.fromkeys(folder.parent for folder in tasks)
    for parent in parents:
        _sweep(parent)
    drafts = {folder: _draft_of(folder) for folder in tasks}
    folder = next(iter(tasks))
    kept = kept_for(folder)
    try:
        with ExitStack() as stack:
            opened = {
                parent: stack.enter_context(opened_folder(parent, makes=USUAL))
                for parent in parents
            }
            for folder, files in tasks.items():
                name = drafts[folder].name
                write_folder(opened[folder.parent], name, files, empty=FOLDERS, durable=False)
            sync_file_system(folder.parent)
            listed = _list_versions(kept, tasks)
            for folder, files in tasks.items():
                put_in_place(opened[folder.parent], drafts.pop(folder).name, folder)
                _keep(kept, folder, files, listed)
            for parent, descriptor in opened.items():
                os.fsync(descriptor)
                if not is_at(parent, descriptor):  # it was moved away, with the new tasks
                    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(parent))
    except OSError as error:
        raise NotWritten(folder, error) from error
    finally:
        for draft in drafts.values():
            discard_tree(draft)


def _draft_of(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}.{os.urandom(6).hex()}{DRAFT}")


def _list_versions(kept: Kept | None, tasks: Mapping[Path, Mapping[str, bytes]]) -> set[str]:
    """List the versions of all files of new tasks at once; return the files' names in the store."""
    if kept is None:
        return set()
    named = {kept.name(folder): files for folder, files in tasks.items()}
    return list_new(
        kept, {f"{at}/{name}": data for at in named for name, data in named[at].items()}
    )


def _keep(
    kept: Kept | None, folder: Path, files: Mapping[str, bytes], listed: Collection[str] = ()
) -> None:
    if kept is None:
        return
    at = kept.name(folder)
    for name, data in files.items():
        keep(kept, f"{at}/{name}", data, is_listed=f"{at}/{name}" in listed)


def take_away(folder: Path) -> None:
    """Remove a task's folder by one rename, and its copies first: else they would be put back.

    Raises NotWritten, LeadsOut.
    """
    _sweep(folder.parent)
    draft = _draft_of(folder)
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


def _sweep(parent: Path) -> None:
    """Remove the drafts of tasks that killed commands have left in a folder of tasks."""
    with suppress(OSError):
        for name in os.listdir(parent):  # noqa: PTH208 - names are what is wanted
            if name.startswith(".") and name.endswith(DRAFT):
                discard_tree(parent / name)
