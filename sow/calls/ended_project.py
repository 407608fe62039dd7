"""Whether a project has ended, or is about to: then nothing more is placed for it.

Apart from `ending`, which a call that places a job has no need of.
"""

from msgspec import UNSET

from sow.errors import StateError
from sow.faults import passing_fault
from sow.files import NotAFile, read_regular
from sow.ids import ProjectId
from sow.paths import Workspace
from sow.state.kept.store import project_id_at
from sow.state.projects import read_project
from sow.state.statefiles import STATE_LIMIT


class ProjectIsEnding(StateError):
    """A job is to be placed for a project that is gone, or about to go."""

    def __init__(self) -> None:
        super().__init__(
            "the project is ended, or about to be: nothing more is placed for it",
            hint="`sow project list` shows the projects of this repository.",
        )


def refuse_without_project(workspace: Workspace, project_id: ProjectId) -> None:
    """Refuse to place a job of a project that is gone, or about to go. Raises ProjectIsEnding.

    Asked in the transaction that puts the job on record.
    """
    if project_id_at(workspace.root) != project_id:
        raise ProjectIsEnding
    if is_end_recorded(workspace) and read_project(workspace).ending is not UNSET:
        raise ProjectIsEnding


def is_end_recorded(workspace: Workspace) -> bool:
    """Whether the state may say so: cheap, for a worker that looks every few seconds.

    Raises NotAFile where the machine lacks something to tell that now.
    """
    try:
        return b"ending:" in read_regular(workspace.project_state, STATE_LIMIT)
    except FileNotFoundError:
        return False
    except NotAFile as error:
        if passing_fault(error) is not None:
            raise
        return False
