"""`sow worker unit`: the file with which the system starts a worker of this checkout by itself."""

import os
from pathlib import Path

import click

from sow.cli.arguments import here
from sow.cli.output import echo_json, json_option
from sow.cli.service_files import (
    launchd_list,
    service_name,
    systemd_unit,
    variables_for_service,
)
from sow.environment import own_process
from sow.paths import Workspace


@click.command()
@click.option("--launchd", is_flag=True, help="Print a property list for macOS's launchd instead.")
@json_option
def unit(launchd: bool, as_json: bool) -> None:
    """Print a systemd user unit that starts a worker of this checkout after a reboot.

    Nothing is written or started. The first lines of the unit say what to do
    with it; --json tells the same, and where the file belongs.
    """
    workspace = here()
    record = _launchd(workspace) if launchd else _systemd(workspace)
    if as_json:
        echo_json(record)
    else:
        click.echo(record["text"], nl=False)


def _systemd(workspace: Workspace) -> dict[str, object]:
    name = service_name(workspace.root)
    path = Path("~/.config/systemd/user", f"{name}.service")
    commands = [
        "systemctl --user daemon-reload",
        f"systemctl --user enable --now {name}.service",
        'loginctl enable-linger "$USER"',
    ]
    how = [
        f"sow worker unit > {path}",
        *commands[:2],
        f"{commands[2]}   # so that it starts at boot, before you log in",
    ]
    argv, variables = own_process("sow", "worker"), variables_for_service(os.environ)
    text = systemd_unit(workspace.root, argv, variables, how)
    return _record("systemd", name, path, text, commands)


def _launchd(workspace: Workspace) -> dict[str, object]:
    name = service_name(workspace.root)
    path = Path("~/Library/LaunchAgents", f"{name}.plist")
    argv, variables = own_process("sow", "worker"), variables_for_service(os.environ)
    text = launchd_list(workspace.root, argv, variables, workspace.run / "launchd.log")
    commands = [f'launchctl bootstrap "gui/$(id -u)" {path}']
    return _record("launchd", name, path, text, commands)


def _record(
    system: str, name: str, path: Path, text: str, commands: list[str]
) -> dict[str, object]:
    return {
        "system": system,
        "name": name,
        "path": str(path),
        "text": text,
        "commands": commands,
    }
