"""`sow config edit`, and the editor that opens a file."""

import os
import shlex
import shutil
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path

import click

from sow.cli import config_validate
from sow.cli.config_places import roles
from sow.cli.confirming import is_somebody_there
from sow.cli.output import echo_json, json_option
from sow.config import userfile
from sow.environment import caller_environment
from sow.errors import ConfigurationError, ExitCode, SowError, UsageError
from sow.findings import Finding
from sow.paths import display_path, user_config_path
from sow.surrounding_programs import users_environment

USUAL = ("editor", "vi", "nano")
"""What is tried where no variable names one."""


class NoEditor(ConfigurationError):
    """No editor is named that could be run."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason, hint="Set EDITOR to a program, with arguments if need be: vim -n")


def find_editor(environ: Mapping[str, str]) -> list[str]:
    """Return the editor's argv: VISUAL, else EDITOR, split as a shell does; else a usual one.

    Raises NoEditor.
    """
    variable = next((name for name in ("VISUAL", "EDITOR") if environ.get(name, "").strip()), "")
    if not variable:
        found = next((name for name in USUAL if shutil.which(name)), None)
        if found is None:
            raise NoEditor("no editor is set, and none of the usual ones is installed")
        return [found]
    try:
        argv = shlex.split(environ[variable])
    except ValueError as error:
        raise NoEditor(f"{variable} cannot be read ({error}): {environ[variable]}") from None
    if shutil.which(argv[0]) is None:
        raise NoEditor(f"{variable} names a program that is not there: {argv[0]}")
    return argv


def run_editor(argv: list[str], path: Path, environ: Mapping[str, str]) -> None:
    """Open `path` and return when the editor has ended. Raises SowError.

    An interrupt from the keyboard is for the editor, which shares our terminal.
    """
    command = [*argv, str(path)]
    previous = signal.signal(signal.SIGINT, _left_to_the_editor)
    try:
        done = subprocess.run(
            command, env=caller_environment(users_environment(environ)), check=False
        )
    except OSError as error:
        raise NoEditor(f"{argv[0]} cannot be run: {error.strerror}") from None
    finally:
        signal.signal(signal.SIGINT, previous)
    if done.returncode:
        how = (
            f"was killed by signal {-done.returncode}"
            if done.returncode < 0
            else f"ended with exit code {done.returncode}"
        )
        raise SowError(f"the editor {how}: {shlex.join(command)}", hint="Run the same again.")


def _left_to_the_editor(_signum: int, _frame: object) -> None:
    """Do nothing; to ignore the signal instead would be inherited by the editor."""


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
