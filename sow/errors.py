"""The errors a user can cause or meet, each with its exit code and its remedy.

Owns the exit codes and the base of every expected failure. Knows nothing of
how an error is shown: `cli` renders `message`, a blank line, then `hint`.
Anything raised that is not a `SowError` is a bug in sow.
"""

from enum import IntEnum


class ExitCode(IntEnum):
    """Exit codes of every `sow` command."""

    OK = 0
    FAILED = 1
    USAGE = 2
    CONFIGURATION = 3
    STATE = 4
    EXECUTOR = 5
    QUEUE = 6
    CANCELLED = 7
    STILL_RUNNING = 75
    INTERRUPTED = 130


class SowError(Exception):
    """An expected failure: what happened, what to do next, and the exit code."""

    exit_code: ExitCode = ExitCode.FAILED
    passes: bool = False
    """Whether it tells of something that ends by itself soon, like a lock that another holds."""

    def __init__(self, message: str, *, hint: str = "", passes: bool = False) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        if passes:
            self.passes = True


class UsageError(SowError):
    """The command line itself is wrong, or names an agent that does not exist."""

    exit_code = ExitCode.USAGE


class ConfigurationError(SowError):
    """The user's or the repository's configuration cannot be used as it stands."""

    exit_code = ExitCode.CONFIGURATION


class StateError(SowError):
    """Project or task state: none found, invalid, locked, or a refused change."""

    exit_code = ExitCode.STATE


class ExecutorError(SowError):
    """An executor is unknown, not installed, cannot resume, or has lost its session."""

    exit_code = ExitCode.EXECUTOR


class QueueError(SowError):
    """The queue is unavailable, is not a database, or nobody works on it.

    `repair`: the shell command that makes it usable again, where one does.
    """

    exit_code = ExitCode.QUEUE

    def __init__(self, message: str, *, hint: str = "", repair: str = "") -> None:
        super().__init__(message, hint=hint)
        self.repair = repair
