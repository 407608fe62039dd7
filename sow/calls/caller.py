"""Who calls, from where: the surroundings of one `sow` command that touches the queue.

Owns the reading of `SOW_JOB_ID` and its kin: whether this caller is itself an
agent of a running job. Reads the environment it is given, never the process's.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from sow import own_variables
from sow.agents.roles import AGENTS
from sow.clock import utc_now
from sow.config.configuration import Configuration
from sow.config.load import load_named
from sow.ids import JobId
from sow.paths import Workspace, user_config_path
from sow.state.kept.lost import find_or_bring_back


@dataclass(frozen=True)
class Caller:
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
        text = self.environ.get(own_variables.JOB_ID, "")
        same_root = self.environ.get(own_variables.ROOT) == str(self.workspace.root)
        return JobId(int(text)) if text.isdecimal() and same_root else None

    @property
    def path_variable(self) -> str:
        """The caller's PATH, on which its agents' programs are found."""
        return self.environ.get("PATH", os.defpath)

    def load_configuration(self) -> Configuration:
        """Return the configuration in effect here. Raises ConfigurationError."""
        return load_named(
            path=user_config_path(self.environ),
            repository_path=self.workspace.repository_config,
            environ=self.environ,
            roles=[agent.name for agent in AGENTS],
        )


def find_caller(environ: Mapping[str, str], cwd: Path) -> Caller:
    """Return the surroundings of a call made in `cwd`. Raises StateError without a workspace."""
    return Caller(find_or_bring_back(cwd, environ), environ, cwd)
