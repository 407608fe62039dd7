"""`sow project publish`: the work units of a breakdown as files, and as issues of GitHub."""

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sow.cli import late_click as click
from sow.cli.arguments import here
from sow.cli.output import echo_json, json_option
from sow.errors import StateError, UsageError
from sow.lifecycle.stages import ProjectType
from sow.schema.output.projects import Published, PublishedIssue
from sow.schema.task import TaskStatus
from sow.state import units
from sow.state.lifecycle import approved_units, counted_tasks, unit_content
from sow.state.projects import read_project
from sow.terminal_text import readable

if TYPE_CHECKING:
    from sow.paths import Workspace
    from sow.schema.project import Project
    from sow.schema.task import Task

GITHUB = "github"


@click.command("publish")
@click.option(
    "--to",
    "elsewhere",
    type=click.Choice([GITHUB]),
    help="Also open one issue for each unit, with your own gh.",
)
@click.option("--repo", "repository", metavar="OWNER/NAME", help="Where. Default: as gh sees it.")
@click.option(
    "--label", "labels", multiple=True, metavar="LABEL", help="A label of new issues; repeat it."
)
@json_option
def publish(
    elsewhere: str | None, repository: str | None, labels: tuple[str, ...], as_json: bool
) -> None:
    """Write the approved work units of a breakdown as files into .sow/knowledge/breakdown/.

    `sow project new NAME --from-breakdown FOLDER` begins a project with them.
    With --to github sow also opens an issue for each unit, in the order of the
    dependencies. If a unit has an issue already, sow keeps that issue and does
    not change its text. After an interruption run the same command again to
    continue.

    Exit: 0 written, 4 refused: there is no unit, one is not approved in
    its current form, or GitHub cannot be asked.
    """
    workspace = here()
    current = read_project(workspace)
    if elsewhere is None and (repository or labels):
        raise UsageError("--repo and --label are for --to github", hint="Add --to github.")
    wanted = _approved(workspace, current)
    files = units.publish(workspace, current, wanted)
    issues: list[PublishedIssue] = []
    try:
        if elsewhere is not None:
            _to_github(workspace, current, wanted, repository, labels, issues, as_json=as_json)
    finally:
        if issues:  # the files name them
            files = units.publish(workspace, current, _approved(workspace, current))
    if as_json:
        echo_json(Published(files=tuple(files), issues=tuple(issues)))
    for path in [] if as_json else files:
        click.echo(path)


def _to_github(
    workspace: "Workspace",
    current: "Project",
    wanted: "Sequence[Task]",
    repository: str | None,
    labels: Sequence[str],
    issues: list[PublishedIssue],
    *,
    as_json: bool,
) -> None:
    """Open the issues that are missing; each is told at once, for the next may be refused."""
    # Only who publishes there asks GitHub.
    from sow.calls.publishing import publish_issues
    from sow.github.requests import find_place

    place = find_place(workspace.root, readable(repository) if repository else None)
    names = [readable(label) for label in labels]
    for made in publish_issues(workspace, place, current, wanted, labels=names, now=time.time()):
        issues.append(
            PublishedIssue(unit=made.unit, number=made.number, url=made.url, is_new=made.is_new)
        )
        if not as_json:
            click.echo(f"{made.unit}: {made.url}{'' if made.is_new else ' (there already)'}")


def _approved(workspace: "Workspace", current: "Project") -> "list[Task]":
    """Return the units, all of them approved as they stand. Raises StateError."""
    if current.kind is not ProjectType.BREAKDOWN:
        raise StateError(
            f"a project of the type {current.kind} has no work units",
            hint="`sow project new NAME --type breakdown` begins one that has.",
        )
    wanted = [task for task in counted_tasks(workspace) if task.status is not TaskStatus.ABANDONED]
    if not wanted:
        raise StateError("there is no work unit yet", hint='sow task add "<name>" --agent "<role>"')
    approved = approved_units(current)
    unapproved = [
        task.id for task in wanted if approved.get(task.id) != unit_content(workspace, task)
    ]
    if unapproved:
        raise StateError(
            f"not approved in their current form: {', '.join(unapproved)}",
            hint=f"`sow approve {' '.join(unapproved)}` approves them.",
        )
    return wanted
