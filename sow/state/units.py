"""The work units of a breakdown as files that outlive it, one each.

Owns where such a file lies and what it says: what the unit's task says, as
Markdown with frontmatter that a person or a later project can read.
"""

import re
from collections.abc import Collection, Sequence
from pathlib import Path

from sow.files import NotAFile, make_folder, read_regular, remove_file, write_atomically
from sow.paths import Workspace
from sow.schema.project import Project
from sow.schema.task import Task
from sow.state.artifacts import LARGEST
from sow.state.log_writing import FENCE, quote
from sow.state.places import find_task

LONGEST_SLUG = 60
ISSUE = "issue"
"""The key of metadata that holds the address of the issue that a task, or a project, is."""
UNIT_FILE = re.compile(r"[0-9]{3,}-.*\.md")
"""The name of a unit's file."""


def slug_of(name: str) -> str:
    """Return a name as part of a file's name."""
    slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:LONGEST_SLUG].strip("-")
    return slug or "unnamed"


def folder_of(project: Project) -> str:
    """Return the folder of a project's published units, from the workspace's root."""
    return f".sow/knowledge/breakdown/{slug_of(project.name)}-{project.id[:8]}"


def path_of(project: Project, task: Task) -> str:
    """Return where a unit is published, from the workspace's root."""
    return f"{folder_of(project)}/{task.id}-{slug_of(task.name)}.md"


def text_of(workspace: Workspace, task: Task) -> bytes:
    """Return what a unit's file says. Raises NotAFile."""
    try:
        description = read_regular(find_task(workspace, task.id).description, LARGEST)
    except FileNotFoundError:
        description = f"# {task.name}\n".encode()
    issue = task.metadata.get(ISSUE)
    head = [
        FENCE,
        f"unit: {quote(task.id)}",
        f"name: {quote(task.name)}",
        f"agent: {quote(task.assigned_agent)}",
        f"depends_on: [{', '.join(map(quote, task.depends_on))}]",
        *([f"issue: {quote(issue)}"] if isinstance(issue, str) else []),
        FENCE,
        "",
        "",
    ]
    return "\n".join(head).encode() + description


def is_published(workspace: Workspace, project: Project, task: Task) -> bool:
    """Whether a unit's file says what the unit says now."""
    try:
        there = read_regular(workspace.root / path_of(project, task), LARGEST)
    except (FileNotFoundError, NotAFile):
        return False
    return there == text_of(workspace, task)


def publish(workspace: Workspace, project: Project, tasks: Sequence[Task]) -> list[str]:
    """Write each unit's file, and return their paths. Raises NotWritten, NotAFile, LeadsOut."""
    make_folder(workspace.root / folder_of(project))
    paths = []
    for task in tasks:
        write_atomically(workspace.root / path_of(project, task), text_of(workspace, task))
        paths.append(path_of(project, task))
    _remove_others(workspace.root / folder_of(project), {path.rsplit("/", 1)[1] for path in paths})
    return paths


def _remove_others(folder: Path, names: Collection[str]) -> None:
    """Remove the files of units that are called otherwise by now, or are none any more."""
    for path in folder.iterdir():
        if UNIT_FILE.fullmatch(path.name) and path.name not in names:
            remove_file(path)
