"""`.sow/refs` itself: opened and locked, and never through a link.

Owns that whoever reads or changes something there has the folder open, and goes on by names
alone. An agent may write in `.sow`: what it puts in the folder's place, before or meanwhile,
leads nobody elsewhere.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sow.files import NotWritten, locked_folder, unreadable
from sow.files.inside import FLAGS, NO_FOLDER
from sow.paths import Workspace
from sow.refs.refs_errors import RefsFolderTaken


@contextmanager
def opened_refs(workspace: Workspace) -> Iterator[int | None]:
    """Give the folder, open for reading in it; None where there is none. Raises RefsFolderTaken."""
    descriptor: int | None = None
    with suppress(FileNotFoundError):
        descriptor = _open(workspace)
    try:
        yield descriptor
    finally:
        if descriptor is not None:
            os.close(descriptor)


@contextmanager
def locked_refs(workspace: Workspace) -> Iterator[int]:
    """Hold the lock of the folder, and give it, open. It is made if it is not there.

    Whatever is done through the descriptor happens in that very folder, though somebody put a
    link in its place meanwhile. Raises RefsFolderTaken, StateLocked, NotWritten.
    """

    def opening() -> int:
        try:
            return _open(workspace, is_made=True)
        except FileNotFoundError as error:
            raise NotWritten(workspace.refs, error) from error

    with locked_folder(workspace.refs, opening=opening) as descriptor:
        yield descriptor


def refuse_foreign(workspace: Workspace) -> None:
    """Raise RefsFolderTaken where `.sow/refs` is there, and no folder of its own."""
    with opened_refs(workspace):
        pass


def _open(workspace: Workspace, *, is_made: bool = False) -> int:
    """Return the folder, open. Raises FileNotFoundError, RefsFolderTaken, NotAFile, NotWritten."""
    above = _step(workspace.sow, os.fspath(workspace.sow), None)
    try:
        if is_made:
            _make(workspace.refs, above)
        return _step(workspace.refs, workspace.refs.name, above)
    finally:
        os.close(above)


def _make(folder: Path, above: int) -> None:
    try:
        with suppress(FileExistsError):
            os.mkdir(folder.name, dir_fd=above)
    except OSError as error:
        raise NotWritten(folder, error) from error


def _step(path: Path, name: str, above: int | None) -> int:
    try:
        return os.open(name, FLAGS, dir_fd=above)
    except FileNotFoundError:
        raise
    except OSError as error:
        if error.errno in NO_FOLDER:
            raise RefsFolderTaken(path) from None
        raise unreadable(path, error) from error
