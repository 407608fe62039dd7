"""Which project a report is about: the one that is checked out, else the one that ended last.

Owns where that project's files lie. Reads only.
"""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from sow.errors import SowError, StateError
from sow.git.checked_out import branch_at
from sow.ids import ProjectId
from sow.jobs import jobs
from sow.jobs.database import Database
from sow.paths import Workspace
from sow.schema.project import Project
from sow.schema.task import Task
from sow.state.archive import Archived, archived_folders, last_ended, read_archived
from sow.state.places import TaskPlace, all_places, archived_places
from sow.state.projects import read_project
from sow.state.state_errors import NoProject
from sow.state.tasks import read_places, scan_tasks


class ShownProject(Struct, frozen=True):
    """A project, its tasks and their places."""

    id: ProjectId
    project: Project | None = None
    """None where its files are in no folder here: then it is known by its jobs alone."""
    tasks: Sequence[Task] = ()
    places: Sequence[TaskPlace] = ()
    faults: Sequence[StateError] = ()
    """What is wrong with the tasks that cannot be read."""

    @property
    def name(self) -> str:
        """The project's name; empty where nobody can tell it."""
        return self.project.name if self.project is not None else ""


def shown_project(workspace: Workspace, database: Database | None) -> ShownProject:
    """Return the project that a report is about.

    Raises NoProject where none is checked out, none has ended and none has jobs.
    """
    try:
        project = read_project(workspace)
    except NoProject:
        found = _ended_project(workspace, database)
        if found is None:
            raise
        return found
    tasks, faults = scan_tasks(workspace)
    return ShownProject(ProjectId(project.id), project, tasks, all_places(workspace), faults)


def _ended_project(workspace: Workspace, database: Database | None) -> ShownProject | None:
    """Return the project of the newest job, else the one that was the last to end on this branch.

    The first is meant only if it is in the archive, or no other project is.
    """
    newest = jobs.recent_jobs(database, limit=1) if database is not None else []
    archived = next(_archived(workspace, newest[0].project_id), None) if newest else None
    archived = archived or last_ended(workspace, branch_at(workspace.root))
    if archived is None:
        return ShownProject(newest[0].project_id) if newest else None
    places = archived_places(archived.folder)
    tasks, faults = read_places(places)
    project_id = ProjectId(archived.project.id)
    return ShownProject(project_id, archived.project, tasks, places, faults)


def _archived(workspace: Workspace, project_id: ProjectId) -> Iterator[Archived]:
    for folder in reversed(archived_folders(workspace)):
        try:
            project = read_archived(folder)
        except SowError:
            continue
        if project.id == project_id:
            yield Archived(project, folder)
