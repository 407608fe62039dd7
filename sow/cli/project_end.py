"""`sow project finish`, `abandon`, `list`: the end of a project, and what lies in the archive."""

from collections.abc import Iterator

from msgspec import UNSET

from sow.calls.caller import Caller
from sow.calls.ending import end_project
from sow.cli import late_click as click
from sow.cli.arguments import here, this_caller
from sow.cli.confirming import author_here, is_at_terminal
from sow.cli.output import echo_json, echo_list, json_option
from sow.clock import format_time
from sow.clones.clone_facts import text_of
from sow.clones.main_checkout import checkout_of, known_settings
from sow.clones.past_projects import LeftOver, left_of
from sow.errors import SowError, StateError
from sow.lifecycle.stages import COMPLETED
from sow.lifecycle.types import left_undone, missing_words
from sow.paths import Workspace, display_path
from sow.schema.output.projects import ProjectEnded, ProjectRow
from sow.schema.project import EndingWord, Project
from sow.situation.looking import look
from sow.state.archive import archived_folders, read_archived
from sow.state.places import has_project
from sow.state.projects import read_project
from sow.state.units import folder_of
from sow.terminal_text import printable

MOST_NAMED = 5

remove_option = click.option(
    "--remove", is_flag=True, help="Archive nothing: only git's history has it then."
)


@click.command("finish")
@remove_option
@json_option
def finish(remove: bool, as_json: bool) -> None:
    """End the completed project, and move its folder to .sow/knowledge/projects/.

    The branch can then get a new project. If an agent of the project runs this
    command, the end is recorded, and a worker ends the project after that job.

    Exit: 0 ended or recorded, 4 refused: not completed, a task was added or
    reopened since, or a job lives.
    """
    _refuse_undone(this_caller())
    _end(EndingWord.FINISHED, remove=remove, as_json=as_json)


@click.command("abandon")
@remove_option
@json_option
def abandon(remove: bool, as_json: bool) -> None:
    """End a project in any state; it is archived as abandoned.

    Branches and clones of its tasks are kept and named. Clean up: `sow clone
    prune --all-projects`.

    Exit: 0 ended or recorded, 4 refused: a job lives.
    """
    _end(EndingWord.ABANDONED, remove=remove, as_json=as_json)


def _refuse_undone(caller: Caller) -> None:
    """Raise StateError where a completed project has work that was asked for since then."""
    now = look(caller, is_at_terminal=is_at_terminal())
    if now.facts is None or now.facts.state != COMPLETED or now.queue.live:
        return
    undone = left_undone(now.facts)
    if undone and now.project is not None and now.project.ending is UNSET:
        raise StateError(
            "the project was completed, but work was added to it since", hint=missing_words(undone)
        )


def _end(how: EndingWord, *, remove: bool, as_json: bool) -> None:
    caller = this_caller()
    by = author_here()
    project, archive, is_recorded_only = end_project(caller, how, remove=remove, by=by)
    left = LeftOver() if is_recorded_only else _left_of(caller, project)
    if as_json:
        echo_json(
            ProjectEnded(
                project=project.id,
                name=project.name,
                how=how.value,
                archive=archive,
                is_recorded_only=is_recorded_only,
                clones=tuple(str(place.path) for place in left.clones),
                branches=tuple(branch.name for branch in left.branches),
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
        _show_left(left)


def _left_of(caller: Caller, project: Project) -> LeftOver:
    """Return what is left of a project that has just ended; nothing where git cannot be asked."""
    try:
        workspace = caller.workspace
        return left_of(checkout_of(workspace, known_settings(workspace)), project.id)
    except SowError:
        return LeftOver()


def _show_left(left: LeftOver) -> None:
    if not (left.clones or left.branches):
        return
    for place in left.clones:
        click.echo(f"Left: the clone of task {place.task}: {printable(display_path(place.path))}")
    if left.branches:
        names = text_of([branch.name for branch in left.branches], MOST_NAMED)
        noun = "branch" if len(left.branches) == 1 else "branches"
        click.echo(f"Left: {len(left.branches)} {noun} of its tasks: {names}")
    click.echo(
        "To see what they hold: sow clone list --all-projects. To remove those whose work is in"
        " other branches: sow clone prune --all-projects"
    )


def _has_units(caller: Caller, project: Project) -> bool:
    return (caller.workspace.root / folder_of(project)).is_dir()


def _units(project: Project) -> str:
    """Return what the folder of a breakdown's published units is called."""
    return folder_of(project).rpartition("/")[2]


@click.command("list")
@json_option
def list_all(as_json: bool) -> None:
    """List the project at work here, and those that have ended."""
    echo_list(
        list(_rows(here())),
        ("NAME", "TYPE", "STATE", "ENDED", "FOLDER"),
        lambda row: (row.name, row.type, row.state, row.ended or "-", row.folder),
        none="No project yet: sow project new NAME",
        as_json=as_json,
    )


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
