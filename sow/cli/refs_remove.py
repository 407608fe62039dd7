"""`sow refs remove` and `sow refs prune`."""

import time

from sow.cli import completing
from sow.cli import late_click as click
from sow.cli.arguments import here
from sow.cli.output import echo_json, json_option
from sow.errors import StateError
from sow.paths import Workspace
from sow.refs.removing import Pruned, Removed, remove_reference
from sow.refs.removing import prune as prune_cache
from sow.schema.output.references import CachePruned, ReferenceRemoved
from sow.schema.references import named_in
from sow.schema.task import TaskStatus
from sow.state.tasks import scan_tasks
from sow.terminal_text import printable

ENDED = (TaskStatus.COMPLETED, TaskStatus.ABANDONED)


@click.command()
@click.argument("name", metavar="ID", shell_complete=completing.references)
@json_option
def remove(name: str, as_json: bool) -> None:
    """Remove the reference ID from the index, and its link.

    What other repositories of this machine use stays in the cache.
    """
    workspace = here()
    removed = remove_reference(workspace, name, now=time.time())
    tasks = _naming(workspace, name)
    if as_json:
        echo_json(_removed_view(removed, tasks))
        return
    click.echo(f"Reference {name} removed")
    if not removed.was_linked:
        link = removed.reference.link
        click.echo(f"Note: .sow/refs/{link} was not created by sow, and is kept", err=True)
    if not removed.is_forgotten:
        click.echo(f"Note: the fetched files are kept: {_users(removed)}", err=True)
    if tasks:
        click.echo(
            f"Note: {', '.join(tasks)} {'names' if len(tasks) == 1 else 'name'} it still, and"
            ' goes without: sow task set TASK references "…"',
            err=True,
        )


@click.command()
@click.option("--dry-run", is_flag=True, help="Show what would be removed; remove nothing.")
@json_option
def prune(dry_run: bool, as_json: bool) -> None:
    """Remove from the cache what no repository of this machine uses any more.

    A repository uses a reference while the repository exists and its index names
    the reference. Works in any folder.
    """
    count = 0
    for done in prune_cache(now=time.time(), dry_run=dry_run):
        if as_json:
            echo_json(_pruned_view(done, dry_run=dry_run))
        elif words := _pruned_words(done, dry_run=dry_run):
            count += 1
            click.echo(words)
    if not count and not as_json:
        click.echo("Nothing to remove.", err=True)


def _users(removed: Removed) -> str:
    """Return who uses what a reference was linked from."""
    match len(removed.others):
        case 0:
            return "another reference here uses it"
        case 1:
            return "another repository of this machine uses it"
        case count:
            return f"{count} other repositories of this machine use it"


def _pruned_words(done: Pruned, *, dry_run: bool) -> str:
    source, would = printable(done.source), "would be " if dry_run else ""
    if done.note:
        return f"{source}: left as it is: {done.note}"
    if done.is_forgotten:
        return f"{source}: {would}removed; nobody uses it"
    if done.trees:
        trees = "1 tree" if done.trees == 1 else f"{done.trees} trees"
        return f"{source}: {trees} {would}removed"
    return ""


def _naming(workspace: Workspace, name: str) -> tuple[str, ...]:
    """Return the tasks that name a reference and may run again; none where no task can be read."""
    try:
        tasks, _ = scan_tasks(workspace)
    except StateError:
        return ()
    naming = [task for task in tasks if name in named_in(task.references)]
    return tuple(task.id for task in naming if task.status not in ENDED)


def _removed_view(removed: Removed, tasks: tuple[str, ...]) -> ReferenceRemoved:
    return ReferenceRemoved(
        reference=removed.reference.id,
        source=removed.reference.source,
        was_linked=removed.was_linked,
        others=removed.others,
        tasks=tasks,
    )


def _pruned_view(done: Pruned, *, dry_run: bool) -> CachePruned:
    return CachePruned(
        source=done.source,
        users=done.users,
        gone_users=done.gone_users,
        trees=done.trees,
        removed=done.is_forgotten,
        note=done.note,
        dry_run=dry_run,
    )
