"""`sow worker unit`: the file with which the system starts a worker of this checkout by itself."""

import hashlib
import os
import plistlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from sow import env_vars
from sow.cli import late_click as click
from sow.cli.arguments import here
from sow.cli.output import echo_json, json_option
from sow.environment import own_process
from sow.errors import StateError
from sow.paths import Workspace
from sow.surrounding_programs import users_environment

KEPT = ("PATH", env_vars.CONFIG, "XDG_CONFIG_HOME", "XDG_STATE_HOME")
"""The variables that a worker and its agents need and that no service inherits."""

UNIT = """\
# {how}
[Unit]
Description=sow worker of {description}

[Service]
WorkingDirectory={folder}
{environment}
ExecStart={command}
# Its agents outlive it: the next worker adopts them.
KillMode=process
Delegate=yes
Restart=on-failure
RestartSec=30

[Install]
WantedBy=default.target
"""


def service_name(root: Path) -> str:
    """Return the name of the service of a workspace: no two workspaces share one."""
    plain = re.sub(r"[^a-z0-9]+", "-", root.name.lower()).strip("-")[:40] or "workspace"
    digest = hashlib.sha256(str(root).encode("utf-8", "surrogateescape")).hexdigest()
    return f"sow-{plain}-{digest[:8]}"


def variables_for_service(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that the service is to have."""
    given = users_environment(environ)
    return {name: given[name] for name in KEPT if given.get(name)}


def systemd_unit(
    root: Path, argv: Sequence[str], variables: Mapping[str, str], how: Sequence[str]
) -> str:
    """Return a systemd user unit; `how` says in its first lines what to do with it.

    Raises StateError.
    """
    for text in (str(root), *argv, *variables.values()):
        _refuse_unfit(text)
    settings = (f"{name}={value}" for name, value in variables.items())
    return UNIT.format(
        how="\n# ".join(how),
        description=_escaped(str(root)),
        folder=_escaped(str(root)),
        environment="\n".join(f"Environment={_quoted(text)}" for text in settings),
        command=" ".join(_quoted(word).replace("$", "$$") for word in argv),
    )


def launchd_list(root: Path, argv: Sequence[str], variables: Mapping[str, str], log: Path) -> str:
    """Return a launchd property list. Raises StateError."""
    for text in (str(root), *argv, *variables.values()):
        _refuse_unfit(text)
    content = {
        "Label": service_name(root),
        "ProgramArguments": list(argv),
        "WorkingDirectory": str(root),
        "EnvironmentVariables": dict(variables),
        "RunAtLoad": True,
        "KeepAlive": {"SuccessfulExit": False},
        "ThrottleInterval": 30,
        "AbandonProcessGroup": True,  # its agents outlive it: the next worker adopts them
        "StandardOutPath": str(log),
        "StandardErrorPath": str(log),
    }
    return plistlib.dumps(content, sort_keys=False).decode()


def _refuse_unfit(text: str) -> None:
    if any(ord(char) < 32 or 0xD800 <= ord(char) <= 0xDFFF or ord(char) == 127 for char in text):
        path = text
        raise StateError(
            f"no service can be made for {path!r}: it has a character that is not allowed there",
            hint="Move the workspace to a path without line breaks and control characters.",
        )


def _escaped(text: str) -> str:
    """Return text in which a percent sign begins no specifier."""
    return text.replace("%", "%%")


def _quoted(text: str) -> str:
    escaped = _escaped(text).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


@click.command()
@click.option("--launchd", is_flag=True, help="Print a property list for macOS's launchd instead.")
@json_option
def unit(launchd: bool, as_json: bool) -> None:
    """Print a systemd user unit that starts a worker of this checkout after a reboot.

    It writes and starts nothing. The first lines of the unit say how to use it;
    --json prints the same, and the file's path.
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
