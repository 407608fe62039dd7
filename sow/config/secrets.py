"""The secrets of an executor's agents: `agents.executors.<name>.env_files` and `.env_commands`.

Owns which file may hold one, and that a value is read when an agent starts, into memory alone. A
command line is only handed on: the supervisor of the attempt runs it, or the person's own session.
"""

import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from sow.blanking import MOST_BYTES, fault_of
from sow.config.source import Source, read_source
from sow.files import NotAFile, open_regular
from sow.paths import display_path
from sow.schema.config import ExecutorSection, UserConfigFile

FILES, COMMANDS = "env_files", "env_commands"
SECRET_KEYS = (FILES, COMMANDS)
FOR_OTHERS = stat.S_IRWXG | stat.S_IRWXO


class Secrets(msgspec.Struct, frozen=True):
    """What is known of the secrets before an agent starts. No record ever holds it."""

    values: Mapping[str, str] = {}
    """Those that were read from files, by variable."""
    commands: Mapping[str, str] = {}
    """The command lines that print the others, by variable."""

    @property
    def names(self) -> tuple[str, ...]:
        """The variables."""
        return (*self.values, *self.commands)

    def __repr__(self) -> str:
        """Show names only."""
        return f"Secrets({', '.join(self.names)})"


def is_whole_path(path: str) -> bool:
    """Whether a path names the same file wherever it is read."""
    return path.startswith(("/", "~/"))


def read_secrets(path: Path, executor_name: str) -> Secrets:
    """Return the secrets that the user's file names for an executor; files are read now.

    Raises InvalidConfiguration, which never quotes a value.
    """
    source = read_source(path, UserConfigFile)
    executors = (source.content.agents and source.content.agents.executors) or {}
    section = executors.get(executor_name) or ExecutorSection()
    files: Mapping[str, str] = _mapping(section.env_files)
    return Secrets(
        {name: _value_in(source, executor_name, name, file) for name, file in files.items()},
        _mapping(section.env_commands),
    )


def _mapping(written: Any) -> Mapping[str, str]:
    return written if isinstance(written, dict) else {}


def _value_in(source: Source[UserConfigFile], executor: str, name: str, written: str) -> str:
    file = Path(os.path.expanduser(written))  # noqa: PTH111 - no exception without a home
    try:
        data, fault = _read(file)
    except FileNotFoundError:
        remedy = "Write the secret into it, then run `chmod 600 {file}`."
        data, fault = b"", ("there is no such file", remedy)
    except (OSError, NotAFile) as error:
        reason = getattr(error, "reason", "") or getattr(error, "strerror", "") or str(error)
        data, fault = b"", (f"cannot be read: {reason}", "Name a file that you can read.")
    value = data.removesuffix(b"\n")
    if not fault and (reason := fault_of(value)):
        remedy = "Write the secret alone into the file. Put a value that is no secret into env."
        fault = (f"cannot be used: {reason}", remedy)
    if fault:
        reason, remedy = fault
        place = ("agents", "executors", executor, FILES, name)
        shown = display_path(file)
        raise source.fault(*place, reason=f"{shown}: {reason}", remedy=remedy.format(file=shown))
    return os.fsdecode(value)


def _read(file: Path) -> tuple[bytes, tuple[str, str] | None]:
    """Return what a file holds, or why it may not be used and what to do. Raises as `open`."""
    descriptor = open_regular(file)
    try:
        facts = os.fstat(descriptor)
        if facts.st_uid != os.geteuid():
            remedy = "Copy it into a file of your own that nobody else can read (`chmod 600`)."
            return b"", ("it belongs to another user", remedy)
        if facts.st_mode & FOR_OTHERS:
            return b"", ("other users can read or change it", "Run `chmod 600 {file}`.")
        return os.read(descriptor, MOST_BYTES + 2), None
    finally:
        os.close(descriptor)
