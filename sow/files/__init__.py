"""Files that two processes may write at once: locks, whole-file writes, appends, safe reads.

The one door to them; knows nothing of what the files hold.
"""

from sow.files.file_errors import (
    FolderMissing,
    LeadsOut,
    NotAFile,
    NotWritten,
    StateLocked,
    unreadable,
)
from sow.files.inside import (
    discard_tree,
    make_folder,
    move,
    open_folder,
    opened_folder,
    refuse_leading_out,
    remove_file,
)
from sow.files.locking import holds_a_lock, locked_folder, locked_once
from sow.files.reading import (
    open_regular,
    read_if_there,
    read_inside,
    read_regular,
    read_regular_in,
    read_tail,
    refuse_link_out,
)
from sow.files.writing import (
    append_whole,
    discard_written,
    put_in_place,
    remove_empty,
    sync_file_system,
    sync_folder,
    write_atomically,
    write_beside,
    write_first_in,
    write_folder,
    write_in,
    write_new,
)

__all__ = [
    "FolderMissing",
    "LeadsOut",
    "NotAFile",
    "NotWritten",
    "StateLocked",
    "append_whole",
    "discard_tree",
    "discard_written",
    "holds_a_lock",
    "locked_folder",
    "locked_once",
    "make_folder",
    "move",
    "open_folder",
    "open_regular",
    "opened_folder",
    "put_in_place",
    "read_if_there",
    "read_inside",
    "read_regular",
    "read_regular_in",
    "read_tail",
    "refuse_leading_out",
    "refuse_link_out",
    "remove_empty",
    "remove_file",
    "sync_file_system",
    "sync_folder",
    "unreadable",
    "write_atomically",
    "write_beside",
    "write_first_in",
    "write_folder",
    "write_in",
    "write_new",
]
