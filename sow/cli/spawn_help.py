"""The help of `sow agent spawn`: it ends with the platform's own path of the configuration."""

import os

import click

from sow.paths import display_path, user_config_path


class SpawnCommand(click.Command):
    """A command whose help ends with that path."""

    def format_epilog(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the path last, and never break it over lines: it is there to be copied."""
        path = display_path(user_config_path(os.environ))
        formatter.write_paragraph()
        with formatter.indentation():
            indent = " " * formatter.current_indent
            formatter.write(f"{indent}Agent selection uses configuration from {path}\n")
            formatter.write(f"{indent}Run 'sow config init' to create a configuration file.\n")
            formatter.write(f"{indent}Run 'sow config path' to see the full path.\n")
