"""Deleting the folder of a clone, whatever an agent has made of it.

Owns two promises: nothing outside the folder is deleted, whatever links,
mounts and rights it holds; and a clone is never seen half deleted in its place.
"""

import os
from pathlib import Path

from sow.clones.locks import gone_path, refuse_links_above
from sow.errors import StateError
from sow.files.file_errors import words_of
from sow.files.inside import PLAIN
from sow.files.trees import remove_tree


class NotDeleted(StateError):
    """Something in a clone cannot be deleted. The rest of it may be."""

    def __init__(self, path: Path, error: OSError) -> None:
        super().__init__(
            f"{error.filename or path} was not deleted: {words_of(error)}",
            hint="Fix this, then run `sow clone prune`, which deletes the rest.",
        )


def delete_clone(path: Path) -> None:
    """Take a clone out of its place, and delete it. The caller holds its lock.

    A link in the clone's place is removed itself; nothing that it leads to is.
    Raises NotDeleted, LinkedFolder.
    """
    refuse_links_above(path)
    gone = gone_path(path)
    try:
        path.rename(gone)
    except FileNotFoundError:
        return
    except OSError as error:
        raise NotDeleted(path, error) from error
    delete_folder(gone)


def delete_folder(path: Path) -> None:
    """Delete a folder with all that is in it, or whatever else lies there. Raises NotDeleted."""
    try:
        above = os.open(path.parent, PLAIN)
        try:
            remove_tree(above, path.name, str(path))
        finally:
            os.close(above)
    except FileNotFoundError:
        return
    except OSError as error:
        raise NotDeleted(path, error) from error
