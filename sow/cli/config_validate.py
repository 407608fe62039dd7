"""`sow config validate`."""

import os
from collections.abc import Mapping

import click

from sow.cli.config_places import repository_settings, roles
from sow.cli.findings import counted, echo_findings, finding_record
from sow.cli.output import echo_json, json_option
from sow.config.validation import validate as check_files
from sow.doctor.executors import missing_programs
from sow.errors import ExitCode
from sow.findings import Finding, Level, count
from sow.paths import user_config_path


@click.command()
@json_option
def validate(as_json: bool) -> int:
    """Check your config file: syntax, keys and types, bindings, programs.

    Exit: 0 valid, with or without warnings; 3 not valid.
    """
    findings = check(os.environ)
    if as_json:
        echo_json(record(findings))
    else:
        show(findings)
    return int(ExitCode.OK if is_valid(findings) else ExitCode.CONFIGURATION)


def check(environ: Mapping[str, str]) -> list[Finding]:
    """Return all that can be said of the configuration here."""
    validation = check_files(
        path=user_config_path(environ),
        repository_path=repository_settings(environ),
        environ=environ,
        roles=list(roles()),
    )
    found = validation.configuration
    missing = missing_programs(found, environ) if found is not None else ()
    return [*validation.findings, *missing]


def is_valid(findings: list[Finding]) -> bool:
    """Whether the configuration can be used."""
    return not count(findings, Level.ERROR)


def record(findings: list[Finding]) -> dict[str, object]:
    """Return the findings for `--json`."""
    return {
        "path": str(user_config_path(os.environ)),
        "exists": user_config_path(os.environ).is_file(),
        "valid": is_valid(findings),
        "findings": [finding_record(finding) for finding in findings],
    }


def show(findings: list[Finding]) -> None:
    """Print the findings for people."""
    click.echo(f"Validating configuration at {user_config_path(os.environ)}...\n")
    echo_findings(findings)
    warnings = counted(findings, Level.WARNING)
    if not is_valid(findings):
        click.echo(f"\nConfiguration is not valid: {counted(findings, Level.ERROR)}.")
    elif count(findings, Level.WARNING):
        click.echo(f"\nConfiguration is valid with {warnings}.")
    else:
        click.echo("\nConfiguration is valid.")
