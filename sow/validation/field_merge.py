"""Two versions of one state file, merged field by field where there is one right answer.

Pure. What one side alone has changed since the version before is taken; of
lists the additions of both; of `updated_at` and the form's number the later; of
two ends that a project came to in the same way the later one. What both have
changed otherwise is in dispute.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from msgspec import Struct

from sow.yamlfile import REMOVE, YamlProblem
from sow.yamlfile.editing import edit_yaml
from sow.yamlfile.reading import decode, load

TABLES = frozenset({"task", "project", "metadata"})
"""The fields that are merged name by name."""
LATER = frozenset({"updated_at", "version"})
ITEMS: Mapping[str, str] = {
    "phases": "",
    "finished_phases": "",
    "depends_on": "",
    "files_modified": "",
    "checks": "",
    "requires": "",
    "inputs": "path",
    "outputs": "path",
    "units": "id",
}
"""The lists whose items stand each for itself, and the key by which one is known, if any."""
MISSING = object()


class Merged(Struct, frozen=True):
    """What became of two versions."""

    text: bytes | None
    """None where something is in dispute."""
    disputed: Sequence[str] = ()
    """The names of the fields that both have changed."""


def merge_states(base: bytes | None, ours: bytes, theirs: bytes, path: Path) -> Merged:
    """Merge the texts of a state file; ours keeps its comments. Raises YamlProblem.

    Comments of theirs that ours has not would get lost, so they are in dispute too.
    """
    before = {} if base is None else _data(base, path)
    changes: dict[tuple[str, ...], object] = {}
    disputed: list[str] = []
    has_base = base is not None
    _merge((), before, _data(ours, path), _data(theirs, path), has_base, changes, disputed)
    if not disputed and _comments(theirs) - _comments(ours):
        disputed.append("comments")
    if disputed:
        return Merged(None, tuple(disputed))
    return Merged(edit_yaml(ours, changes, path=path))


def _data(text: bytes, path: Path) -> dict[str, Any]:
    data = load(decode(text, path), path)
    if not isinstance(data, dict):
        raise YamlProblem("expected a mapping", path=path)
    return data


def _comments(text: bytes) -> set[bytes]:
    return {line.strip() for line in text.splitlines() if line.lstrip().startswith(b"#")}


def _merge(
    keys: tuple[str, ...],
    before: Mapping[str, Any],
    ours: Mapping[str, Any],
    theirs: Mapping[str, Any],
    has_base: bool,
    changes: dict[tuple[str, ...], object],
    disputed: list[str],
) -> None:
    """Note what ours has to change, and which fields are in dispute."""
    for name in dict.fromkeys([*ours, *theirs]):
        mine, its = ours.get(name, MISSING), theirs.get(name, MISSING)
        was = before.get(name, MISSING)
        if mine == its:
            continue
        if name in TABLES and isinstance(mine, dict) and isinstance(its, dict):
            inner = was if isinstance(was, dict) else {}
            _merge((*keys, name), inner, mine, its, has_base, changes, disputed)
            continue
        value = _value(name, was, mine, its, has_base)
        if value is DISPUTED:
            disputed.append(name)
        elif value != mine:
            changes[(*keys, name)] = REMOVE if value is MISSING else value


DISPUTED = object()


def _value(name: str, was: Any, mine: Any, its: Any, has_base: bool) -> Any:
    """Return the value that a field has after both; DISPUTED where nobody can say."""
    if name in LATER:
        return _later(mine, its)
    if has_base and was == mine:
        return its
    if has_base and was == its:
        return mine
    if name == "ending" and isinstance(mine, dict) and isinstance(its, dict):
        return _ending(mine, its)
    if has_base and name in ITEMS and isinstance(mine, list) and isinstance(its, list):
        return _items(ITEMS[name], was if isinstance(was, list) else [], mine, its)
    return DISPUTED


def _later(mine: Any, its: Any) -> Any:
    if mine is MISSING or its is MISSING:
        return its if mine is MISSING else mine
    is_time = isinstance(mine, datetime) and isinstance(its, datetime)
    if is_time and (mine.tzinfo is None) == (its.tzinfo is None):
        return max(mine, its)
    is_number = type(mine) is int and type(its) is int
    return max(mine, its) if is_number else DISPUTED


def _ending(mine: Mapping[str, Any], its: Mapping[str, Any]) -> Any:
    """Return the later of two ends of one project, where both have ended it in the same way."""
    if any(mine.get(key) != its.get(key) for key in ("how", "remove")):
        return DISPUTED
    later = _later(mine.get("at", MISSING), its.get("at", MISSING))
    if later is DISPUTED:
        return DISPUTED
    return mine if later == mine.get("at", MISSING) else its


def _items(key: str, was: Sequence[Any], mine: Sequence[Any], its: Sequence[Any]) -> Any:
    """Return ours with what theirs has added, and without what theirs has taken out."""
    merged = [item for item in mine if item in its or item not in was]
    merged += [item for item in its if item not in mine and item not in was]
    names = [item.get(key) if key and isinstance(item, dict) else item for item in merged]
    is_clear = all(names.count(name) == 1 for name in names)
    return merged if is_clear else DISPUTED
