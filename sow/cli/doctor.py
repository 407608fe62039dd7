"""`sow doctor`."""

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from sow import __version__
from sow.cli import completing
from sow.cli.arguments import working_folder
from sow.cli.config import workspace_here
from sow.cli.findings import counted, echo_findings, finding_record
from sow.cli.output import echo_json, json_option
from sow.clock import utc_now
from sow.doctor.examination import Surroundings, examine
from sow.errors import ExitCode
from sow.findings import Finding, Level, count

if TYPE_CHECKING:
    from sow.doctor.examination import Section


@click.command()
@click.argument("executors", metavar="[EXECUTOR]...", nargs=-1, shell_complete=completing.executors)
@json_option
def doctor(executors: tuple[str, ...], as_json: bool) -> int:
    """Check what agents need to run here: of each EXECUTOR, or of everything.

    Nothing is changed, no request is made, and no value of a variable is
    shown. Programs are started for --version and --help only.

    Exit: 0 agents can run; 1 something is in their way.
    """
    here = Surroundings(os.environ, working_folder(), workspace_here(os.environ), utc_now())
    sections = examine(here, executors)
    findings = _echo_records(sections) if as_json else _echo_sections(sections)
    return int(ExitCode.FAILED if count(findings, Level.ERROR) else ExitCode.OK)


def _echo_records(sections: "Iterable[Section]") -> list[Finding]:
    records: list[dict[str, object]] = []
    findings: list[Finding] = []
    for section in sections:
        findings += section.findings
        records += [
            {"section": section.title, **finding_record(finding)} for finding in section.findings
        ]
    well = not count(findings, Level.ERROR)
    echo_json({"ok": well, "version": __version__, "findings": records})
    return findings


def _echo_sections(sections: "Iterable[Section]") -> list[Finding]:
    findings: list[Finding] = []
    for section in sections:
        click.echo(section.title)
        echo_findings(section.findings)
        click.echo()
        findings += section.findings
    numbers = [counted(findings, level) for level in (Level.ERROR, Level.WARNING)]
    words = [number for number in numbers if not number.startswith("0 ")]
    click.echo(f"{', '.join(words)}." if words else "Agents can run here.")
    return findings
