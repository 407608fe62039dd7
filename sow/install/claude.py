"""The plugin comes into a scope of Claude Code, is brought up to date there, and goes again.

Owns the order of the writes: the record says first what is about to be written, then the settings
file changes in one write, then the record says that it is done. Claude Code itself is not run:
why is in docs/decisions.md.
"""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from itertools import chain, count
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from sow.agents.rights import commands_for
from sow.agents.roles import AGENTS
from sow.errors import SowError
from sow.executors.claude import rule_for
from sow.executors.claude_folders import PLUGIN, is_trusted
from sow.files import locked_folder, make_folder, refuse_leading_out, remove_file
from sow.install.documents import (
    NothingOnRecord,
    UnfitFile,
    Written,
    backups_of,
    change_document,
    missing_folders,
    read_document,
    remove_folders,
)
from sow.install.ignoring import ignore_locally, lines_for, missing_lines, stop_ignoring
from sow.install.json_text import NotJson, read_object, write_object
from sow.install.places import MANIFEST, MARKETPLACE, Scope, Target, claude_folder, record_file
from sow.install.record import open_record
from sow.install.settings_plan import (
    NAME,
    NOTHING,
    AnotherOne,
    Brought,
    Plan,
    Unfit,
    adopted,
    plan_install,
    plan_uninstall,
)

KNOWN, INSTALLED = "plugins/known_marketplaces.json", "plugins/installed_plugins.json"
ORCHESTRATOR = "orchestrator"
NOT_ON_RECORD = "it was not on record: what stood there as sow writes it is taken out"
FOLDER = ".claude/agents"
KEPT = ".claude/old-agents"


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


class Done(Struct, frozen=True):
    """What an install or uninstall has done, or would do."""

    target: Target
    plan: Plan
    written: Written
    ignored: tuple[str, ...] = ()
    """The lines that git's own list has got, or lost."""


def rules() -> tuple[str, ...]:
    """Return the permission rules of a session that leads: each command by its name."""
    return tuple(rule_for(" ".join(words)) for words in commands_for(ORCHESTRATOR))


def install(target: Target, environ: Mapping[str, str], *, dry_run: bool = False) -> Done:
    """Bring the plugin into a scope, or up to date there.

    Raises UnfitFile, LeadsOut, and what `change_document` and `open_record` raise; the settings
    are as they were then.
    """
    folder = str(MARKETPLACE)
    _refuse_leading_out(target)
    with open_record(environ, dry_run=dry_run) as record:
        before = record.of(target.file)
        lines = () if target.scope is Scope.USER else missing_lines(target.file)
        folders = missing_folders(Path(os.path.realpath(target.file)).parent)
        known = _with(before if before != NOTHING else _adopted(target), lines, folders)

        def plan_for(data: bytes | None) -> Plan:
            return plan_install(
                _settings(target.file, data),
                known,
                marketplace=folder,
                rules=rules(),
                is_sows=is_sows,
                is_file_new=data is None,
            )

        if dry_run:
            return Done(target, *_carried_out(target, plan_for, dry_run=True))
        planned = _planned(target.file, plan_for, read_document(target.file))
        record.put(target.file, planned.brought)
        try:
            plan, written = _carried_out(target, plan_for)
        except (SowError, OSError):
            remove_folders(folders)
            record.put(target.file, before)
            raise
        ignore_locally(target.file, lines)
        copies = (*known.backups, str(written.backup)) if written.backup else known.backups
        record.put(target.file, replace(plan.brought, begun=(), backups=copies))
        forget_marketplace(
            claude_folder(environ), lambda entry: is_sows(entry) and _path_of(entry) != folder
        )
    return Done(target, plan, written, lines)


def uninstall(target: Target, environ: Mapping[str, str], *, dry_run: bool = False) -> Done:
    """Take away what is on record, as far as it is still what was written.

    Where nothing is, what stands there as sow writes it. The record goes last: who dies before
    that is gone on with by the next call. Raises NothingOnRecord, and as `install` does.
    """
    _refuse_leading_out(target)
    with open_record(environ, dry_run=dry_run) as record:
        before = record.of(target.file)
        known = before if before != NOTHING else _adopted(target)
        if known == NOTHING:
            raise NothingOnRecord(f"The plugin for {target.words}", record_file(environ))

        def plan_for(data: bytes | None) -> Plan:
            return plan_uninstall(_settings(target.file, data), known)

        plan, written = _carried_out(target, plan_for, dry_run=dry_run, goes=known)
        if before == NOTHING:
            plan = replace(plan, notes=(*plan.notes, NOT_ON_RECORD))
        if dry_run:
            return Done(target, plan, written)
        _drop_backups(target.file, known, plan, written.after)
        stop_ignoring(target.file, known.excluded)
        claude = claude_folder(environ)
        forget_installation(claude, None if target.scope is Scope.USER else target.folder)
        if not record.is_named_beside(target.file, known.marketplace):
            forget_marketplace(claude, lambda entry: _path_of(entry) == known.marketplace)
        remove_folders(known.folders)
        record.put(target.file, NOTHING)
    return Done(target, plan, written, known.excluded)


def is_sows(entry: Any) -> bool:
    """Whether a marketplace's entry names a folder of sow's own, or one that is gone."""
    path = _path_of(entry)
    if path is None or entry["source"].get("source") != "directory":
        return False
    with suppress(OSError, ValueError):
        if not Path(path).exists():
            return Path(path).name == MARKETPLACE.name
        found = json.loads((Path(path) / MANIFEST).read_bytes())
        return bool(found == json.loads((MARKETPLACE / MANIFEST).read_bytes()))
    return False


