"""`sow clone`: the clones of the repository that tasks have for themselves."""

import click

from sow.cli.lazy import LazyCommand, LazyGroup

COMMANDS = {
    "list": LazyCommand("sow.cli.clone_list:list_clones", "List clones, and what is in them."),
    "path": LazyCommand("sow.cli.clone_list:path", "Print where the clone of a task lies."),
    "update": LazyCommand("sow.cli.clone_update:update", "Bring the project's branch into one."),
    "remove": LazyCommand("sow.cli.clone_remove:remove", "Remove the clone of a task."),
    "prune": LazyCommand("sow.cli.clone_remove:prune", "Remove the clones that nobody needs."),
}


@click.group(cls=LazyGroup, lazy_commands=COMMANDS)
def clone() -> None:
    """See, update and remove the clones of the repository that tasks have for themselves."""
