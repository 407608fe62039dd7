"""The command lines in a repository's settings that sow would run.

Owns which settings are such command lines, and the text by which they are
accepted. A setting that is added to `.sow/config.yaml` and holds a command line
is added here. Reads nothing.
"""

import json
from typing import NamedTuple

from sow.schema.config import CheckSection, RepositoryConfigFile


class CommandLine(NamedTuple):
    """One command line, and where it stands."""

    key: str
    run: str


def command_lines(content: RepositoryConfigFile) -> tuple[CommandLine, ...]:
    """Return the command lines of a repository's settings, in the order of their keys."""
    found = []
    clones = content.clones
    if clones is not None and isinstance(clones.setup, str):
        found.append(CommandLine("clones.setup", clones.setup))
    for name, value in (content.checks or {}).items():
        run = value.run if isinstance(value, CheckSection) else value
        if isinstance(run, str):
            found.append(CommandLine(f"checks.{name}", run))
    return tuple(sorted(found))


def text_of(lines: tuple[CommandLine, ...]) -> str:
    """Return the one text that stands for these command lines; empty where there are none."""
    if not lines:
        return ""
    return json.dumps([list(line) for line in lines], ensure_ascii=False, separators=(",", ":"))
