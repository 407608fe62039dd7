"""`sow notify`: what tells a person of events, and what was told."""

import click

from sow.cli.lazy import LazyCommand, LazyGroup

COMMANDS = {
    "list": LazyCommand("sow.cli.notify_list:list_notifications", "List what was told, and how."),
    "test": LazyCommand("sow.cli.notify_test:test", "Run your commands with a made-up event."),
}


@click.group(cls=LazyGroup, lazy_commands=COMMANDS)
def notify() -> None:
    """See and try the commands that tell you of events.

    They stand under `notify` in your own configuration: sow config edit.
    """
