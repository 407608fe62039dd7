"""Which class drives which type of executor, and the executors of one configuration.

Owns the table: a new executor is one file and one line here. Reads no file.
"""

from pathlib import Path

from sow.config.config_errors import UnknownExecutor
from sow.executors.base import Executor
from sow.executors.claude import ClaudeExecutor
from sow.executors.command import CommandExecutor
from sow.executors.cursor import CursorExecutor
from sow.executors.windsurf import WindsurfExecutor
from sow.schema.config import ExecutorType
from sow.schema.executor import ExecutorConfig

EXECUTORS: dict[
    ExecutorType,
    type[ClaudeExecutor] | type[CursorExecutor] | type[WindsurfExecutor] | type[CommandExecutor],
] = {
    ExecutorType.CLAUDE: ClaudeExecutor,
    ExecutorType.CURSOR: CursorExecutor,
    ExecutorType.WINDSURF: WindsurfExecutor,
    ExecutorType.COMMAND: CommandExecutor,
}


def make_executor(config: ExecutorConfig) -> Executor:
    """Return the executor that `config` describes."""
    return EXECUTORS[config.type](config)


class ExecutorRegistry:
    """Executors by the name they have in the user's configuration."""

    def __init__(self, config_path: Path) -> None:
        self._config_path = config_path
        self._executors: dict[str, Executor] = {}

    def register(self, name: str, executor: Executor) -> None:
        """Add an executor, or replace the one of that name."""
        self._executors[name] = executor

    def get(self, name: str) -> Executor:
        """Return the executor called `name`. Raises UnknownExecutor."""
        if name not in self._executors:
            raise UnknownExecutor(name, available=self.list(), path=self._config_path)
        return self._executors[name]

    def list(self) -> list[str]:
        """Return the names, sorted."""
        return sorted(self._executors)
