"""`sow clone remove` and `sow clone prune`."""

from sow.calls.live_jobs import lives
from sow.cli import completing
from sow.cli import late_click as click
from sow.cli.arguments import about_tasks
from sow.cli.clone_here import refuse_live, this_checkout
from sow.cli.clone_list import (
    all_projects_option,
    branch_view,
    here_and_now,
    is_idle,
    show_branches,
)
from sow.cli.output import echo_json, json_option
from sow.clones.clone_facts import text_of
from sow.clones.listing import all_clone_places
from sow.clones.main_checkout import MainCheckout
from sow.clones.past_projects import PastBranch, find_past_clone, past_removal_risks, prune_past
from sow.clones.place import ID_DIGITS, Place
from sow.clones.removal import Pruned, Removed, prune_clones, remove_clone, remove_clone_at
from sow.errors import StateError, UsageError
from sow.files.scratch import sweep_scratch
from sow.ids import JobId
from sow.paths import display_path
from sow.schema.output.clones import CloneGone, ClonesPruned
from sow.schema.task import TaskStatus
from sow.state.state_errors import UnknownTask
from sow.state.tasks import list_tasks, read_task
from sow.terminal_text import printable, readable

SHOWN = 12


@click.command()
@click.argument("task", shell_complete=completing.tasks)
@click.option(
    "--discard", is_flag=True, help="Remove it even if it holds the only copy of some work."
)
@click.option("--project", metavar="ID", help="Of another project: the first 8 digits of its id.")
@json_option
def remove(task: str, discard: bool, project: str | None, as_json: bool) -> None:
    """Remove the clone of a task.

    A clone with work that is not committed, not in the repository, or not merged
    is kept, unless --discard is given. The task's branch stays in the repository.
    The clone is made again from it when the task continues.
    """
    about_tasks(task)
    if project is not None:
        place, gone = _remove_past(project, task, discard=discard)
    else:
        main = this_checkout("sow clone list --all-projects")
        place, is_mergeable = _place(main, task)
        ask = refuse_live(main)
        gone = remove_clone(main, place, discard=discard, ask=ask, is_mergeable=is_mergeable)
    if as_json:
        found = gone or Removed(place.task, place.path)
        echo_json(_view(found, removed=gone is not None))
    elif gone is None:
        click.echo(f"Task {place.task} has no clone.", err=True)
    else:
        click.echo(f"{place.task} clone removed: {printable(display_path(place.path))}")
        for reason in gone.reasons:
            click.echo(f"Note: discarded: {printable(reason)}", err=True)
        _tell_rest(gone)


def _remove_past(project: str, task: str, *, discard: bool) -> tuple[Place, Removed | None]:
    """Remove the clone of a task of another project, whether that has ended or not."""
    here, _, ended = here_and_now()
    place = find_past_clone(here, project, task)
    if place is None:
        raise UsageError(
            f"task {task} of a project {project} has no clone here",
            hint="`sow clone list --all-projects` shows the clones.",
        )

    def ask(_: str) -> None:
        if not is_idle(here, place.project):
            raise StateError(
                f"a job of project {project} lives", hint="Wait for it: `sow job list`."
            )

    found = remove_clone_at(
        here,
        place,
        lambda: past_removal_risks(here, place, ended),
        discard=discard,
        ask=ask,
        is_past=True,
    )
    return place, found


def _tell_rest(gone: Removed, went: str = "gone with it") -> None:
    """Say what went with a clone, and what was kept of it."""
    for words in gone.goes_along:
        click.echo(f"Note: {went}: {printable(words)}", err=True)
    if gone.kept is not None:
        folder = printable(display_path(gone.kept.folder))
        click.echo(
            f"Note: kept in {folder}: {printable(text_of(gone.kept.files, SHOWN))}", err=True
        )


