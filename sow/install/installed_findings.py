"""Whether what sow has installed is there, current and whole: findings, for people and programs.

Changes nothing, and starts no program.
"""

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from sow import __version__
from sow.errors import SowError
from sow.executors.claude_folders import PLUGIN
from sow.findings import Finding, Level
from sow.install.agents_md import NAME as TEXT
from sow.install.agents_md import block_in, wanted_text
from sow.install.claude import (
    FOLDER,
    is_sows,
    marketplace_named,
    needs_trust,
    old_prompts,
    rules,
    settings_now,
)
from sow.install.places import MARKETPLACE, Scope, Target, target_of
from sow.install.record import brought_into
from sow.install.settings_plan import MARKETPLACES, NAME, NOTHING, PLUGINS, Brought, source_of
from sow.paths import display_path

PLUGIN_CHECK, TEXT_CHECK, OLD_CHECK, PATH_CHECK = "plugin", "agents-md", "old-agents", "path"


def examine_installed(folder: Path, environ: Mapping[str, str]) -> Iterator[Finding]:
    """Yield what is installed for the user, for a project's folder, and in its AGENTS.md."""
    plugin = [
        finding
        for scope in Scope
        for finding in _plugin(target_of(scope, folder, environ), environ)
    ]
    yield from plugin
    yield from _text(folder)
    yield from _old(folder, environ)
    is_there = any(finding.level is not Level.NOTE for finding in plugin)
    if is_there and shutil.which("sow", path=environ.get("PATH", os.defpath)) is None:
        text = "`sow` is not on PATH: commands and hook of the plugin find it there"
        remedy = "Install it with pipx or `uv tool install`, or add its folder to PATH."
        yield Finding(check=PATH_CHECK, level=Level.WARNING, text=text, remedy=remedy)


def _plugin(target: Target, environ: Mapping[str, str]) -> Iterator[Finding]:
    where, facts = (
        display_path(target.file),
        {"scope": target.scope.value, "file": str(target.file)},
    )
    try:
        settings, brought = settings_now(target.file), brought_into(target.file, environ)
    except SowError as error:
        yield _finding(Level.WARNING, error.message, error.hint, facts)
        return
    level, text, remedy = _state(settings, brought, target, where)
    yield _finding(level, text, remedy, facts)
    if level is Level.OK and needs_trust(target, environ):
        yield _finding(Level.WARNING, not_trusted(target), how_to_trust(target), facts)


def _state(
    settings: Mapping[str, object], brought: Brought, target: Target, where: str
) -> tuple[Level, str, str]:
    """Return how the plugin stands in settings: how grave that is, in words, and what helps."""
    entry, plugins = marketplace_named(settings), settings.get(PLUGINS)
    enabled = plugins.get(PLUGIN) if isinstance(plugins, dict) else None
    if brought == NOTHING and not is_sows(entry):
        text = f"The plugin for Claude Code is not installed for {target.words}"
        return Level.NOTE, text, "" if entry is None else _another(where)
    if entry is not None and not is_sows(entry):
        return Level.WARNING, f"The marketplace in {where} is not sow's any more", _another(where)
    if entry is not None and enabled is False:
        text = f"The plugin in {where} is switched off there, and stays so"
        return Level.NOTE, text, f"`claude plugin enable {PLUGIN}` switches it on."
    if amiss := _amiss(entry, enabled):
        remedy = f"`{target.command}` brings it up to date."
        return Level.WARNING, f"The plugin in {where}: {amiss}", remedy
    if missing := _missing(settings, brought.allow):
        text = f"The plugin in {where} lacks {missing} permission rules of sow {__version__}"
        return Level.WARNING, text, f"`{target.command}` adds them."
    text = f"The plugin of sow {__version__} is installed for {target.words}, in {where}"
    return Level.OK, text, ""


def _another(where: str) -> str:
    return f"{MARKETPLACES}.{NAME} in {where} is another's: `sow install claude` needs that name."


def not_trusted(target: Target) -> str:
    """Return that Claude Code leaves the plugin out in a folder that it does not trust."""
    return (
        f"Claude Code does not trust {display_path(target.folder)} yet, and loads no plugin there"
    )


def how_to_trust(target: Target) -> str:
    """Return how a person trusts a folder."""
    return f"Start `claude` once in {target.folder}, on a terminal, and answer that you trust it."


def _amiss(entry: object, enabled: object) -> str:
    if entry is None:
        return "its marketplace was taken out"
    if entry != source_of(str(MARKETPLACE)):
        return "it is read from another folder than this sow's"
    return "" if enabled is True else "it is not enabled"


def _missing(settings: Mapping[str, object], declined: tuple[str, ...]) -> int:
    permissions = settings.get("permissions")
    allowed = permissions.get("allow") if isinstance(permissions, dict) else None
    there = allowed if isinstance(allowed, list) else []
    return sum(rule not in there and rule not in declined for rule in rules())


def _text(folder: Path) -> Iterator[Finding]:
    facts = {"file": str(folder / TEXT)}
    try:
        block = block_in(folder)
    except SowError as error:
        text = error.message
        remedy = error.hint
        yield Finding(check=TEXT_CHECK, level=Level.WARNING, text=text, remedy=remedy, facts=facts)
        return
    level, text, remedy = Level.OK, f"{TEXT} tells other CLIs of sow", ""
    if block is None:
        level, text = Level.NOTE, f"{TEXT} here says nothing of sow"
    elif block.is_edited:
        level, text = Level.NOTE, f"What {TEXT} says of sow was edited, and stays as it is"
    elif block.text != wanted_text():
        level, text = Level.WARNING, f"What {TEXT} says of sow is of another version"
        remedy = "`sow install agents-md` brings it up to date."
    yield Finding(check=TEXT_CHECK, level=level, text=text, remedy=remedy, facts=facts)


def _old(folder: Path, environ: Mapping[str, str]) -> Iterator[Finding]:
    found = old_prompts(folder)
    if found:
        names = ", ".join(file.name for file in found)
        yield Finding(
            check=OLD_CHECK,
            level=Level.NOTE,
            text=f"{FOLDER} has prompts of an earlier kind, which Claude Code offers: {names}",
            remedy=f"`{_in_use(folder, environ).command} --move-agents` moves them out of its way.",
            facts={"files": [str(file) for file in found]},
        )


def _in_use(folder: Path, environ: Mapping[str, str]) -> Target:
    """Return where the plugin is installed: a move of prompts brings it to no other place."""
    project, user = (target_of(scope, folder, environ) for scope in (Scope.PROJECT, Scope.USER))
    with suppress(SowError):
        return project if brought_into(project.file, environ) != NOTHING else user
    return user


def _finding(level: Level, text: str, remedy: str, facts: Mapping[str, str]) -> Finding:
    return Finding(check=PLUGIN_CHECK, level=level, text=text, remedy=remedy, facts=facts)
