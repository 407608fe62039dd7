"""`sow clone list` and `path`, and what `sow clone` shows of all projects of a checkout."""

from contextlib import closing, suppress

from msgspec import UNSET

from sow.cli import late_click as click
from sow.cli.arguments import task_argument, this_caller
from sow.cli.clone_here import this_checkout
from sow.cli.output import echo_json_lines, echo_result, echo_table, json_option
from sow.cli.review import steering_note
from sow.clones.clone_facts import text_of
from sow.clones.listing import FoundClone, NoClone, found_clones
from sow.clones.main_checkout import Checkout, MainCheckout, checkout_of, main_checkout
from sow.clones.mark import CloneState, state_of
from sow.clones.past_projects import PastBranch, kept_results, past_branches, past_clones
from sow.clones.place import ID_DIGITS
from sow.ids import ProjectId, TaskId
from sow.jobs import jobs
from sow.jobs.database import open_existing_queue
from sow.paths import display_path
from sow.schema.output.clones import BranchView, ClonePlace, CloneView
from sow.state.archive import ended_ids
from sow.state.state_errors import NoProject
from sow.state.tasks import list_tasks, read_task
from sow.terminal_text import printable, readable

HEADER = ("TASK", "STATUS", "CLONE", "HOLDS", "PATH")


all_projects_option = click.option(
    "--all-projects", is_flag=True, help="Also of projects that have ended, and their branches."
)


def here_and_now() -> tuple[Checkout, MainCheckout | None, set[str]]:
    """Return the checkout, its project if one is here, and how the ids of ended ones begin."""
    caller = this_caller()
    settings = caller.load_configuration().clones
    here = checkout_of(caller.workspace, settings)
    main = None
    with suppress(NoProject):
        main = main_checkout(caller.workspace, settings)
    return here, main, ended_ids(caller.workspace)


def is_idle(here: Checkout, project: str) -> bool:
    """Whether no job of a project lives; without a queue none does."""
    database = open_existing_queue(here.workspace)
    if database is None:
        return True
    with closing(database):
        return jobs.any_live_job(database, ProjectId(project)) is None


def branch_view(branch: PastBranch) -> BranchView:
    """Return a branch for programs."""
    return BranchView(
        project=branch.project[:ID_DIGITS],
        task=branch.task,
        branch=branch.name,
        commit=branch.commit,
        reasons=tuple(map(readable, branch.reasons)),
    )


def show_branches(branches: list[PastBranch]) -> None:
    """Print the branches that stay, each with why, and how it is removed all the same."""
    for branch in branches:
        holds = printable("; ".join(branch.reasons)) or "all of it is on other branches"
        click.echo(f"{branch.name}: {holds}")
    if alone := [branch.name for branch in branches if branch.alone]:
        click.echo(f"To remove one with its commits: git branch -D {alone[0]}", err=True)


def show_kept(here: Checkout) -> None:
    """Print where results of clones were kept."""
    if folders := [str(display_path(path)) for path in kept_results(here)]:
        click.echo(f"Results that were kept: {printable(text_of(folders, 12))}", err=True)


@click.command("list")
@all_projects_option
@json_option
def list_clones(all_projects: bool, as_json: bool) -> None:
    """List the clones of the project's tasks, and what removing each would lose.

    A clone is whole, unfinished (being made, or the process that made it died),
    missing (removed; sow makes it again when its task continues) or strange (not
    made by sow).

    With --all-projects also the clones of ended projects, and the branches of
    their tasks. This also works without a project here.
    """
    if all_projects:
        _list_all(as_json=as_json)
        return
    main = this_checkout("sow clone list --all-projects")
    found = found_clones(main, list_tasks(main.workspace))
    if as_json:
        echo_json_lines(_view(clone) for clone in found)
    elif found:
        echo_table(HEADER, [_row(clone) for clone in found], states=["STATUS"])
    else:
        click.echo("No task has a clone.", err=True)


def _list_all(*, as_json: bool) -> None:
    here, main, ended = here_and_now()
    own = found_clones(main, list_tasks(main.workspace)) if main is not None else []
    besides = main.project.id if main is not None else None
    past = past_clones(here, besides, ended)
    branches = past_branches(here, [clone.place for clone in past], besides)
    found = [*own, *past]
    if as_json:
        echo_json_lines([*map(_view, found), *map(branch_view, branches)])
        return
    rows = [(clone.place.project[:ID_DIGITS], *_row(clone)) for clone in found]
    if rows:
        echo_table(("PROJECT", *HEADER), rows, states=["STATUS"])
    show_branches(branches)
    show_kept(here)
    if not (rows or branches):
        click.echo("No task of any project has a clone or a branch.", err=True)


def _view(clone: FoundClone) -> CloneView:
    return CloneView(
        project=clone.place.project[:ID_DIGITS],
        task=clone.place.task,
        status=clone.task.status.value if clone.task else None,
        state=clone.state.value,
        branch=clone.place.branch,
        path=str(clone.place.path),
        reasons=clone.risks.reasons,
        goes_along=tuple(map(readable, clone.risks.goes_along)),
    )


def _row(clone: FoundClone) -> tuple[str, ...]:
    reasons = clone.risks.reasons or ("nothing to lose",)
    holds = printable("; ".join((*reasons, *clone.risks.goes_along)))
    if clone.task is not None and (note := steering_note(clone.task)):
        holds += f"; {note}"
    status = clone.task.status.value if clone.task else "gone"
    path = printable(display_path(clone.place.path))
    return (clone.place.task, status, clone.state.value, holds, path)


@click.command()
@task_argument
@json_option
def path(task_id: TaskId, as_json: bool) -> None:
    """Print the path of a task's clone: cd "$(sow clone path 010)"."""
    main = this_checkout()
    found = read_task(main.workspace, task_id)
    place = main.place(found)
    if state_of(place) is CloneState.MISSING:
        raise NoClone(found, had_one=found.clone is not UNSET)
    view = ClonePlace(
        task=found.id, path=str(place.path), root=str(place.root), branch=place.branch
    )
    echo_result(view, place.path, as_json=as_json)
