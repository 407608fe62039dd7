"""Who calls, from where: the surroundings of one `sow` command that touches the queue.

Owns the reading of `SOW_JOB_ID` and its kin: whether this caller is itself an
agent of a running job. Reads the environment it is given, never the process's.
"""

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec import Struct

from sow import env_vars
from sow.agents.roles import AGENTS
from sow.clock import utc_now
from sow.config.configuration import Configuration
from sow.config.load import load_named
from sow.ids import JobId
from sow.jobs.waiters import escrow_in
from sow.paths import Workspace, user_config_path
from sow.state.kept.lost import find_or_bring_back
from sow.surrounding_programs import users_path


class Caller(Struct, frozen=True):
    """The surroundings of a call."""

    workspace: Workspace
    environ: Mapping[str, str]
    cwd: Path
    clock: Callable[[], float] = utc_now

    def now(self) -> float:
        """Return the time, in seconds since the epoch."""
        return self.clock()

    @property
    def job_id(self) -> JobId | None:
        """The running job whose agent this caller is, if it is one of this workspace."""
        text = self.environ.get(env_vars.JOB_ID, "")
        same_root = self.environ.get(env_vars.ROOT) == str(self.workspace.root)
        return JobId(int(text)) if text.isdecimal() and same_root else None

    @property
    def escrow(self) -> str | None:
        """Where the outcomes go that this call prints, if a server runs it."""
        return escrow_in(self.environ)

    @property
    def path_variable(self) -> str:
        """The caller's PATH, on which its agents' programs are found.

        Without the folders that git or npm has put before the user's own for its child. One
        whose name is no text cannot stand in a record, and is left out.
        """
        path = users_path(self.environ)
        folders = os.defpath if path is None else path
        return os.pathsep.join(filter(_is_text, folders.split(os.pathsep)))

    def load_configuration(self) -> Configuration:
        """Return the configuration in effect here. Raises ConfigurationError."""
        return load_named(
            path=user_config_path(self.environ),
            repository_path=self.workspace.repository_config,
            environ=self.environ,
            roles=[agent.name for agent in AGENTS],
        )


def _is_text(name: str) -> bool:
    return name.isprintable() or not any("\ud800" <= letter <= "\udfff" for letter in name)


def find_caller(environ: Mapping[str, str], cwd: Path) -> Caller:
    """Return the surroundings of a call made in `cwd`. Raises StateError without a workspace."""
    return Caller(find_or_bring_back(cwd, environ), environ, cwd)
