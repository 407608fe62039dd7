"""`sow refs`: outside repositories that are cloned once and linked here."""

import click

from sow.cli.lazy import LazyCommand, LazyGroup

COMMANDS = {
    "add": LazyCommand("sow.cli.refs_add:add", "Fetch a repository, and link it here."),
    "list": LazyCommand("sow.cli.refs_show:list_all", "List the references, and what is here."),
    "status": LazyCommand("sow.cli.refs_show:status", "Compare them with their remotes."),
    "update": LazyCommand("sow.cli.refs_bring:update", "Set them to what their remotes have."),
    "remove": LazyCommand("sow.cli.refs_remove:remove", "Take a reference out again."),
    "init": LazyCommand("sow.cli.refs_bring:init", "Link all that is missing on this machine."),
    "prune": LazyCommand("sow.cli.refs_remove:prune", "Remove what no repository uses any more."),
}


@click.group(cls=LazyGroup, lazy_commands=COMMANDS)
def refs() -> None:
    """Link outside repositories into .sow/refs, for agents to read.

    Each is cloned once on a machine, for all repositories. The index
    (.sow/refs/index.yaml) is committed; what is linked is not.
    """
