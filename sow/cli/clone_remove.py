"""`sow clone remove` and `sow clone prune`."""

from collections.abc import Callable

import click

from sow.calls.live_jobs import lives, refuse_while_live
from sow.cli import completing
from sow.cli.arguments import about_tasks
from sow.cli.clone_list import this_checkout
from sow.cli.output import echo_json, json_option
from sow.clones.inner_work import text_of
from sow.clones.listing import all_clone_places
from sow.clones.main_checkout import MainCheckout
from sow.clones.place import Place
from sow.clones.removal import Pruned, Removed, prune_clones, remove_clone
from sow.ids import JobId, TaskId
from sow.paths import display_path
from sow.schema.output.clones import CloneGone, ClonesPruned
from sow.state.state_errors import UnknownTask
from sow.state.tasks import list_tasks, read_task
from sow.terminal_text import printable, readable

SHOWN = 12


@click.command()
@click.argument("task", shell_complete=completing.tasks)
@click.option("--discard", is_flag=True, help="Remove it with work that is nowhere else.")
@json_option
def remove(task: str, discard: bool, as_json: bool) -> None:
    """Remove the clone of a task.

    A clone with work that is uncommitted, not in the repository, or not merged
    stays, unless --discard is given. The task's branch stays in the repository
    as far as it was brought there, and the clone is made again from it when the
    task goes on.
    """
    about_tasks(task)
    main = this_checkout()
    place = _place(main, task)
    gone = remove_clone(main, place, discard=discard, ask=_refuse_while_live(main))
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


def _tell_rest(gone: Removed, went: str = "gone with it") -> None:
    """Say what went with a clone, and what was kept of it."""
    for words in gone.goes_along:
        click.echo(f"Note: {went}: {printable(words)}", err=True)
    if gone.kept is not None:
        folder = printable(display_path(gone.kept.folder))
        click.echo(
            f"Note: kept in {folder}: {printable(text_of(gone.kept.files, SHOWN))}", err=True
        )


def _place(main: MainCheckout, task: str) -> Place:
    """Return where the clone of a task lies; of one that is gone, where something is left."""
    try:
        return main.place(read_task(main.workspace, task))
    except UnknownTask:
        for place in all_clone_places(main, list_tasks(main.workspace)):
            if place.task == task:
                return place
        raise


def _refuse_while_live(main: MainCheckout) -> Callable[[str], None]:
    return lambda task: refuse_while_live(main.workspace, TaskId(task), has_option=False)


@click.command()
@click.option("--dry-run", is_flag=True, help="Show what would go; remove nothing.")
@json_option
def prune(dry_run: bool, as_json: bool) -> None:
    """Remove the clones of tasks that have ended and are merged, or are gone.

    A clone that holds work which is nowhere else, or is not merged, stays and is
    named. What an interrupted making or removing has left goes too, and the
    throw-away clones of reviews that are over.
    """
    main = this_checkout()
    tasks = list_tasks(main.workspace)
    done = prune_clones(
        main,
        tasks,
        dry_run=dry_run,
        ask=_refuse_while_live(main),
        is_live=lambda job: lives(main.workspace, JobId(job)),
    )
    if as_json:
        echo_json(_pruned(done, dry_run=dry_run))
        return
    does = "would be removed" if dry_run else "removed"
    for gone in done.removed:
        click.echo(f"{gone.task} clone {does}: {printable(display_path(gone.path))}")
        _tell_rest(gone, "would go with it" if dry_run else "gone with it")
    for folder in done.swept:
        click.echo(f"{printable(display_path(folder))} {does}: left by what died or is over")
    for stays in done.kept:
        click.echo(f"{stays.task} clone stays: {printable('; '.join(stays.reasons))}")
    if not (done.removed or done.swept or done.kept):
        click.echo("Nothing to prune.")


def _pruned(done: Pruned, *, dry_run: bool) -> ClonesPruned:
    return ClonesPruned(
        clones=(
            *(_view(gone, removed=True) for gone in done.removed),
            *(_view(stays, removed=False) for stays in done.kept),
        ),
        swept=tuple(str(folder) for folder in done.swept),
        dry_run=dry_run,
    )


def _view(clone: Removed, *, removed: bool) -> CloneGone:
    return CloneGone(
        task=clone.task,
        path=str(clone.path),
        removed=removed,
        standing=clone.reasons,
        goes_along=tuple(map(readable, clone.goes_along)),
        kept_in=str(clone.kept.folder) if clone.kept else None,
        kept=tuple(map(readable, clone.kept.files)) if clone.kept else (),
    )
