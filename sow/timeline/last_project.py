"""The project that was the last to have jobs, where none is checked out: it has just ended."""

from msgspec import Struct

from sow.errors import SowError
from sow.ids import ProjectId
from sow.jobs import jobs
from sow.jobs.database import Database
from sow.paths import Workspace
from sow.state.archive import archived_folders, read_archived


class LastProject(Struct, frozen=True):
    """A project that is not checked out."""

    id: ProjectId
    name: str
    """Empty where the archive does not have it."""


def last_project(workspace: Workspace, database: Database | None) -> LastProject | None:
    """Return the project of the newest job on record; None where there is no job."""
    newest = jobs.recent_jobs(database, limit=1) if database is not None else []
    if not newest:
        return None
    return LastProject(newest[0].project_id, _name(workspace, newest[0].project_id))


def _name(workspace: Workspace, project_id: ProjectId) -> str:
    for folder in reversed(archived_folders(workspace)):
        try:
            project = read_archived(folder)
        except SowError:
            continue
        if project.id == project_id:
            return project.name
    return ""
