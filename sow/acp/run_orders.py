"""What the program is to do, as `sow.executors.acp` writes it into a file.

Owns the form of that file. A file that is not whole is refused.
"""

import json
from pathlib import Path
from typing import Any, NamedTuple

from sow.acp.permissions import Rights
from sow.acp.presets import PRESETS, UNKNOWN, Preset

RECORD = "acp.jsonl"
"""Beside the orders: every line of the wire, both ways."""


class Orders(NamedTuple):
    """One run."""

    command: tuple[str, ...]
    """The agent's program, and its arguments."""
    folder: str
    session: str | None
    """The session to go on in; None for a new one."""
    preset: Preset
    rights: Rights
    writable: tuple[str, ...]
    """Where its commands may write besides, for an agent whose sandbox is told (`Preset`)."""
    record: Path
    secrets: tuple[str, ...] = ()
    """The variables whose values do not get into the record."""


def read_orders(path: Path) -> Orders:
    """Return the orders in a file. Raises OSError, and ValueError where it is not whole."""
    found = json.loads(path.read_text("utf-8"))
    try:
        return _orders(found, path)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{path} has no whole orders: {error}") from None


def _orders(found: dict[str, Any], path: Path) -> Orders:
    preset = PRESETS[found["preset"]] if found["preset"] else UNKNOWN
    rights = Rights(
        folder=found["folder"],
        commands=tuple(found["commands"]),
        denied=tuple(found["denied"]),
        readable=tuple(found["readable"]),
        unwritable=tuple(found["unwritable"]),
        allows_all=found["allows_all"] is True,
    )
    return Orders(
        command=tuple(found["command"]),
        folder=found["folder"],
        session=found["session"],
        preset=preset,
        rights=rights,
        writable=tuple(found["writable"]) if preset.takes_folders else (),
        record=path.with_name(RECORD),
        secrets=tuple(found.get("secrets", ())),
    )
