"""`sow config`: which CLI plays which role. Works anywhere, with or without a repository."""

import os

import click

from sow.cli.lazy import LazyGroup
from sow.paths import display_path, user_config_path


class ConfigGroup(LazyGroup):
    """A group whose help ends with the platform's own path, never broken over lines."""

    def format_epilog(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write where the file lies."""
        path = display_path(user_config_path(os.environ))
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write(f"{' ' * formatter.current_indent}Your config file: {path}\n")


@click.group(cls=ConfigGroup, words="config")
def config() -> None:
    """Choose which CLI plays which role.

    A variable (SOW_AGENTS_IMPLEMENTER=cursor) wins over your config file,
    and that over the defaults: Claude Code plays every role.
    """
