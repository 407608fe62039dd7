"""`sow pr`: a finished project as a pull request of GitHub."""

import click

from sow.cli.lazy import LazyCommand, LazyGroup

COMMANDS = {
    "create": LazyCommand("sow.cli.pr_commands:create", "Ask for the finished project's branch."),
    "status": LazyCommand("sow.cli.pr_commands:status", "See where the pull request stands."),
}


@click.group(cls=LazyGroup, lazy_commands=COMMANDS)
def pr() -> None:
    """Ask that a finished project's branch is taken in, on GitHub.

    Your own gh asks, with its login. sow pushes nothing and keeps no token.
    """
