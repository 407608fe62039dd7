"""`artifacts` in `.sow/config.yaml`: the folders in which documents outlive a project.

Owns which folders may be one. Where links lead is known once something is moved.
"""

import os
from pathlib import Path

from sow.config.source import Source
from sow.schema.config import RepositoryConfigFile

SECTION = "artifacts"
REMEDY = "Give a folder of this repository, not below .sow/project, such as docs/design."


def check_places(source: Source[RepositoryConfigFile]) -> None:
    """Raise InvalidConfiguration for the first folder that cannot be such a place."""
    root = source.path.parent.parent
    for documents, folder in (source.content.artifacts or {}).items():
        if reason := _fault(root, folder):
            raise source.fault(SECTION, documents, reason=reason, remedy=REMEDY)


def _fault(root: Path, folder: str) -> str:
    place = Path(os.path.normpath(root / folder))
    if not place.is_relative_to(root):
        return f"{folder} lies outside the repository"
    parts = place.relative_to(root).parts
    if ".git" in parts or parts[:2] == (".sow", "run"):
        return f"{folder} is not part of the repository's contents"
    if parts[:2] == (".sow", "project"):
        return f"{folder} is deleted with the project, but documents must be kept"
    return ""
