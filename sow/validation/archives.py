"""The projects that have ended, as they lie in the archive.

Reads nothing: asks the tree that was read.
"""

from collections.abc import Iterator

from msgspec import UNSET

from sow.validation.kinds import Defect, Kind
from sow.validation.tree import Tree


def archive_defects(tree: Tree) -> Iterator[Defect]:
    """Yield what is odd about the projects of the archive."""
    project = tree.project.state if tree.project is not None else None
    seen = {project.content.id: "the present project"} if project is not None else {}
    for archive in tree.archives:
        if archive.state is None:
            continue
        content = archive.state.content
        if content.ending is UNSET:
            what = f"the project {content.name!r} lies in the archive and was not ended"
            remedy = "If it is to go on, move the folder back to .sow/project; else restore"
            remedy = f"{remedy} `ending` with git."
            yield archive.state.defect(Kind.ARCHIVE, "project", what=what, remedy=remedy)
        if content.id in seen:
            what = f"it is {seen[content.id]} too: both have the id {content.id}"
            yield archive.state.defect(Kind.ARCHIVE, "project", "id", what=what)
        seen.setdefault(content.id, f"the archived project {archive.folder.name}")
