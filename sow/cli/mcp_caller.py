"""Whose server `sow mcp` is where its client has not handed on the variables that say so.

Clients start their servers with few variables or all; that one leaves out sow's must not make a
person's server of an agent's. So the processes above are asked: the nearest one with an agent's
variables is of the agent's own CLI. Where they may not be read, the client's word stands.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from sow import env_vars
from sow.agents.rights import calling_agent
from sow.errors import StateError
from sow.paths import find_workspace
from sow.processes import process_facts


def environment_of_caller(environ: Mapping[str, str], folder: Path) -> Mapping[str, str]:
    """Return the server's environment, with the variables of the agent below which it runs.

    In a repository that is not that agent's, it is as it was: an agent may try there what it
    has built, as on the command line.
    """
    if calling_agent(environ) is not None:
        return environ
    for pid in process_facts.ancestors(os.getpid()):
        above = process_facts.variables(pid) or {}
        if env_vars.ATTEMPT_ID in above and calling_agent(above) is not None:
            own = {name: above[name] for name in env_vars.OF_AGENTS if name in above}
            elsewhere = _is_elsewhere(Path(own[env_vars.ROOT]), environ, folder)
            return environ if elsewhere else {**environ, **own}
    return environ


def _is_elsewhere(root: Path, environ: Mapping[str, str], folder: Path) -> bool:
    """Whether the server works in a repository that is another one than the agent's."""
    try:
        return find_workspace(folder, environ).root.resolve() != root.resolve()
    except StateError:
        return False
