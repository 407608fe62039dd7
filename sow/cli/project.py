"""`sow project`: begin the branch's project and see where it stands.

Each command imports what it needs by itself: the group's help and completion need none of it.
"""

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sow.cli.arguments import here, readable
from sow.cli.lazy import LazyCommand, LazyGroup
from sow.cli.output import echo_json, echo_table, json_option
from sow.errors import SowError
from sow.files import read_regular

if TYPE_CHECKING:
    from sow.schema.project import Project


GIT_LIMIT = 1 << 16
"""The largest file of git's own that is read, in bytes; each holds one line."""


COMMANDS = {
    "check": LazyCommand("sow.cli.check:project_check", "Run the repository's checks here."),
}


@click.group(cls=LazyGroup, lazy_commands=COMMANDS)
def project() -> None:
    """Begin a project and see where it stands."""


@project.command()
@click.argument("name")
@click.option("--description", default="", help="What it is for.")
@click.option(
    "--phase", "phases", multiple=True, help="A phase; repeat it. Default: implementation."
)
@json_option
def new(name: str, description: str, phases: tuple[str, ...], as_json: bool) -> None:
    """Begin the project NAME on this branch."""
    import uuid

    from sow.ids import ProjectId
    from sow.state.projects import DEFAULT_PHASES, new_project

    workspace = here()
    made = new_project(
        workspace,
        name=readable(name),
        project_id=ProjectId(str(uuid.uuid4())),
        now=time.time(),
        description=readable(description),
        branch=_branch(workspace.root),
        phases=phases or DEFAULT_PHASES,
    )
    if as_json:
        from sow.reports.task_views import project_view

        echo_json(project_view(made))
        return
    click.echo(f"Project {made.name} begun in {_relative(workspace.project)}")
    click.echo("Next: sow task add NAME --agent implementer")


@project.command()
@json_option
def status(as_json: bool) -> None:
    """Show the project, its phases, and how many tasks stand where."""
    from sow.reports.task_views import project_standing, tasks_by_phase
    from sow.state.projects import read_project
    from sow.state.tasks import scan_tasks

    workspace = here()
    current = read_project(workspace)
    tasks, errors = scan_tasks(workspace)
    if as_json:
        echo_json(project_standing(current, tasks, [error.message for error in errors]))
    else:
        _show(current, tasks_by_phase(current, tasks))
    _raise_first(errors)


def _show(current: "Project", counts: dict[str, dict[str, int]]) -> None:
    from sow.schema.task import TaskStatus

    click.echo(current.name)
    if isinstance(current.description, str):
        click.echo(current.description)
    click.echo()
    words = [word.value for word in TaskStatus if any(word in row for row in counts.values())]
    header = ("PHASE", "TASKS", *(word.upper() for word in words))
    rows = [
        (phase, str(sum(row.values())), *(str(row.get(word, "-")) for word in words))
        for phase, row in counts.items()
    ]
    echo_table(header, rows)


def _raise_first(errors: "Sequence[SowError]") -> None:
    if errors:
        raise errors[0]


def _branch(root: Path) -> str | None:
    """Return the branch that git has checked out at `root`, if there is one.

    Reads git's own file (gitrepository-layout(5)): `ref: refs/heads/NAME`.
    """
    git = root / ".git"
    try:
        if git.is_file():
            link = read_regular(git, GIT_LIMIT).decode()
            git = root / link.removeprefix("gitdir:").strip()
        head = read_regular(git / "HEAD", GIT_LIMIT).decode().strip()
    except (OSError, SowError, ValueError):  # a path that is none raises ValueError
        return None
    return head.removeprefix("ref: refs/heads/") if head.startswith("ref: ") else None


def _relative(path: Path) -> str:
    return os.path.relpath(path)
