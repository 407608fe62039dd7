"""`sow config`: which CLI plays which role, and where its commands look for the settings.

They work anywhere, with or without a repository.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from sow.agents.roles import AGENTS
from sow.cli import late_click as click
from sow.cli.arguments import working_folder
from sow.cli.lazy import LazyGroup
from sow.errors import StateError
from sow.paths import Workspace, display_path, find_workspace, user_config_path

if TYPE_CHECKING:
    from sow.config.configuration import Configuration


class ConfigGroup(LazyGroup):
    """A group whose help ends with the platform's own path, never broken over lines."""

    def format_epilog(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write where the file lies."""
        path = display_path(user_config_path(os.environ))
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write(f"{' ' * formatter.current_indent}Your config file: {path}\n")


@click.group(cls=ConfigGroup, words="config")
def config() -> None:
    """Choose which CLI plays which role.

    A variable (SOW_AGENTS_IMPLEMENTER=cursor) overrides your config file, and
    that overrides the defaults: Claude Code plays every role.
    """


def workspace_here(environ: Mapping[str, str]) -> Workspace | None:
    """Return the workspace that we are in, if we are in one."""
    try:
        return find_workspace(Path.cwd(), environ)
    except (StateError, FileNotFoundError):
        return None


def root_or_folder(environ: Mapping[str, str]) -> Path:
    """Return the root of the workspace that we are in, else the working folder."""
    workspace = workspace_here(environ)
    return workspace.root if workspace is not None else working_folder()


def repository_settings(environ: Mapping[str, str]) -> Path | None:
    """Return the settings file of the repository that we are in, if we are in one."""
    workspace = workspace_here(environ)
    return workspace.repository_config if workspace is not None else None


def configuration_here(environ: Mapping[str, str]) -> "Configuration":
    """Return the configuration in effect here. Raises ConfigurationError."""
    from sow.config.load import load_configuration  # most of these commands look at the file alone

    return load_configuration(
        path=user_config_path(environ),
        repository_path=repository_settings(environ),
        environ=environ,
        roles=[agent.name for agent in AGENTS],
    )


def roles() -> dict[str, str]:
    """Return every role and what it does."""
    return {agent.name: agent.description for agent in AGENTS}