def _place(main: MainCheckout, task: str) -> tuple[Place, bool]:
    """Return where the clone of a task lies, and whether the task may still be merged.

    Of a task that is gone it is where something is left.
    """
    try:
        found = read_task(main.workspace, task)
        return main.place(found), found.status is not TaskStatus.ABANDONED
    except UnknownTask:
        for place in all_clone_places(main, list_tasks(main.workspace)):
            if place.task == task:
                return place, False
        raise


@click.command()
@click.option("--dry-run", is_flag=True, help="Show what would be removed; remove nothing.")
@all_projects_option
@json_option
def prune(dry_run: bool, all_projects: bool, as_json: bool) -> None:
    """Remove the clones of tasks that are ended and merged, or no longer exist.

    A clone with work that exists only there, or is not merged, is kept and named.
    Files that interrupted commands left, and temporary clones of ended reviews,
    are removed too.

    With --all-projects also those of ended projects, and the branches of their
    tasks whose commits are all on other branches. A branch with any other commit
    is kept and named. This also works without a project here.
    """
    branches: tuple[PastBranch, ...] = ()
    if all_projects:
        done, branches = _prune_all(dry_run=dry_run)
    else:
        done = _prune(this_checkout("sow clone prune --all-projects"), dry_run=dry_run)
    if not dry_run:
        sweep_scratch()
    if as_json:
        echo_json(_pruned(done, branches, dry_run=dry_run))
        return
    does = "would be removed" if dry_run else "removed"
    for gone in done.removed:
        click.echo(f"{_named(gone)} clone {does}: {printable(display_path(gone.path))}")
        _tell_rest(gone, "would go with it" if dry_run else "gone with it")
    for folder in done.swept:
        click.echo(
            f"{printable(display_path(folder))} {does}: left by an interrupted command or"
            " an ended review"
        )
    for branch in branches:
        if not branch.reasons:
            click.echo(f"{branch.name} {does}: its commits are on other branches")
    for stays in done.kept:
        click.echo(f"{_named(stays)} clone stays: {printable('; '.join(stays.reasons))}")
    show_branches([branch for branch in branches if branch.reasons])
    if not (done.removed or done.swept or done.kept or branches):
        click.echo("Nothing to prune.")


def _named(clone: Removed) -> str:
    """Return a task's id, with the project where that is told."""
    return f"{clone.project[:ID_DIGITS]}/{clone.task}" if clone.project else clone.task


def _prune(main: MainCheckout, *, dry_run: bool) -> Pruned:
    return prune_clones(
        main,
        list_tasks(main.workspace),
        dry_run=dry_run,
        ask=refuse_live(main),
        is_live=lambda job: lives(main.workspace, JobId(job)),
    )


def _prune_all(*, dry_run: bool) -> tuple[Pruned, tuple[PastBranch, ...]]:
    here, main, ended = here_and_now()
    own = _prune(main, dry_run=dry_run) if main is not None else Pruned((), (), ())
    past = prune_past(
        here,
        main.project.id if main is not None else None,
        ended,
        dry_run=dry_run,
        is_idle=lambda project: is_idle(here, project),
        is_live=lambda job: lives(here.workspace, JobId(job)),
    )
    done = Pruned((*own.removed, *past.removed), (*own.kept, *past.kept), (*own.swept, *past.swept))
    return done, past.branches


def _pruned(done: Pruned, branches: tuple[PastBranch, ...], *, dry_run: bool) -> ClonesPruned:
    return ClonesPruned(
        clones=(
            *(_view(gone, removed=True) for gone in done.removed),
            *(_view(stays, removed=False) for stays in done.kept),
        ),
        swept=tuple(str(folder) for folder in done.swept),
        branches=tuple(map(branch_view, branches)),
        dry_run=dry_run,
    )


def _view(clone: Removed, *, removed: bool) -> CloneGone:
    return CloneGone(
        project=clone.path.parent.name,
        task=clone.task,
        path=str(clone.path),
        removed=removed,
        reasons=clone.reasons,
        goes_along=tuple(map(readable, clone.goes_along)),
        kept_in=str(clone.kept.folder) if clone.kept else None,
        kept=tuple(map(readable, clone.kept.files)) if clone.kept else (),
    )
