"""`sow knowledge`: what earlier projects have found, decided and designed."""

import click

from sow.cli.lazy import LazyCommand, LazyGroup

COMMANDS = {
    "list": LazyCommand("sow.cli.knowledge_show:list_all", "List what earlier projects have left."),
    "search": LazyCommand("sow.cli.knowledge_show:search", "Find words in all of it."),
    "show": LazyCommand("sow.cli.knowledge_show:show", "Print a document, or what a project was."),
}


@click.group(cls=LazyGroup, lazy_commands=COMMANDS)
def knowledge() -> None:
    """Read what earlier projects have found, decided and designed.

    It lies in .sow/knowledge and in the folders that .sow/config.yaml names
    (`artifacts`). A project that is finished is added to the index there.
    """
