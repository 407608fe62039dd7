"""What Claude Code is told as settings of the command line: of folders, and of what it refuses.

Owns six facts of Claude Code 2.1.330, measured:
* It trusts exact paths, and ignores the allow rules of `.claude/settings.json` in any other. Those
  of `settings.local.json` count even there, which an agent may have written.
* `--add-dir` lets an agent read a folder, but also write there. A deny rule holds against that, in
  the mode that skips permissions too.
* Hooks, helpers and servers of a project act whether it is trusted or not, unless only the
  user's settings count.
* With `user` as the only source of settings, nothing of the folder that it runs in acts.
* A deny rule holds against any allow rule, those of the user's own settings among them.
* A plugin that the user has enabled is off where these settings say so: with its hooks and skills.
Reads Claude Code's own files, and writes none.
"""

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from sow.errors import SowError
from sow.executors.base import LaunchRequest
from sow.files import read_regular
from sow.user_folders import home_in

FILE_LIMIT = 1 << 24
"""The largest file of Claude Code's that is read, in bytes; one of years of use has some hundred
kilobytes."""
PROJECT_SETTINGS = (".claude/settings.json", ".claude/settings.local.json")
RULES = ("allow", "ask", "deny")
SETTINGS, SOURCES = "--settings", "--setting-sources"
ONLY_THE_USERS = (SOURCES, "user", "--strict-mcp-config")
"""Nothing of the folder that it runs in acts by itself then: no hook, helper, rule or server."""
PLUGIN = "sow@sow"
"""The plugin that `sow install claude` enables, as Claude Code names it. It is for who leads, and
is switched off in agents that sow starts: they have texts of their own."""
WITHOUT_LOCAL = (SOURCES, "user,project")
"""The folder's committed settings count, those that somebody has put beside them do not."""


def last_arguments(request: LaunchRequest, custom_args: Sequence[str]) -> tuple[str, ...]:
    """Return the user's own arguments, with what a run in a clone needs behind them.

    Of a flag that is given twice Claude Code takes the last, so the user's `--settings` become
    part of ours, and which sources of settings count is for sow to say.
    """
    outside = request.readable or request.unwritable or request.denied
    if request.checkout is None and not outside and not request.is_isolated:
        return tuple(custom_args)
    own, rest = take_option(custom_args, SETTINGS)
    _, rest = take_option(rest, SOURCES)
    arguments = list(rest)
    if request.is_isolated:
        arguments += ONLY_THE_USERS
    elif request.checkout is not None:
        arguments += WITHOUT_LOCAL
    settings = _merged(_object(own, request.cwd), _settings(request))
    if settings:
        arguments += (SETTINGS, json.dumps(settings, ensure_ascii=False))
    folders = [*map(str, request.readable), *_added_folders(request)]
    if folders:
        arguments += ("--add-dir", *folders)
    return tuple(arguments)


def _settings(request: LaunchRequest) -> dict[str, Any]:
    """Return what goes along: the trusted checkout's rules, and those against writing outside.

    And for an agent of sow's: against the commands of sow that are not its own, and no plugin.
    """
    rules: dict[str, list[str]] = {}
    for permissions in _trusted_permissions(request):
        for kind in RULES:
            rules.setdefault(kind, []).extend(_texts(permissions.get(kind)))
    rules.setdefault("deny", []).extend(
        f"Edit(/{os.path.abspath(folder)}/**)"  # noqa: PTH100 - a link in the path is kept
        for folder in (*request.readable, *request.unwritable)
    )
    rules["deny"].extend(denying_rules(request.denied, request.commands))
    kept = {kind: list(dict.fromkeys(words)) for kind, words in rules.items() if words}
    settings: dict[str, Any] = {"permissions": kept} if kept else {}
    return {**settings, "enabledPlugins": {PLUGIN: False}} if request.denied else settings


def denying_rules(denied: Sequence[str], allowed: Sequence[str]) -> Iterable[str]:
    """Yield the rules that refuse commands of sow, each by its words.

    A rule for `sow worker` with anything behind it would refuse `sow worker list` too: where that
    is allowed, the bare command is refused, and what has an option behind it.
    """
    for command in denied:
        if any(other.startswith(f"{command} ") for other in allowed):
            yield f"Bash(sow {command})"
            yield f"Bash(sow {command} -*)"
        else:
            yield f"Bash(sow {command}:*)"


def take_option(arguments: Sequence[str], flag: str) -> tuple[str, list[str]]:
    """Return the last value of a flag, empty for none, and the arguments without it."""
    value, rest, is_next = "", [], False
    for word in arguments:
        if is_next:
            value, is_next = word, False
        elif word == flag:
            is_next = True
        elif word.startswith(f"{flag}="):
            value = word.removeprefix(f"{flag}=")
        else:
            rest.append(word)
    return value, rest


def _object(text: str, cwd: Path) -> dict[str, Any]:
    """Return the settings that `--settings` names: JSON, or a file of it."""
    if not text.lstrip().startswith("{"):
        return read_json(cwd / text) if text else {}
    with suppress(ValueError):
        found = json.loads(text)
        return found if isinstance(found, dict) else {}
    return {}


def _merged(own: dict[str, Any], ours: dict[str, Any]) -> dict[str, Any]:
    """Return the user's settings with our rules added to theirs."""
    mine, more = own.get("permissions"), ours.get("permissions", {})
    permissions = dict(mine) if isinstance(mine, dict) else {}
    for kind, words in more.items():
        permissions[kind] = list(dict.fromkeys([*_texts(permissions.get(kind)), *words]))
    merged = {**own, "permissions": permissions} if permissions else dict(own)
    if plugins := ours.get("enabledPlugins"):
        theirs = own.get("enabledPlugins")
        merged["enabledPlugins"] = {**(theirs if isinstance(theirs, dict) else {}), **plugins}
    return merged


def _added_folders(request: LaunchRequest) -> list[str]:
    """Return the folders that the trusted checkout's own settings add."""
    checkout = request.checkout
    if checkout is None:
        return []
    found = [
        str(checkout / os.path.expanduser(folder))  # noqa: PTH111 - no exception without a home
        for permissions in _trusted_permissions(request)
        for folder in _texts(permissions.get("additionalDirectories"))
    ]
    return list(dict.fromkeys(found))


def _trusted_permissions(request: LaunchRequest) -> Iterable[Mapping[str, Any]]:
    """Yield the permissions of the main checkout's settings, if the user trusts that folder."""
    if request.checkout is None or request.is_isolated:
        return
    if not is_trusted(request.checkout, request.environ):
        return
    for name in PROJECT_SETTINGS:
        permissions = read_json(request.checkout / name).get("permissions")
        if isinstance(permissions, dict):
            yield permissions


def is_trusted(folder: Path, environ: Mapping[str, str]) -> bool:
    """Whether the user has told Claude Code to trust exactly this folder."""
    folder_of_files = environ.get("CLAUDE_CONFIG_DIR") or home_in(environ)
    projects = read_json(Path(folder_of_files) / ".claude.json").get("projects")
    if not isinstance(projects, dict):
        return False
    paths = {str(folder), os.path.realpath(folder)}
    records = [projects[path] for path in paths if isinstance(projects.get(path), dict)]
    return any(record.get("hasTrustDialogAccepted") is True for record in records)


def read_json(file: Path) -> dict[str, Any]:
    """Return the object in a JSON file; an empty one where there is none."""
    try:
        found = json.loads(read_regular(file, FILE_LIMIT))
    except (OSError, SowError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _texts(found: object) -> Sequence[str]:
    return [text for text in found if isinstance(text, str)] if isinstance(found, list) else []
