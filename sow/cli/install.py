"""`sow install` and `sow uninstall`: sow inside the agent CLI that somebody leads from."""

import click

from sow.cli.lazy import LazyCommand, LazyGroup

INSTALL = {
    "claude": LazyCommand("sow.cli.install_claude:install", "Install the plugin for Claude Code."),
    "agents-md": LazyCommand(
        "sow.cli.install_agents_md:install", "Tell other CLIs of sow, in AGENTS.md."
    ),
    "status": LazyCommand("sow.cli.install_status:status", "See what is installed, and where."),
}
UNINSTALL = {
    "claude": LazyCommand("sow.cli.install_claude:uninstall", "Take the plugin out again."),
    "agents-md": LazyCommand(
        "sow.cli.install_agents_md:uninstall", "Take sow's text out of AGENTS.md."
    ),
}


@click.group(cls=LazyGroup, lazy_commands=INSTALL)
def install() -> None:
    """Bring sow into the agent CLI from which you lead: commands, rules, news.

    What is written where is kept on record, and `sow uninstall` takes away
    just that.
    """


@click.group(cls=LazyGroup, lazy_commands=UNINSTALL)
def uninstall() -> None:
    """Take away what `sow install` has brought, and nothing else."""
