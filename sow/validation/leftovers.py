"""What an interrupted write leaves: known by its name alone.

Owns these names. Who gives them is `sow.files.writing`, and whoever makes a folder whole.
"""

import re
from pathlib import Path

DRAFT_FILE = re.compile(r"\..+\.[0-9]+-[0-9a-f]{12}\.tmp")
"""A file that was to be renamed into place (`write_atomically`)."""
DRAFT_FOLDER = re.compile(r"\.(?:[0-9]{3,}|project)\.[0-9a-f]{8,12}\.tmp")
"""A task or a project that was being made, or taken away."""


def is_leftover(path: Path, is_folder: bool) -> bool:
    """Whether something bears the name of an interrupted write."""
    return (DRAFT_FOLDER if is_folder else DRAFT_FILE).fullmatch(path.name) is not None
