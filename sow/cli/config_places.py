"""What the commands that work anywhere take from their surroundings.

Owns the search for a repository's settings where there may be no repository,
and the roles in the form that the configuration wants.
"""

from collections.abc import Mapping
from pathlib import Path

from sow.agents.roles import AGENTS
from sow.errors import StateError
from sow.paths import Workspace, find_workspace


def workspace_here(environ: Mapping[str, str]) -> Workspace | None:
    """Return the workspace that we are in, if we are in one."""
    try:
        return find_workspace(Path.cwd(), environ)
    except (StateError, FileNotFoundError):
        return None


def repository_settings(environ: Mapping[str, str]) -> Path | None:
    """Return the settings file of the repository that we are in, if we are in one."""
    workspace = workspace_here(environ)
    return workspace.repository_config if workspace is not None else None


def roles() -> dict[str, str]:
    """Return every role and what it does."""
    return {agent.name: agent.description for agent in AGENTS}
