"""`sow config init`."""

import os

import click

from sow.cli.config_places import roles
from sow.cli.confirming import confirm
from sow.cli.output import echo_json, json_option
from sow.config import userfile
from sow.errors import ExitCode
from sow.paths import display_path, user_config_path


@click.command()
@click.option("--force", is_flag=True, help="Overwrite a file that is there, without asking.")
@json_option
def init(force: bool, as_json: bool) -> int:
    """Make your config file from a template with every setting, explained.

    A file that is there already is overwritten only if you say so, and is
    kept as a backup beside it.
    """
    path = user_config_path(os.environ)
    stands = userfile.exists(path)
    question = f"{display_path(path)} exists already. Overwrite it?"
    if stands and not force and not confirm(question, option="--force"):
        click.echo("Nothing was changed.", err=True)
        return int(ExitCode.FAILED)
    backup = userfile.back_up(path) if path.exists() else None
    userfile.create(path, roles())
    if as_json:
        echo_json({"path": str(path), "overwritten": stands, "backup": backup})
        return 0
    click.echo(f"Made {display_path(path)}")
    if backup is not None:
        click.echo(f"What was there is in {display_path(backup)}")
    click.echo("Next: sow config edit")
    return 0
