"""`sow config reset`."""

import os

import click

from sow.cli.confirming import confirm
from sow.cli.output import echo_json, json_option
from sow.config import userfile
from sow.errors import ExitCode
from sow.paths import display_path, user_config_path


@click.command()
@click.option("--yes", is_flag=True, help="Do it without asking.")
@json_option
def reset(yes: bool, as_json: bool) -> int:
    """Remove your config file and go back to the defaults.

    The file is kept beside it as config.yaml.backup, or under the next name
    that is free: no older backup is overwritten.
    """
    path = user_config_path(os.environ)
    stands = userfile.exists(path)
    question = f"Remove {display_path(path)} and go back to the defaults?"
    if stands and not yes and not confirm(question, option="--yes"):
        click.echo("Nothing was changed.", err=True)
        return int(ExitCode.FAILED)
    backup = userfile.reset(path) if stands else None
    if as_json:
        echo_json({"path": str(path), "removed": stands, "backup": backup})
    elif stands:
        click.echo(f"Removed {display_path(path)}: the defaults are in effect.")
        if backup is not None:
            click.echo(f"What was there is in {display_path(backup)}")
    else:
        click.echo(f"There is no {display_path(path)}: the defaults are in effect.")
    return 0
