"""Notes of the statuses that sow commands write, for whoever keeps the record of changes.

Owns `run/statuses.jsonl`: a line after each write of a task's state, under
that file's lock, so that no status between two looks is lost. A note costs one
append without a sync, for agents set statuses often and the queue's file is
slow to open. A note that could not be written, or was lost with the power,
harms nothing: whoever keeps the record compares the files too. The record
itself (`jobs.statuses`) lies above, and is not known here.
"""

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import msgspec

from sow.errors import SowError
from sow.files import open_regular
from sow.files.flock import lock_within
from sow.ids import ProjectId
from sow.paths import Workspace
from sow.schema.status_note import StatusNote
from sow.schema.task import Task
from sow.state.kept.store import project_id_at

MOST_BYTES = 4 << 20
"""How much is read at once."""
LOCK_SECONDS, RETRY_SECONDS = 0.05, 0.001
"""The lock is held by others for the moment of one write, or of one truncation."""


def note_status(workspace: Workspace, state: Path, task: Task, *, now: float) -> None:
    """Note how a task stands whose state was just written; the caller holds its folder's lock.

    Raises nothing.
    """
    note_statuses(workspace, [(state, task)], now=now)


def note_statuses(
    workspace: Workspace, written: Iterable[tuple[Path, Task]], *, now: float
) -> None:
    """Note how tasks stand whose states were just written; the caller holds the locks of all.

    Where no queue was ever made there is no record either: then nothing is noted, and `written`
    is not asked. Raises nothing.
    """
    with suppress(OSError, SowError):
        if not os.path.isdir(workspace.run):  # noqa: PTH112 - each change of a status asks
            return
        project = ProjectId(project_id_at(workspace.root))
        notes = [_note(project, state, task, now) for state, task in written]
        _append(workspace.status_notes, b"".join(notes))


def _note(project: ProjectId, state: Path, task: Task, now: float) -> bytes:
    """Return a note as a line. Raises OSError."""
    note = StatusNote(
        project=project,
        task=task.id,
        at=now,
        status=task.status,
        iteration=task.iteration,
        file=version_of(state),
    )
    return msgspec.json.encode(note) + b"\n"


def _append(path: Path, lines: bytes) -> None:
    descriptor = open_regular(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        if lock_within(descriptor, LOCK_SECONDS, every=RETRY_SECONDS, shared=True):
            os.write(descriptor, lines)
    finally:
        os.close(descriptor)


def version_of(path: Path) -> str:
    """Return what tells a version of a file from the next one put in its place. Raises OSError."""
    facts = os.stat(path)  # noqa: PTH116 - asked of every task
    return f"{facts.st_ino}:{facts.st_mtime_ns}:{facts.st_size}"


def size_of_notes(workspace: Workspace) -> int:
    """Return how many bytes of notes there are."""
    try:
        return os.stat(workspace.status_notes).st_size  # noqa: PTH116 - a follower asks often
    except OSError:
        return 0


def read_notes(workspace: Workspace, position: int) -> tuple[list[StatusNote], int]:
    """Return the notes from a position on, and where the next begins; what is no note is left out.

    Nothing is returned where the file cannot be read.
    """
    try:
        descriptor = open_regular(workspace.status_notes)
        try:
            left = max(0, os.fstat(descriptor).st_size - position)
            data = os.pread(descriptor, min(left, MOST_BYTES), position)
        finally:
            os.close(descriptor)
    except (OSError, SowError):
        return [], position
    whole = data[: data.rfind(b"\n") + 1]
    if not whole and len(data) == MOST_BYTES:
        whole = data  # nothing that sow has written
    return [note for line in whole.splitlines() if (note := _parsed(line))], position + len(whole)


def _parsed(line: bytes) -> StatusNote | None:
    try:
        return msgspec.json.decode(line, type=StatusNote)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def begin_anew(workspace: Workspace, position: int) -> bool:
    """Empty the notes if all of them were read, up to `position`; tell whether they were."""
    try:
        descriptor = open_regular(workspace.status_notes, os.O_RDWR)
    except (OSError, SowError):
        return False
    try:
        if (
            not lock_within(descriptor, LOCK_SECONDS, every=RETRY_SECONDS)
            or os.fstat(descriptor).st_size != position
        ):
            return False
        os.ftruncate(descriptor, 0)
    except OSError:
        return False
    else:
        return True
    finally:
        os.close(descriptor)
