"""`sow config edit`."""

import os

import click

from sow.cli import config_validate
from sow.cli.config_places import roles
from sow.cli.confirming import is_somebody_there
from sow.cli.editor import find_editor, run_editor
from sow.cli.output import echo_json, json_option
from sow.config import userfile
from sow.errors import ExitCode, UsageError
from sow.findings import Finding
from sow.paths import display_path, user_config_path


@click.command()
@json_option
def edit(as_json: bool) -> int:
    """Open your config file in $VISUAL or $EDITOR, and check it afterwards.

    It is made from the template if there is none. Where it is not valid you
    may edit it again, unless a program reads along (--json).

    Exit: 0 valid; 3 not valid, and left as it is.
    """
    if not is_somebody_there():
        raise UsageError(
            "editing the config file needs a terminal, and standard input is none",
            hint=f"Write {display_path(user_config_path(os.environ))} yourself, then `sow config"
            " validate`; `sow config"
            " init` makes it from the template.",
        )
    path, argv = user_config_path(os.environ), find_editor(os.environ)
    created = not userfile.exists(path)
    if created:
        userfile.create(path, roles())
    while True:
        run_editor(argv, path, os.environ)
        findings = config_validate.check(os.environ)
        if not as_json:
            config_validate.show(findings)
        if config_validate.is_valid(findings) or as_json or not _again():
            break
    if as_json:
        echo_json({**config_validate.record(findings), "created": created})
    return _exit_code(findings)


def _again() -> bool:
    return is_somebody_there() and click.confirm("Edit it again?", default=True, err=True)


def _exit_code(findings: list[Finding]) -> int:
    valid = config_validate.is_valid(findings)
    return int(ExitCode.OK if valid else ExitCode.CONFIGURATION)
