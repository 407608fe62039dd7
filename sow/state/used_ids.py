"""Ids of tasks that are gone while a clone of theirs is on record: no other task gets one.

A new task of such an id would be given the clone, and the branch, of the task that was there
before. Owns the look at these records in git's folder (`sow.clones.record` writes them); runs no
git.
"""

import os

from sow.ids import TaskId
from sow.paths import Workspace
from sow.state.kept.store import kept_at

RECORDS = "sow/clones"
"""Below git's folder of the checkout; a folder for each project in it, and a file for each task."""
SUFFIX = ".json"


def ids_with_clones(workspace: Workspace) -> frozenset[TaskId]:
    """Return the ids of the project's tasks of which a clone is on record here."""
    kept = kept_at(workspace.root)
    if kept is None or not kept.checkout.git:
        return frozenset()
    try:
        names = os.listdir(f"{kept.checkout.git}/{RECORDS}/{kept.project_id}")  # noqa: PTH208
    except OSError:
        return frozenset()
    stems = (name.removesuffix(SUFFIX) for name in names if name.endswith(SUFFIX))
    return frozenset(TaskId(stem) for stem in stems if stem.isdecimal())
