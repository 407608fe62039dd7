"""Whether the references of the index are on this machine, and the cache can take them.

Changes nothing, and asks no remote.
"""

import os
from collections.abc import Iterator

from sow.errors import SowError
from sow.findings import Finding, Level
from sow.paths import Workspace, display_path
from sow.refs.cache import cache_root, cached
from sow.refs.index import read_index
from sow.refs.linking import Presence, look


def examine_references(workspace: Workspace) -> Iterator[Finding]:
    """Yield what keeps agents from reading the references; one line where nothing does."""
    if not os.path.lexists(workspace.reference_index):
        return
    try:
        references = read_index(workspace).references
    except SowError as error:
        yield Finding(check="references", level=Level.ERROR, text=error.message, remedy=error.hint)
        return
    found = [
        (reference, look(workspace, reference, cached(reference.source)).presence)
        for reference in references
    ]
    for reference, presence in found:
        if presence is Presence.MISSING:
            yield Finding(
                check="references",
                level=Level.WARNING,
                text=f"Reference {reference.id} is not on this machine",
                remedy="`sow refs init` links it.",
            )
        elif presence is Presence.STRANGE:
            yield Finding(
                check="references",
                level=Level.WARNING,
                text=f".sow/refs/{reference.link} is not of sow's making",
                remedy="Look at it and move it away, then call `sow refs init`.",
            )
    yield from _cache()
    if found and all(presence in (Presence.LINKED, Presence.COPIED) for _, presence in found):
        words = "1 reference is" if len(found) == 1 else f"{len(found)} references are"
        yield Finding(check="references", level=Level.OK, text=f"{words} linked")


def _cache() -> Iterator[Finding]:
    folder = cache_root()
    there = next(path for path in (folder, *folder.parents) if os.path.lexists(path))
    if there.is_dir() and os.access(there, os.W_OK | os.X_OK):
        return
    yield Finding(
        check="references",
        level=Level.WARNING,
        text=f"Nothing can be fetched into {display_path(folder)}",
        remedy=f"Make {display_path(there)} a folder that you may write in.",
    )
