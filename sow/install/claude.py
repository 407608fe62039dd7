"""The plugin comes into a scope of Claude Code, is brought up to date there, and goes again.

Owns the order of the writes: the record says first what is about to be written, then the settings
file changes in one write, then the record says that it is done. Claude Code itself is not run:
why is in docs/decisions.md.
"""

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from sow.agents.rights import commands_for
from sow.errors import SowError
from sow.executors.claude import rule_for
from sow.executors.claude_folders import is_trusted
from sow.install.documents import (
    Written,
    backups_of,
    change_document,
    read_document,
    remove_if_empty,
)
from sow.install.ignoring import ignore_locally, stop_ignoring
from sow.install.install_errors import NothingOnRecord, UnfitFile
from sow.install.json_text import NotJson, read_object, write_object
from sow.install.places import MANIFEST, MARKETPLACE, Scope, Target, claude_folder, record_file
from sow.install.record import open_record
from sow.install.registry import forget_installation, forget_marketplace
from sow.install.settings_plan import (
    NAME,
    NOTHING,
    AnotherOne,
    Brought,
    Plan,
    Unfit,
    plan_install,
    plan_uninstall,
)

ORCHESTRATOR = "orchestrator"


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

    Raises UnfitFile, and what `change_document` and `open_record` raise; the settings are as they
    were then.
    """
    folder = str(MARKETPLACE)
    with open_record(environ) as record:
        before = record.of(target.file)

        def plan_for(data: bytes | None) -> Plan:
            return plan_install(
                _settings(target.file, data),
                before,
                marketplace=folder,
                rules=rules(),
                is_sows=is_sows,
                is_file_new=data is None,
            )

        plan = _planned(target.file, plan_for)
        if not dry_run:
            record.put(target.file, replace(plan.brought, is_whole=False))
        try:
            plan, written = _carried_out(target.file, plan_for, dry_run=dry_run)
        except SowError:
            if not dry_run:
                record.put(target.file, before)
            raise
        if dry_run:
            return Done(target, plan, written)
        ignored = () if target.scope is Scope.USER else ignore_locally(target.file)
        excluded = tuple(dict.fromkeys((*before.excluded, *ignored)))
        record.put(target.file, replace(plan.brought, is_whole=True, excluded=excluded))
    if before.marketplace and before.marketplace != folder:
        forget_marketplace(claude_folder(environ), before.marketplace)
    return Done(target, plan, written, ignored)


def uninstall(target: Target, environ: Mapping[str, str], *, dry_run: bool = False) -> Done:
    """Take away what is on record, as far as it is still what was written.

    Raises NothingOnRecord, and as `install` does.
    """
    with open_record(environ) as record:
        before = record.of(target.file)
        if before == NOTHING:
            raise NothingOnRecord(f"The plugin for {target.words}", record_file(environ))

        def plan_for(data: bytes | None) -> Plan:
            return plan_uninstall(_settings(target.file, data), before)

        plan, written = _carried_out(target.file, plan_for, dry_run=dry_run, goes=before)
        if dry_run:
            return Done(target, plan, written)
        stop_ignoring(target.file, before.excluded)
        record.put(target.file, NOTHING)
        is_named = record.names(before.marketplace)
    if target.scope is Scope.PROJECT:
        remove_if_empty(target.file.parent)
    claude = claude_folder(environ)
    forget_installation(claude, None if target.scope is Scope.USER else target.folder)
    if before.marketplace and not is_named:
        forget_marketplace(claude, before.marketplace)
    return Done(target, plan, written, before.excluded)


def is_sows(entry: Any) -> bool:
    """Whether a marketplace's entry names a folder of sow's own, or one that is gone."""
    source = entry.get("source") if isinstance(entry, dict) else None
    path = source.get("path") if isinstance(source, dict) else None
    if not isinstance(path, str) or source is None or source.get("source") != "directory":
        return False
    with suppress(OSError, ValueError):
        if not Path(path).exists():
            return Path(path).name == MARKETPLACE.name
        found = json.loads((Path(path) / MANIFEST).read_bytes())
        return bool(found == json.loads((MARKETPLACE / MANIFEST).read_bytes()))
    return False


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


def _planned(file: Path, plan_for: Any) -> Plan:
    try:
        plan: Plan = plan_for(read_document(file))
    except (Unfit, AnotherOne) as error:
        raise UnfitFile(file, str(error)) from error
    return plan


def _carried_out(
    file: Path, plan_for: Any, *, dry_run: bool, goes: Brought = NOTHING
) -> tuple[Plan, Written]:
    """Return the plan that was carried out, and what was written."""
    plans: list[Plan] = []

    def change(data: bytes | None) -> bytes | None:
        try:
            plan = plan_for(data)
        except (Unfit, AnotherOne) as error:
            raise UnfitFile(file, str(error)) from error
        plans.append(plan)
        if plan.settings == _settings(file, data):
            return data
        if not plan.settings and goes.is_file_new:
            return None
        former = _former(file, plan.settings, data) if goes != NOTHING else None
        return write_object(plan.settings, data) if former is None else former

    written = change_document(file, change, dry_run=dry_run)
    return plans[-1], written


def _former(file: Path, settings: dict[str, Any], now: bytes | None) -> bytes | None:
    """Return the file as it was, byte by byte, where a backup says just that; None without one.

    Nor where somebody has laid out otherwise since what sow has written.
    """
    wanted, present = json.dumps(settings), _settings(file, now)
    for backup in backups_of(file):
        with suppress(SowError):
            data = read_document(backup)
            if json.dumps(_settings(backup, data)) == wanted and write_object(present, data) == now:
                return data
    return None
