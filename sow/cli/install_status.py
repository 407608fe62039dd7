"""`sow install status`."""

import os

import click

from sow import __version__
from sow.cli.arguments import working_folder
from sow.cli.config_places import workspace_here
from sow.cli.findings import echo_findings, finding_record
from sow.cli.output import echo_json, json_option
from sow.findings import Level, count
from sow.install.installed_findings import examine_installed


@click.command()
@json_option
def status(as_json: bool) -> int:
    """Show what `sow install` has installed, where, and whether it is of this version.

    Exit: 0 all that is installed is current; 1 something is amiss.
    """
    workspace = workspace_here(os.environ)
    folder = workspace.root if workspace is not None else working_folder()
    findings = list(examine_installed(folder, os.environ))
    amiss = count(findings, Level.WARNING)
    if as_json:
        records = [finding_record(finding) for finding in findings]
        echo_json({"ok": not amiss, "version": __version__, "findings": records})
    else:
        echo_findings(findings)
    return int(bool(amiss))
