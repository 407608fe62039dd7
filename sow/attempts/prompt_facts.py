"""What fills the variables of a prompt: facts of the workspace, the project and the task.

Owns what each variable of `sow.prompts.variables` stands for. Nothing is read before a text asks
for it, and None stands where there is nothing to say: the text is refused then.
"""

from collections.abc import Iterable
from contextlib import suppress
from functools import cache

from msgspec import UNSET

from sow.clones.place import Place
from sow.config.clones import CloneSettings
from sow.files import NotAFile, read_inside
from sow.paths import Workspace
from sow.prompts.compose import CloneBrief, quoted
from sow.prompts.variables import Facts
from sow.schema.project import Project
from sow.schema.task import FeedbackStatus, Task
from sow.state.places import DESCRIPTION_LIMIT
from sow.state.project_feedback import open_feedback, words_of
from sow.state.projects import read_project
from sow.state.tasks import find_task
from sow.state.verdicts import feedback_in

NO_GOAL = (
    "Not written down. This does:"
    ' `sow project set description "<what is true when the goal is reached>"`'
)
NO_FEEDBACK = "Nothing."
AWAITED = (FeedbackStatus.OPEN, FeedbackStatus.ADDRESSED)
"""The feedback that is not settled."""


def facts_of(role: str, task: Task, location: str, workspace: Workspace) -> Facts:
    """Return what fills the variables of a prompt for a task's agent.

    `location` is the task's folder as that agent opens it.
    """
    return {
        **project_facts(workspace),
        "role": lambda: role,
        "task": lambda: task.id,
        "task_name": lambda: " ".join(task.name.split()),
        "task_folder": lambda: location,
        "task_status": lambda: task.status.value,
        "iteration": lambda: str(task.iteration),
        "description": lambda: quoted(description_of(workspace, task)),
        "feedback": lambda: _quoted_files(
            (f"feedback/{name}", words) for name, words in awaited_feedback(workspace, task)
        ),
    }


def project_facts(workspace: Workspace) -> Facts:
    """Return what fills the variables of a prompt for whoever reads it in a workspace."""

    @cache
    def project() -> Project:
        return read_project(workspace)

    return {
        "root": lambda: str(workspace.root),
        "project": lambda: " ".join(project().name.split()),
        "goal": lambda: _goal(project()),
        "branch": lambda: project().branch or None,
        "type": lambda: project().kind.value,
        "state": lambda: project().standing,
        "project_iteration": lambda: str(project().round),
        "project_feedback": lambda: _quoted_files(
            (f".sow/project/feedback/{note.file}", words_of(workspace, note))
            for note in open_feedback(project())
        ),
    }


def _goal(project: Project) -> str:
    if project.description is UNSET or not project.description.strip():
        return NO_GOAL
    return quoted(project.description)


def awaited_feedback(workspace: Workspace, task: Task) -> list[tuple[str, str]]:
    """Return the feedback of a task that is not settled: each file's name and words."""
    return [found for status in AWAITED for found in feedback_in(workspace, task, status)]


def description_of(workspace: Workspace, task: Task) -> str:
    """Return what is to be done; empty where that cannot be read."""
    data = b""
    with suppress(FileNotFoundError, NotAFile):
        path = find_task(workspace, task.id).description
        data = read_inside(path, workspace.root, DESCRIPTION_LIMIT)
    return data.decode("utf-8", "replace")


def _quoted_files(found: Iterable[tuple[str, str]]) -> str:
    return "\n\n".join(f"{name}:\n\n{quoted(words)}" for name, words in found) or NO_FEEDBACK


def brief_of_clone(place: Place, settings: CloneSettings) -> CloneBrief:
    """Return what the agent of a task is told of its clone, which need not be there yet."""
    return CloneBrief(
        folder=str(place.path), branch=place.branch, commits_leftovers=settings.commit
    )
