"""`.sow/.version`: which sow may read this folder.

Owns the number and its check. A folder without the file counts as version 1.
"""

from sow.files import read_regular
from sow.paths import Workspace
from sow.state.errors import NewerState

SCHEMA_VERSION = 1
VERSION_FILE = ".version"
VERSION_LIMIT = 4096
"""It holds one number."""


def check_version(workspace: Workspace) -> None:
    """Raise NewerState if a later sow has written this folder."""
    path = workspace.sow / VERSION_FILE
    try:
        text = read_regular(path, VERSION_LIMIT).decode("utf-8", "replace").strip()
    except FileNotFoundError:
        return
    if not text.isdecimal() or int(text) > SCHEMA_VERSION:
        raise NewerState(path, text, SCHEMA_VERSION)
