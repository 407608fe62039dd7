"""`sow project finish`, `abandon`, `list`: the end of a project, and what lies in the archive."""

from collections.abc import Iterator

import click
from msgspec import UNSET

from sow.calls.caller import Caller
from sow.calls.ending import end_project
from sow.cli.arguments import here
from sow.cli.output import echo_json, echo_json_lines, echo_table, json_option
from sow.cli.this_caller import this_caller
from sow.clock import format_time
from sow.errors import SowError
from sow.paths import Workspace
from sow.schema.output.projects import ProjectEnded, ProjectRow
from sow.schema.project import EndingWord, Project
from sow.state.archive import archived_folders, read_archived
from sow.state.authors import author_of
from sow.state.places import has_project
from sow.state.projects import read_project
from sow.state.units import folder_of

remove_option = click.option(
    "--remove", is_flag=True, help="Archive nothing: git's history alone has it then."
)


@click.command("finish")
@remove_option
@json_option
def finish(remove: bool, as_json: bool) -> None:
    """End the completed project: its folder goes to .sow/knowledge/projects/.

    The branch is free for the next one. Called by an agent of the project's
    own, the end is recorded, and a worker carries it out once that job has ended.

    Exit: 0 ended or recorded, 4 refused: not completed, or a job lives.
    """
    _end(EndingWord.FINISHED, remove=remove, as_json=as_json)


@click.command("abandon")
@remove_option
@json_option
def abandon(remove: bool, as_json: bool) -> None:
    """End an unwanted project, wherever it stands; it is archived as abandoned.

    Branches and clones of its tasks stay: `sow clone prune`.

    Exit: 0 ended or recorded, 4 refused: a job lives.
    """
    _end(EndingWord.ABANDONED, remove=remove, as_json=as_json)


def _end(how: EndingWord, *, remove: bool, as_json: bool) -> None:
    caller = this_caller()
    by = author_of(caller.environ)
    project, archive, is_recorded_only = end_project(caller, how, remove=remove, by=by)
    if as_json:
        echo_json(
            ProjectEnded(
                project=project.id,
                name=project.name,
                how=how.value,
                archive=archive,
                is_recorded_only=is_recorded_only,
            )
        )
    elif is_recorded_only:
        click.echo(f"{project.name} is to be {how.value}: a worker ends it after this job.")
    else:
        click.echo(
            f"{project.name} is {how.value}; {f'it lies in {archive}' if archive else 'gone'}"
        )
        begin = f" --from-breakdown {_units(project)}" if _has_units(caller, project) else ""
        click.echo(f"Commit that. The next project: sow project new NAME{begin}")


def _has_units(caller: Caller, project: Project) -> bool:
    return (caller.workspace.root / folder_of(project)).is_dir()


def _units(project: Project) -> str:
    """Return what the folder of a breakdown's published units is called."""
    return folder_of(project).rpartition("/")[2]


@click.command("list")
@json_option
def list_all(as_json: bool) -> None:
    """List the project at work here, and those that have ended."""
    rows = list(_rows(here()))
    if as_json:
        echo_json_lines(rows)
    elif not rows:
        click.echo("No project yet: sow project new NAME", err=True)
    else:
        table = [(row.name, row.type, row.state, row.ended or "-", row.folder) for row in rows]
        echo_table(("NAME", "TYPE", "STATE", "ENDED", "FOLDER"), table)


def _rows(workspace: Workspace) -> Iterator[ProjectRow]:
    if has_project(workspace):
        yield _row(read_project(workspace), ".sow/project")
    for folder in archived_folders(workspace):
        try:
            project = read_archived(folder)
        except SowError as error:
            click.echo(f"Note: {error.message}", err=True)
            continue
        yield _row(project, folder.relative_to(workspace.root).as_posix())


def _row(project: Project, folder: str) -> ProjectRow:
    ending = None if project.ending is UNSET else project.ending
    return ProjectRow(
        project=project.id,
        name=project.name,
        type=project.kind.value,
        state=project.standing,
        ended=ending.how.value if ending else None,
        ended_at=format_time(ending.at.timestamp()) if ending else None,
        folder=folder,
    )
