"""Whether the branch has a project, and whether copies of its state can be kept.

Changes nothing: what the copies would put back stays as it is.
"""

import os
from collections.abc import Iterator
from pathlib import Path

from sow.findings import Finding, Level
from sow.paths import Workspace, display_path
from sow.state.kept.store import Checkout
from sow.state.places import first_file


def examine_state(workspace: Workspace) -> Iterator[Finding]:
    """Yield what is wrong with the project's folder, and with the place of the copies."""
    yield from _project(workspace)
    yield from _copies(workspace)


def _project(workspace: Workspace) -> Iterator[Finding]:
    if workspace.project_state.exists() or not workspace.project.is_dir():
        return
    file = first_file(workspace.project)
    if file is None:
        yield Finding(
            check="project",
            level=Level.NOTE,
            text=f"This branch has no project: {workspace.project} holds empty folders alone",
            remedy="A change of branches leaves them; `sow project new NAME` begins a project.",
        )
        return
    yield Finding(
        check="project",
        level=Level.ERROR,
        text=f"{workspace.project} holds files ({file}), but no state.yaml",
        remedy="Restore state.yaml with git, or move the folder away.",
    )


def _copies(workspace: Workspace) -> Iterator[Finding]:
    folder = Path(Checkout(workspace.root).branch_folder)
    there = next(path for path in (folder, *folder.parents) if os.path.lexists(path))
    if there.is_dir() and os.access(there, os.W_OK | os.X_OK):
        return
    yield Finding(
        check="copies",
        level=Level.WARNING,
        text=f"No copies of tasks' states can be kept in {display_path(folder)}",
        remedy=f"Make {display_path(there)} a folder that you may write in; without copies, an "
        "agent's `git reset --hard` takes the states of all tasks along.",
    )
