"""`notify` in the user's configuration: which command is run for which event.

Owns what may stand there. A repository has no such setting: what is run on a
person's machine without a question is that person's own choice.
"""

import msgspec
from msgspec import UNSET

from sow.config.origin import FILE, Key, Origin
from sow.config.source import Source
from sow.config.units import parse_duration
from sow.schema.config import NotifyEntry, NotifySection, UserConfigFile
from sow.schema.notification import NotifyEvent

SECTION = "notify"
DEFAULT_TIMEOUT_SECONDS = 30.0
"""How long a command may take that says nothing about it."""


class NotifyCommand(msgspec.Struct, frozen=True, kw_only=True):
    """A command for one event."""

    run: str
    """A command line for `/bin/sh -c`."""
    timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS


def notify_commands(source: Source[UserConfigFile]) -> dict[NotifyEvent, NotifyCommand]:
    """Return the commands that a file names, by event. Raises InvalidConfiguration."""
    section = source.content.notify or NotifySection()
    commands = {}
    for event in NotifyEvent:
        entry = getattr(section, event)
        if entry is not None and entry is not UNSET:
            commands[event] = _command(source, event, entry)
    return commands


def origins_of(commands: dict[NotifyEvent, NotifyCommand]) -> dict[Key, Origin]:
    """Return where each of them comes from."""
    return dict.fromkeys(((SECTION, event.value) for event in commands), FILE)


def _command(
    source: Source[UserConfigFile], event: NotifyEvent, entry: str | NotifyEntry
) -> NotifyCommand:
    if isinstance(entry, str):
        return NotifyCommand(run=entry)
    if entry.timeout is None or entry.timeout is UNSET:
        return NotifyCommand(run=entry.run)
    seconds = parse_duration(entry.timeout)
    if not seconds:
        raise source.fault(SECTION, event, "timeout", reason="must be longer than 0")
    return NotifyCommand(run=entry.run, timeout_seconds=seconds)
