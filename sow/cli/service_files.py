"""A worker as a service of the system: the text of a systemd unit, and of a launchd property list.

Owns both forms. What each system does with them is quoted from systemd.service(5),
systemd.kill(5) and launchd.plist(5). Writes nothing and asks nobody.
"""

import hashlib
import plistlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from sow import env_vars
from sow.errors import StateError
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
            f"no service can be made for {path!r}: it has a character that no such file can hold",
            hint="Move the workspace to a path without line breaks and control characters.",
        )


def _escaped(text: str) -> str:
    """Return text in which a percent sign begins no specifier."""
    return text.replace("%", "%%")


def _quoted(text: str) -> str:
    escaped = _escaped(text).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
