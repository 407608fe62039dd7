"""The two argv of a process that may ask some hosts alone: its own, and that of its proxy.

Owns what both see. The hosts themselves are the proxy's filter (`proxy_settings`). Imported for few
agents and checks.
"""

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from sow.paths import Workspace
from sow.sandbox import door
from sow.sandbox.fenced import fenced_argv
from sow.sandbox.machine import Wanted
from sow.sandbox.proxy_probe import usable_proxy
from sow.sandbox.proxy_settings import OPTIONS, PORT
from sow.sandbox.visible_folders import repository_around


def through_door(argv: Sequence[str]) -> tuple[str, ...]:
    """Return the argv of what opens the way to the proxy and becomes `argv`."""
    return (sys.executable, "-I", "-S", os.path.abspath(door.__file__), str(PORT), *argv)  # noqa: PTH100


def proxy_argv(
    whose: str, workspace: Workspace, folder: Path, environ: Mapping[str, str]
) -> tuple[str, ...]:
    """Return the argv of a proxy, in a sandbox of its own.

    `whose` names what asks for it, `folder` is the proxy's own, in the attempt's, `environ` the
    user's. Raises SandboxUnavailable.
    """
    program = usable_proxy(whose)
    wanted = Wanted(
        folder=str(folder),
        cwd=str(folder),
        hidden=(str(repository_around(workspace.root)), str(workspace.root), str(workspace.run)),
        programs=(program,),
    )
    return fenced_argv(whose, wanted, (program, *OPTIONS), environ)
