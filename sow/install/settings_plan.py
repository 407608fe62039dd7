"""What a settings file of Claude Code becomes when the plugin comes, is updated, or goes.

Pure. Owns which keys those are, and that what a person has changed of them stays: a rule that was
taken out is not put in again, a plugin that was switched off stays off. What was there before is
nobody's but the person's, and stays when the plugin goes.
"""

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct

from sow.executors.claude_folders import PLUGIN

MARKETPLACES, PLUGINS, PERMISSIONS, ALLOW = (
    "extraKnownMarketplaces",
    "enabledPlugins",
    "permissions",
    "allow",
)
NAME = "sow"
"""The marketplace's, as Claude Code knows it."""


class Brought(Struct, frozen=True, kw_only=True):
    """What sow has put into one settings file: the record, by content."""

    marketplace: str = ""
    """The folder that was named there; empty where that entry is not ours."""
    enabled: bool = False
    """Whether the plugin was enabled by us."""
    allow: tuple[str, ...] = ()
    """The permission rules, those included that a person has taken out again since."""
    containers: tuple[str, ...] = ()
    """The objects and lists that were made for it, the innermost last."""
    is_file_new: bool = False
    """Whether the file was made for it."""
    begun: tuple[str, ...] = ()
    """Those of the rules that are being written: who died there has perhaps written none."""
    excluded: tuple[str, ...] = ()
    """The lines that were added to git's own list of what to ignore."""
    folders: tuple[str, ...] = ()
    """The folders that were made for the file, the outermost first."""
    backups: tuple[str, ...] = ()
    """The copies of the file that were made before it was changed."""


NOTHING = Brought()


class Plan(Struct, frozen=True):
    """What is to be written, and what is to be told."""

    settings: dict[str, Any]
    brought: Brought
    changes: tuple[str, ...] = ()
    """What changes, in words."""
    notes: tuple[str, ...] = ()
    """What stays otherwise than a person may expect."""


class Unfit(ValueError):
    """The settings are not of Claude Code's form; the words say where."""


class AnotherOne(ValueError):
    """A marketplace of this name is there that is not sow's; the words say which."""


def source_of(folder: str) -> dict[str, Any]:
    """Return the entry of a marketplace in a folder, as Claude Code writes it (measured)."""
    return {"source": {"source": "directory", "path": folder}}


def adopted(
    settings: dict[str, Any], *, rules: Sequence[str], is_sows: Callable[[Any], bool]
) -> Brought:
    """Return what counts as brought by sow where nothing is on record; NOTHING is the rule.

    A file that was moved, or copied to another machine, and a record that was lost, leave an entry
    of sow's marketplace behind: then all is sow's that stands there as sow writes it. Raises Unfit.
    """
    draft = _Draft(settings, NOTHING)
    entry = draft.object(MARKETPLACES).get(NAME, {})
    if not is_sows(entry):
        return NOTHING
    allowed = draft.rules()
    return Brought(
        marketplace=entry["source"]["path"],
        enabled=draft.object(PLUGINS).get(PLUGIN) is True,
        allow=tuple(rule for rule in rules if rule in allowed),
        containers=(MARKETPLACES, PLUGINS, PERMISSIONS, f"{PERMISSIONS}.{ALLOW}"),
        is_file_new=True,
    )


def plan_install(
    settings: dict[str, Any],
    before: Brought,
    *,
    marketplace: str,
    rules: Sequence[str],
    is_sows: Callable[[Any], bool],
    is_file_new: bool = False,
) -> Plan:
    """Return what makes the plugin of this sow known, enabled and allowed.

    `is_sows` says whether an entry that is there names a folder of sow's, of whichever version.
    Raises Unfit, AnotherOne.
    """
    draft = _Draft(settings, before, is_file_new=is_file_new)
    _bring_marketplace(draft, marketplace, is_sows)
    _bring_plugin(draft)
    _bring_rules(draft, rules)
    return draft.plan()


def plan_uninstall(settings: dict[str, Any], before: Brought) -> Plan:
    """Return what takes away all that is on record, as far as it is still what was written.

    Raises Unfit.
    """
    draft = _Draft(settings, before)
    known, plugins = draft.object(MARKETPLACES), draft.object(PLUGINS)
    if before.marketplace and known.get(NAME) == source_of(before.marketplace):
        del known[NAME]
        draft.changes.append(f"{MARKETPLACES}.{NAME} is taken out")
    elif before.marketplace and NAME in known:
        draft.notes.append(f"{MARKETPLACES}.{NAME} was changed since, and stays")
    if before.enabled and plugins.get(PLUGIN) is True:
        del plugins[PLUGIN]
        draft.changes.append(f"{PLUGINS}.{PLUGIN} is taken out")
    elif before.enabled and PLUGIN in plugins:
        draft.notes.append(f"{PLUGINS}.{PLUGIN} was changed since, and stays")
    allowed = draft.rules()
    ours = [rule for rule in before.allow if rule in allowed]
    for rule in ours:
        allowed.remove(rule)
    if ours:
        draft.changes.append(f"{_rules(len(ours))} taken out of {PERMISSIONS}.{ALLOW}")
    draft.drop_containers()
    draft.brought = NOTHING
    return draft.plan()