def _path_of(entry: Any) -> str | None:
    """Return the folder that a marketplace's entry names; None without one."""
    source = entry.get("source") if isinstance(entry, dict) else None
    path = source.get("path") if isinstance(source, dict) else None
    return path if isinstance(path, str) else None


def needs_trust(target: Target, environ: Mapping[str, str]) -> bool:
    """Whether Claude Code leaves the plugin out, because nobody has told it to trust the folder.

    Measured with 2.1.330: a plugin of the local scope is silently not loaded there; the rules of
    the same file count.
    """
    return target.scope is Scope.PROJECT and not is_trusted(target.folder, environ)


def settings_now(file: Path) -> dict[str, Any]:
    """Return what a settings file says; nothing where there is none. Raises UnfitFile."""
    return _settings(file, read_document(file))


def marketplace_named(settings: Mapping[str, Any]) -> Any:
    """Return the entry of sow's marketplace in settings; None without one."""
    known = settings.get("extraKnownMarketplaces")
    return known.get(NAME) if isinstance(known, dict) else None


def _settings(file: Path, data: bytes | None) -> dict[str, Any]:
    try:
        return read_object(data)
    except NotJson as error:
        raise UnfitFile(file, str(error)) from error


def _adopted(target: Target) -> Brought:
    """Return what counts as brought where nothing is on record (`adopted`)."""
    with suppress(SowError, Unfit):
        found = adopted(settings_now(target.file), rules=rules(), is_sows=is_sows)
        if found != NOTHING and target.scope is Scope.PROJECT:
            return replace(found, excluded=lines_for(target.file))
        return found
    return NOTHING


def _with(brought: Brought, lines: Sequence[str], folders: Sequence[str]) -> Brought:
    """Return it with lines of git's list and folders that are to be made."""
    return replace(
        brought,
        excluded=tuple(dict.fromkeys((*brought.excluded, *lines))),
        folders=tuple(dict.fromkeys((*brought.folders, *folders))),
    )


def _refuse_leading_out(target: Target) -> None:
    if target.root is not None:
        refuse_leading_out(target.file, root=target.root)


def _planned(file: Path, plan_for: Callable[[bytes | None], Plan], data: bytes | None) -> Plan:
    try:
        return plan_for(data)
    except (Unfit, AnotherOne) as error:
        raise UnfitFile(file, str(error)) from error


def _carried_out(
    target: Target,
    plan_for: Callable[[bytes | None], Plan],
    *,
    dry_run: bool = False,
    goes: Brought = NOTHING,
) -> tuple[Plan, Written]:
    """Return the plan that was carried out, and what was written."""
    file = target.file
    plans: list[Plan] = []

    def change(data: bytes | None) -> bytes | None:
        plan = _planned(file, plan_for, data)
        plans.append(plan)
        if not plan.settings and goes.is_file_new:
            return None
        if plan.settings == _settings(file, data):
            return data
        former = _former(copies, plan.settings, _settings(file, data), data)
        return write_object(plan.settings, data) if former is None else former

    copies = _copies(file) if goes != NOTHING else {}
    kept = (None, *copies.values())  # a file that goes was made by sow, and holds nothing else
    written = change_document(file, change, dry_run=dry_run, kept=kept, root=target.root)
    return plans[-1], written


def _copies(file: Path) -> dict[Path, bytes]:
    """Return what the backups of a file hold, those that can be read."""
    found = {}
    for backup in backups_of(file):
        with suppress(SowError):
            found[backup] = read_document(backup) or b""
    return found


def _former(
    copies: Mapping[Path, bytes], wanted: dict[str, Any], present: dict[str, Any], now: bytes | None
) -> bytes | None:
    """Return the file as it was, byte by byte, where a backup says just that; None without one.

    Nor where somebody has laid out otherwise since what sow has written.
    """
    for backup, data in copies.items():
        with suppress(SowError):
            is_same = json.dumps(_settings(backup, data)) == json.dumps(wanted)
            if is_same and write_object(present, data) == now:
                return data
    return None


def _drop_backups(file: Path, brought: Brought, plan: Plan, left: bytes | None) -> None:
    """Remove the copies that sow has made, where the file is again what it was.

    One that says something else than what is left, sow's own aside, stays. The oldest goes last:
    by it the next call sees that the file is what it was.
    """
    copies = _copies(file)
    if left is not None and left not in copies.values():
        return
    for backup in map(Path, reversed(brought.backups)):
        with suppress(SowError, Unfit):
            without_ours = plan_uninstall(_settings(backup, copies.get(backup)), brought)
            if without_ours.settings == plan.settings:
                remove_file(backup)


def old_prompts(folder: Path) -> list[Path]:
    """Return such files of a repository, by name."""
    names = {agent.name for agent in AGENTS}
    return sorted(
        file
        for file in (folder / FOLDER).glob("*.md")
        if file.stem in names and file.is_file() and not file.is_symlink()
    )


def move_old_prompts(folder: Path) -> list[tuple[Path, Path]]:
    """Move them to `.claude/old-agents`, each under a name that is free.

    Returns where each came from and went to. Raises LeadsOut, OSError; what has moved by then
    stays moved.
    """
    moved, to = [], folder / KEPT
    for file in old_prompts(folder):
        refuse_leading_out(file, root=folder)
        make_folder(to, root=folder)
        with locked_folder(to):
            moved.append((file, file.rename(_free(to, file))))
    return moved


def _free(folder: Path, file: Path) -> Path:
    """Return a path in a folder, with the file's name or that with a number, where nothing lies."""
    others = (f"{file.stem}-{number}{file.suffix}" for number in count(1))
    paths = (folder / name for name in chain([file.name], others))
    return next(path for path in paths if not os.path.lexists(path))
