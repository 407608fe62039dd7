"""A workspace whose whole `.sow` folder is gone, as `git clean -fdx` takes one never committed.

Owns the search for it by its copies, which are put back where a job lives.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from sow import env_vars
from sow.errors import StateError
from sow.paths import Workspace, find_workspace
from sow.state.kept.guard import look_for_project, restore_project


def find_or_bring_back(cwd: Path, environ: Mapping[str, str]) -> Workspace:
    """Find the workspace that `cwd` is in, as `find_workspace` does, though it may have gone.

    Where an agent finds no `run` any more, git has cleaned up: all is looked
    at, for no worker may be left to do that. Raises StateError.
    """
    try:
        workspace = find_workspace(cwd, environ)
    except StateError:
        found = bring_back(cwd, environ)
        if found is None:
            raise
        return found
    if env_vars.ATTEMPT_ID in environ and not workspace.run.exists():
        restore_project(workspace.root)
    return workspace


def bring_back(cwd: Path, environ: Mapping[str, str]) -> Workspace | None:
    """Return the workspace that `cwd` was in, or that SOW_ROOT names, once it is back.

    None where nothing was kept, or nothing lives for which it would be put back.
    """
    named = environ.get(env_vars.ROOT)
    roots = (cwd, *cwd.parents)
    if named:
        roots = (Path(os.path.abspath(cwd / named)),)  # noqa: PTH100 - a link in the path is kept
    for root in roots:
        workspace = Workspace(root)
        if root.is_dir():
            look_for_project(root)
        if workspace.project_state.is_file():
            return workspace
    return None
