"""`sow doctor`."""

import os

from sow import __version__
from sow.cli import completing_names
from sow.cli import late_click as click
from sow.cli.arguments import working_folder
from sow.cli.config import workspace_here
from sow.cli.findings import counted, echo_findings, finding_record
from sow.cli.output import echo_json, json_option
from sow.clock import utc_now
from sow.doctor.examination import Surroundings, examine
from sow.errors import ExitCode
from sow.findings import Finding, Level, count


@click.command()
@click.argument(
    "executors", metavar="[EXECUTOR]...", nargs=-1, shell_complete=completing_names.executors
)
@json_option
def doctor(executors: tuple[str, ...], as_json: bool) -> int:
    """Check what agents need to run here: for each EXECUTOR, or for all.

    It changes nothing, makes no network request, and shows no value of a
    variable. It starts agent CLIs only with --version and --help.

    Exit: 0 agents can run; 1 something prevents it.
    """
    here = Surroundings(os.environ, working_folder(), workspace_here(os.environ), utc_now())
    findings: list[Finding] = []
    records: list[dict[str, object]] = []
    for section in examine(here, executors):
        findings += section.findings
        if as_json:
            title = section.title
            records += [{"section": title, **finding_record(each)} for each in section.findings]
            continue
        click.echo(section.title)
        echo_findings(section.findings)
        click.echo()
    is_well = not count(findings, Level.ERROR)
    if as_json:
        echo_json({"ok": is_well, "version": __version__, "findings": records})
    else:
        numbers = [counted(findings, level) for level in (Level.ERROR, Level.WARNING)]
        words = ", ".join(number for number in numbers if not number.startswith("0 "))
        click.echo(f"{words}." if words else "Agents can run here.")
    return int(ExitCode.OK if is_well else ExitCode.FAILED)
