"""`sow config`: which CLI plays which role. Works anywhere, with or without a repository."""

import os

import click

from sow.cli.lazy import LazyCommand, LazyGroup
from sow.paths import display_path, user_config_path

COMMANDS = {
    "init": LazyCommand("sow.cli.config_init:init", "Make your config file, with every setting."),
    "path": LazyCommand("sow.cli.config_show:path", "Print the path of your config file."),
    "show": LazyCommand("sow.cli.config_show:show", "Print what is in effect, and why."),
    "validate": LazyCommand("sow.cli.config_validate:validate", "Check your config file."),
    "edit": LazyCommand("sow.cli.config_edit:edit", "Open your config file in your editor."),
    "reset": LazyCommand("sow.cli.config_reset:reset", "Go back to the defaults; keep a backup."),
}


class ConfigGroup(LazyGroup):
    """A group whose help ends with the platform's own path, never broken over lines."""

    def format_epilog(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write where the file lies."""
        path = display_path(user_config_path(os.environ))
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write(f"{' ' * formatter.current_indent}Your config file: {path}\n")


@click.group(cls=ConfigGroup, lazy_commands=COMMANDS)
def config() -> None:
    """Choose which CLI plays which role.

    A variable (SOW_AGENTS_IMPLEMENTER=cursor) wins over your config file,
    and that over the defaults: Claude Code plays every role.
    """
