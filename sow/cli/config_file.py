"""`sow config init` and `sow config reset`: the user's config file as a whole."""

import os
from pathlib import Path

import click

from sow.cli.config import roles
from sow.cli.confirming import confirm
from sow.cli.output import echo_json, json_option
from sow.config import userfile
from sow.errors import ExitCode
from sow.paths import display_path, user_config_path


@click.command()
@click.option("--force", is_flag=True, help="Overwrite an existing file without asking.")
@json_option
def init(force: bool, as_json: bool) -> int:
    """Create your config file from a template that explains every setting.

    A file that is there already is overwritten only if you say so, and is
    kept as a backup beside it.
    """
    path = user_config_path(os.environ)
    stands = userfile.exists(path)
    question = f"{display_path(path)} exists already. Overwrite it?"
    if _is_refused(path, question, "--force", is_given=force):
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
    if _is_refused(path, question, "--yes", is_given=yes):
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


def _is_refused(path: Path, question: str, option: str, *, is_given: bool) -> bool:
    """Ask before a file that is there goes, unless an option answers; tell where it stays."""
    if is_given or not userfile.exists(path) or confirm(question, option=option):
        return False
    click.echo("Nothing was changed.", err=True)
    return True
