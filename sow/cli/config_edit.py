"""`sow config validate` and `sow config edit`, and the editor that opens a file."""

import os
import shlex
import shutil
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path

from sow.cli import late_click as click
from sow.cli.config import repository_settings, roles
from sow.cli.confirming import is_somebody_there
from sow.cli.findings import counted, echo_findings, finding_record
from sow.cli.output import echo_json, json_option
from sow.config import userfile
from sow.config.validation import validate as check_files
from sow.doctor.executors import missing_programs
from sow.environment import caller_environment
from sow.errors import ConfigurationError, ExitCode, SowError, UsageError
from sow.findings import Finding, Level, count
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
        raise NoEditor(f"{variable} names a program that does not exist: {argv[0]}")
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
        raise SowError(
            f"the editor {how}: {shlex.join(command)}", hint="Run the same command again."
        )


def _left_to_the_editor(_signum: int, _frame: object) -> None:
    """Do nothing; to ignore the signal instead would be inherited by the editor."""


@click.command()
@json_option
def validate(as_json: bool) -> int:
    """Check your config file: syntax, keys and types, bindings, programs.

    Exit: 0 valid, with or without warnings; 3 not valid.
    """
    findings = _check(os.environ)
    if as_json:
        echo_json(_record(findings))
    else:
        _show(findings)
    return _exit_code(findings)


def _check(environ: Mapping[str, str]) -> list[Finding]:
    """Return all that can be said of the configuration here."""
    findings, found = check_files(
        path=user_config_path(environ),
        repository_path=repository_settings(environ),
        environ=environ,
        roles=list(roles()),
    )
    missing = missing_programs(found, environ) if found is not None else ()
    return [*findings, *missing]


def _is_valid(findings: list[Finding]) -> bool:
    """Whether the configuration can be used."""
    return not count(findings, Level.ERROR)


def _record(findings: list[Finding]) -> dict[str, object]:
    """Return the findings for `--json`."""
    return {
        "path": str(user_config_path(os.environ)),
        "exists": user_config_path(os.environ).is_file(),
        "valid": _is_valid(findings),
        "findings": [finding_record(finding) for finding in findings],
    }


def _show(findings: list[Finding]) -> None:
    """Print the findings for people."""
    click.echo(f"Validating configuration at {user_config_path(os.environ)}...\n")
    echo_findings(findings)
    how = "is valid"
    if not _is_valid(findings):
        how = f"is not valid: {counted(findings, Level.ERROR)}"
    elif count(findings, Level.WARNING):
        how = f"is valid with {counted(findings, Level.WARNING)}"
    click.echo(f"\nConfiguration {how}.")


@click.command()
@json_option
def edit(as_json: bool) -> int:
    """Open your config file in $VISUAL or $EDITOR, and check it afterwards.

    If there is none, sow creates it from the template. If it is not valid, you
    can edit it again, but not with --json.

    Exit: 0 valid; 3 not valid, and left as it is.
    """
    if not is_somebody_there():
        raise UsageError(
            "editing the config file needs a terminal, but standard input is not one",
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
        findings = _check(os.environ)
        if not as_json:
            _show(findings)
        if _is_valid(findings) or as_json or not _again():
            break
    if as_json:
        echo_json({**_record(findings), "created": created})
    return _exit_code(findings)


def _again() -> bool:
    return is_somebody_there() and click.confirm("Edit it again?", default=True, err=True)


def _exit_code(findings: list[Finding]) -> int:
    return int(ExitCode.OK if _is_valid(findings) else ExitCode.CONFIGURATION)
