"""Files that two processes may write at once: locks, whole-file writes, appends, safe reads.

The one door to them; knows nothing of what the files hold.
"""

from sow.files.file_errors import FolderMissing, NotAFile, NotWritten, StateLocked, unreadable
from sow.files.locking import holds_a_lock, locked_folder, locked_once
from sow.files.reading import open_regular, read_inside, read_regular, read_regular_in
from sow.files.writing import (
    append_durably,
    remove_empty,
    sync_folder,
    write_atomically,
    write_in,
    write_new,
)

__all__ = [
    "FolderMissing",
    "NotAFile",
    "NotWritten",
    "StateLocked",
    "append_durably",
    "holds_a_lock",
    "locked_folder",
    "locked_once",
    "open_regular",
    "read_inside",
    "read_regular",
    "read_regular_in",
    "remove_empty",
    "sync_folder",
    "unreadable",
    "write_atomically",
    "write_in",
    "write_new",
]
