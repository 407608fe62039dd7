"""The note on command lines that nobody has accepted yet.

The command that queues the first work of a checkout prints it: a job that needs such a command
line is held much later, when its user may be away.
"""

import os

from sow.calls.caller import Caller
from sow.cli import late_click as click
from sow.config.configuration import Configuration
from sow.trust.needed import unaccepted_keys


def name_unaccepted(caller: Caller, config: Configuration) -> None:
    """Print a note with the settings that the user has not accepted, if there are any."""
    if not (config.checks.commands or config.clones.setup):
        return
    if keys := unaccepted_keys(caller.workspace, caller.environ):
        path = os.path.relpath(caller.workspace.repository_config)
        words = f"{path} has command lines that you have not accepted ({', '.join(keys)})"
        click.echo(f"Note: {words}; jobs that need them are held: `sow trust`", err=True)
