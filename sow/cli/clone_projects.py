"""What `sow clone` shows and does of all projects of a checkout, ended ones too."""

from contextlib import closing, suppress

import click

from sow.cli.this_caller import this_caller
from sow.clones.inner_work import text_of
from sow.clones.main_checkout import Checkout, MainCheckout, checkout_of, main_checkout
from sow.clones.past_branches import PastBranch
from sow.clones.past_projects import kept_results
from sow.clones.place import ID_DIGITS
from sow.ids import ProjectId
from sow.jobs import jobs
from sow.jobs.database import open_existing_queue
from sow.paths import display_path
from sow.schema.output.clones import BranchView
from sow.state.archive import ended_ids
from sow.state.state_errors import NoProject
from sow.terminal_text import printable, readable

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
