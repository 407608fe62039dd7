"""`sow config`: which CLI plays which role. Works anywhere, with or without a repository."""

import click

from sow.cli.lazy import LazyCommand, LazyGroup

COMMANDS = {
    "init": LazyCommand("sow.cli.config_init:init", "Make your config file, with every setting."),
    "path": LazyCommand("sow.cli.config_show:path", "Print the path of your config file."),
    "show": LazyCommand("sow.cli.config_show:show", "Print what is in effect, and why."),
    "validate": LazyCommand("sow.cli.config_validate:validate", "Check your config file."),
    "edit": LazyCommand("sow.cli.config_edit:edit", "Open your config file in your editor."),
    "reset": LazyCommand("sow.cli.config_reset:reset", "Go back to the defaults; keep a backup."),
}


@click.group(cls=LazyGroup, lazy_commands=COMMANDS)
def config() -> None:
    """Choose which CLI plays which role.

    A variable (SOW_AGENTS_IMPLEMENTER=cursor) wins over your config file,
    and that over the defaults: Claude Code plays every role.
    """