class _Draft:
    """The settings on their way. Holds copies: what was given stays as it was."""

    def __init__(
        self, settings: dict[str, Any], before: Brought, *, is_file_new: bool = False
    ) -> None:
        self.settings = dict(settings)
        self.before = before
        self.marketplace, self.enabled = before.marketplace, before.enabled
        self.allow = list(before.allow)
        self.begun: list[str] = []
        self.containers = list(before.containers)
        self.is_file_new = before.is_file_new or is_file_new
        self.changes: list[str] = []
        self.notes: list[str] = []
        self.brought: Brought | None = None

    def object(self, key: str) -> dict[str, Any]:
        """Return the object at a key, made anew so that it may be changed. Raises Unfit."""
        found = self.settings.get(key, {})
        if not isinstance(found, dict):
            raise Unfit(f"{key} is no object")
        if key in self.settings:
            self.settings[key] = found = dict(found)
        return found

    def made(self, key: str) -> dict[str, Any]:
        """Return the object at a key, which is put there where there is none."""
        found = self.object(key)
        if key not in self.settings:
            self.settings[key] = found
            self.containers.append(key)
        return found

    def rules(self) -> list[Any]:
        """Return the list of allowed rules, likewise. Raises Unfit."""
        permissions = self.object(PERMISSIONS)
        found = permissions.get(ALLOW, [])
        if not isinstance(found, list):
            raise Unfit(f"{PERMISSIONS}.{ALLOW} is no list")
        if ALLOW in permissions:
            permissions[ALLOW] = found = list(found)
        return found

    def made_rules(self) -> list[Any]:
        """Return the list of allowed rules, which is put there where there is none."""
        permissions, found = self.made(PERMISSIONS), self.rules()
        permissions = self.object(PERMISSIONS)
        if ALLOW not in permissions:
            permissions[ALLOW] = found
            self.containers.append(f"{PERMISSIONS}.{ALLOW}")
        return found

    def drop_containers(self) -> None:
        """Take away the objects and lists that were made for ours, where they are empty."""
        for name in reversed(self.before.containers):
            outer, _, inner = name.partition(".")
            place = self.settings.get(outer) if inner else self.settings
            if isinstance(place, dict) and place.get(inner or outer) in ({}, []):
                del place[inner or outer]

    def plan(self) -> Plan:
        brought = self.brought or Brought(
            marketplace=self.marketplace,
            enabled=self.enabled,
            allow=tuple(self.allow),
            containers=tuple(dict.fromkeys(self.containers)),
            is_file_new=self.is_file_new,
            begun=tuple(self.begun),
            excluded=self.before.excluded,
            folders=self.before.folders,
            backups=self.before.backups,
        )
        return Plan(self.settings, brought, tuple(self.changes), tuple(self.notes))


def _bring_marketplace(draft: _Draft, folder: str, is_sows: Callable[[Any], bool]) -> None:
    known, wanted = draft.made(MARKETPLACES), source_of(folder)
    found = known.get(NAME)
    if found == wanted:
        return
    ours = draft.before.marketplace
    if found is not None and found != source_of(ours) and not is_sows(found):
        raise AnotherOne(f"{MARKETPLACES}.{NAME} is not sow's: {found}")
    known[NAME] = wanted
    draft.marketplace = folder
    draft.changes.append(f"{MARKETPLACES}.{NAME} names {folder}")


def _bring_plugin(draft: _Draft) -> None:
    plugins = draft.made(PLUGINS)
    found = plugins.get(PLUGIN)
    if found is None:
        plugins[PLUGIN] = draft.enabled = True
        draft.changes.append(f"{PLUGINS}.{PLUGIN} is true")
    elif found is not True:
        draft.notes.append(
            f"{PLUGINS}.{PLUGIN} is {str(found).lower()} there, and stays so: the plugin is off"
        )


def _bring_rules(draft: _Draft, wanted: Sequence[str]) -> None:
    allowed, before = draft.made_rules(), draft.before
    was_brought = set(before.allow) - set(before.begun)
    new = [rule for rule in wanted if rule not in allowed and rule not in was_brought]
    declined = [rule for rule in wanted if rule not in allowed and rule in was_brought]
    old = [rule for rule in before.allow if rule not in wanted]
    for rule in old:
        draft.allow.remove(rule)
        if rule in allowed:
            allowed.remove(rule)
    allowed += new
    draft.begun = new
    draft.allow += [rule for rule in new if rule not in draft.allow]
    if new:
        draft.changes.append(f"{_rules(len(new))} put into {PERMISSIONS}.{ALLOW}")
    if old:
        draft.changes.append(f"{_rules(len(old))} taken out, of an earlier sow")
    if declined:
        draft.notes.append(f"{_rules(len(declined))} taken out by you before, and not put back")


def _rules(count: int) -> str:
    return "1 rule is" if count == 1 else f"{count} rules are"
