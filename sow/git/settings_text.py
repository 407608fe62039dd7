"""Settings in git's own form: read from a repository at once, and written as lines of a file."""

import re
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from sow.git.view import View, named, view_of

LOCAL = "local"
"""The scope of a repository's own settings, and of what they include."""
PLAIN_SECTION = re.compile(rb'\[([A-Za-z0-9-]+)(?: "([^\x00-\x1f"\\]*)")?\]')
PLAIN_VALUE = re.compile(
    rb'([A-Za-z][A-Za-z0-9-]*) *= *(?:"([^\x00-\x1f"\\]*)"|([^\x00-\x1f"\\#;]*))'
)


class Setting(NamedTuple):
    """One setting; the section and the key of its name are in small letters, as git tells them."""

    scope: str
    """Which of the user's files has it: system, global, local, worktree."""
    name: str
    value: str


def settings_of(view: View) -> list[Setting]:
    """Return the settings that hold in a repository; of several, the last holds. GitRefused."""
    records = view.records("config", "--includes", "--list", "--show-scope", "-z")
    found = []
    for scope, record in zip(records[::2], records[1::2], strict=True):
        found.append(Setting(scope, *_name_and_value(record)))
    return [setting for setting in found if setting.scope != "command"]  # what we say ourselves


@lru_cache(maxsize=16)
def settings_in(text: bytes) -> tuple[tuple[str, str], ...]:
    """Return the settings in a file's text, and in nothing that it includes. Raises GitRefused.

    Git is asked only where the text has more than plain lines.
    """
    plain = plain_settings(text)
    if plain is not None:
        return plain
    words = ("config", "--file", "-", "--no-includes", "--list", "-z")
    records = view_of(Path("/")).records(*words, stdin=text)
    return tuple(_name_and_value(record) for record in records)


def plain_settings(text: bytes) -> tuple[tuple[str, str], ...] | None:
    """Return the settings in a text, or None where a line is more than a title or `key = value`.

    A value may be in quotes as a whole. Other quotes, escapes, comments behind a value and keys
    without one are git's to read.
    """
    found: list[tuple[str, str]] = []
    section = None
    for line in text.split(b"\n"):
        words = line.strip(b" \t")
        if not words or words.startswith((b"#", b";")):
            continue
        if title := PLAIN_SECTION.fullmatch(words):
            section = named(title[1]).lower() + ("" if title[2] is None else f".{named(title[2])}")
        elif section is not None and (value := PLAIN_VALUE.fullmatch(words)):
            words = value[3] if value[2] is None else value[2]
            found.append((f"{section}.{named(value[1]).lower()}", named(words)))
        else:
            return None
    return tuple(found)


def settings_named(folder: Path, pattern: str) -> dict[str, str]:
    """Return the settings whose names fit a pattern, wherever they stand. Raises GitRefused."""
    words = ("config", "-z", "--get-regexp", pattern)
    records = view_of(folder).records(*words, accepted=(0, 1))
    return dict(_name_and_value(record) for record in records)


def _name_and_value(record: str) -> tuple[str, str]:
    name, has_value, value = record.partition("\n")
    return name, value if has_value else "true"


def as_lines(settings: Iterable[tuple[str, str]]) -> str:
    """Return settings, each a name and a value, as lines of a file of git's."""
    lines = []
    for name, value in settings:
        section, _, rest = name.partition(".")
        subsection, _, key = rest.rpartition(".")
        title = f"[{section} {quoted(subsection)}]" if subsection else f"[{section}]"
        lines.append(f"{title}\n\t{key} = {quoted(value)}\n")
    return "".join(lines)


def add_settings(top: Path, settings: Iterable[tuple[str, str]]) -> None:
    """Add settings to a repository that nobody else knows yet. Raises OSError."""
    with (top / ".git" / "config").open("a", encoding="utf-8", errors="surrogateescape") as file:
        file.write(as_lines(settings))


def quoted(value: str) -> str:
    """Return text as the value of a setting in git's own form."""
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
