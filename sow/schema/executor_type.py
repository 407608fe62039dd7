"""The kinds of agent CLI. Apart from the configuration: each job on record names one."""

from enum import StrEnum


class ExecutorType(StrEnum):
    """The kinds of agent CLI that sow drives."""

    CLAUDE = "claude"
    CURSOR = "cursor"
    WINDSURF = "windsurf"
    COMMAND = "command"
