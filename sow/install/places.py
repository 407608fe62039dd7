"""Where Claude Code keeps what concerns a plugin, and where sow's own lies.

Owns these paths, and the words for the two scopes. Reads nothing.
"""

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path

from msgspec import Struct

from sow.paths import display_path, user_config_path
from sow.user_folders import home_in

MARKETPLACE = Path(__file__).parent / "marketplace"
"""The folder that Claude Code reads in place: an update of sow updates it."""
SKILL = MARKETPLACE / "sow/skills/orchestrating/SKILL.md"
MANIFEST = ".claude-plugin/marketplace.json"


class Scope(StrEnum):
    """For whom the plugin is installed; the values are the options' words."""

    USER = "user"
    """For all sessions of this user."""
    PROJECT = "project"
    """For one folder on this machine: Claude Code's local scope."""


class Target(Struct, frozen=True):
    """One settings file, with the scope that it stands for."""

    scope: Scope
    file: Path
    folder: Path
    """The project's; the user's folder of Claude Code otherwise."""

    @property
    def root(self) -> Path | None:
        """Return the repository that its file is to stay in; the user's own may lie anywhere."""
        return None if self.scope is Scope.USER else self.folder

    @property
    def words(self) -> str:
        """Return for whom it is, as it stands in a sentence."""
        return "you" if self.scope is Scope.USER else display_path(self.folder)

    @property
    def command(self) -> str:
        """Return the command that installs it."""
        return f"sow install claude --{self.scope}"


def claude_folder(environ: Mapping[str, str]) -> Path:
    """Return the folder of Claude Code's own files."""
    named = environ.get("CLAUDE_CONFIG_DIR")
    return Path(named) if named else home_in(environ) / ".claude"


def target_of(scope: Scope, folder: Path, environ: Mapping[str, str]) -> Target:
    """Return the settings file of a scope; `folder` is the project's."""
    if scope is Scope.USER:
        place = claude_folder(environ)
        return Target(scope, place / "settings.json", place)
    return Target(scope, folder / ".claude/settings.local.json", folder)


def record_file(environ: Mapping[str, str]) -> Path:
    """Return the file that says what was written where: beside the user's configuration."""
    return user_config_path(environ).with_name("installed.json")
