"""Claude Code's own notes of plugins: what of them names ours goes with it.

Owns two facts, measured with 2.1.330: from the settings it makes an entry in
`plugins/known_marketplaces.json`, by which it reads the folder in its next session even where the
settings name another one by then; and for the local scope one in `plugins/installed_plugins.json`.
"""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from sow.errors import SowError
from sow.executors.claude_folders import PLUGIN
from sow.install.documents import change_document
from sow.install.json_text import NotJson, read_object, write_object
from sow.install.settings_plan import NAME

KNOWN, INSTALLED = "plugins/known_marketplaces.json", "plugins/installed_plugins.json"


def forget_marketplace(claude: Path, is_gone: Callable[[Any], bool]) -> None:
    """Take out the entry of our marketplace, if `is_gone` says so of it."""

    def without(found: dict[str, Any]) -> dict[str, Any]:
        return {key: found[key] for key in found if key != NAME or not is_gone(found[key])}

    _change(claude / KNOWN, without)


def forget_installation(claude: Path, project: Path | None) -> None:
    """Take out the entries of our plugin: of one project, or with None the user's."""

    def is_ours(entry: object) -> bool:
        if not isinstance(entry, dict):
            return False
        if project is None:
            return entry.get("scope") == "user"
        return entry.get("scope") == "local" and entry.get("projectPath") == str(project)

    def without(found: dict[str, Any]) -> dict[str, Any]:
        plugins = found.get("plugins")
        entries = plugins.get(PLUGIN) if isinstance(plugins, dict) else None
        if not isinstance(plugins, dict) or not isinstance(entries, list):
            return found
        left = [entry for entry in entries if not is_ours(entry)]
        rest = {key: value for key, value in plugins.items() if key != PLUGIN}
        return {**found, "plugins": {**rest, PLUGIN: left} if left else rest}

    _change(claude / INSTALLED, without)


def _change(file: Path, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Change one of its notes, if it is there and can be read; nobody has written it by hand."""

    def changed(data: bytes | None) -> bytes | None:
        found = read_object(data)
        new = change(found)
        return data if data is None or new == found else write_object(new, data)

    with suppress(NotJson, SowError, OSError):
        if file.exists():
            change_document(file, changed, keeps_backup=False)
