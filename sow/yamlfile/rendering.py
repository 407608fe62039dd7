"""Values as YAML text, written by PyYAML's C emitter, and a shorter way.

Owns the style: short collections on one line, times as `2026-01-31T12:00:00Z`,
and quotes wherever some reader of YAML 1.1 or 1.2 would see another type.

A mapping of plain words, numbers and times, as nearly every state file is one, is written without
PyYAML. Both ways give the same bytes (`tests/yamlfile/test_rendering.py`).
"""

from collections.abc import Iterable, Iterator
from datetime import datetime
from functools import cache, lru_cache
from typing import Any

from sow.clock import format_time
from sow.yamlfile.reading import reads_as_string

FLOW_WIDTH = 60
"""Lists and mappings of plain values up to this long are written on one line."""

NO_WRAP = 1 << 30
PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-:")
"""The letters of words, numbers and times."""
RARE_BREAKS = frozenset("\x85\u2028\u2029")
"""What else ends a line for YAML 1.1."""
_FIRST = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_")
_IN_FLOW = _FIRST | frozenset("-./ ")
_IN_BLOCK = _IN_FLOW | frozenset(",;()[]{}<>'!?&*+=@%|$~^`")
"""The characters with which a plain text begins, and those that it may have on one line with others
and on a line of its own; more are plain to YAML, and left to PyYAML."""
_LONGEST_KEY = 100
"""Characters. PyYAML writes a key of more than 128 otherwise."""
_MAPPING_TAG = "tag:yaml.org,2002:map"
_LIST_TAG = "tag:yaml.org,2002:seq"
_STRING_TAG = "tag:yaml.org,2002:str"
_TIME_TAG = "tag:yaml.org,2002:timestamp"


def render(mapping: dict[str, Any]) -> str:
    """Return `mapping`, of mappings, lists, strings, numbers and times: a key begins each line.

    Lone surrogates, which no file can hold, become question marks.
    """
    try:
        return "".join(_lines(mapping, "")) or render_by_library(mapping)
    except _Unusual:
        return render_by_library(mapping)


def render_by_library(mapping: dict[str, Any]) -> str:
    """Return what `render` does, always by PyYAML."""
    return _dump(_BlockMapping(mapping))


def plain_line(key: object, value: object) -> str | None:
    """Return a key with a text, a number or a time as a line, as PyYAML's emitter writes it.

    None for all that is left to PyYAML.
    """
    try:
        return f"{_key(key)}: {_scalar(value, _IN_BLOCK)}\n"
    except _Unusual:
        return None


class _Unusual(Exception):
    """A value that is left to PyYAML."""


def _lines(mapping: dict[str, Any], indent: str) -> Iterator[str]:
    """Yield a mapping line by line. Raises _Unusual."""
    for name, value in mapping.items():
        key = f"{indent}{_key(name)}:"
        if type(value) is not dict and type(value) is not list:
            yield f"{key} {_scalar(value, _IN_BLOCK)}\n"
        elif _fits_one_line(value):
            yield f"{key} {_on_one_line(value)}\n"
        elif type(value) is dict:
            yield f"{key}\n"
            yield from _lines(value, f"{indent}  ")
        else:
            raise _Unusual


def _on_one_line(value: dict[str, Any] | list[Any]) -> str:
    if type(value) is list:
        return f"[{_joined(_scalar(item, _IN_FLOW) for item in value)}]"
    pairs = value.items()  # type: ignore[union-attr]
    return f"{{{_joined(f'{_key(name)}: {_scalar(item, _IN_FLOW)}' for name, item in pairs)}}}"


def _joined(items: Iterable[str]) -> str:
    return ", ".join(items)


def _key(name: object) -> str:
    if type(name) is not str or len(name) > _LONGEST_KEY:
        raise _Unusual
    return _quoted_if_needed(name, _IN_FLOW)


def _scalar(value: object, plain: frozenset[str]) -> str:
    if type(value) is str:
        return _quoted_if_needed(value, plain)
    if type(value) is int:
        return str(value)
    if type(value) is datetime and value.tzinfo is not None and plain is _IN_BLOCK:
        return _usual_time(format_time(value.timestamp()))
    raise _Unusual


@lru_cache(maxsize=256)
def _quoted_if_needed(text: str, plain: frozenset[str]) -> str:
    if text[:1] not in _FIRST or text[-1] == " " or not plain.issuperset(text):
        raise _Unusual
    return f'"{text}"' if _needs_quotes(text) else text


def _usual_time(text: str) -> str:
    if reads_as_string(text):
        raise _Unusual
    return text


def render_item(item: object) -> str:
    """Return `item` as one item of a list, behind its dash."""
    return _dump(_BlockList([item]))


def render_entries(items: list[dict[str, Any]]) -> str:
    """Return a list of mappings, an empty line between two; long texts stay readable."""
    return "\n".join(_dump(_BlockList([_entry(item)])) for item in items)


def _entry(item: dict[str, Any]) -> "_BlockMapping":
    return _BlockMapping({name: _lined(value) for name, value in item.items()})


def _lined(value: object) -> object:
    """Return a text of several lines as one that is written line by line.

    One that ends in empty lines is not: YAML keeps these by a mark that ends the document.
    """
    if not isinstance(value, str) or "\n" not in value:
        return value
    ends_empty = f"\n{value}".endswith("\n\n") or not RARE_BREAKS.isdisjoint(value)
    return value if ends_empty else _Text(value)


def _dump(data: object) -> str:
    from sow.yamlfile.library import yaml  # heavy: see there

    text: str = yaml.dump(
        data, Dumper=_dumper(), sort_keys=False, width=NO_WRAP, allow_unicode=True
    )
    return text


class _Text(str):
    """A text that is written line by line, where YAML allows that; else between quotes."""


class _BlockMapping(dict[str, Any]):
    """A mapping that is never written on one line."""


class _BlockList(list[Any]):
    """A list that is never written on one line."""


@cache
def _dumper() -> Any:
    from sow.yamlfile.library import yaml  # heavy: see there
    from sow.yamlfile.loader import QuickTags  # heavy, as the library is

    class Dumper(QuickTags, yaml.CSafeDumper):  # type: ignore[misc]
        def ignore_aliases(self, _: Any) -> bool:
            return True

    Dumper.add_representer(_BlockMapping, _represent_mapping)
    Dumper.add_representer(_BlockList, _represent_list)
    Dumper.add_representer(dict, _represent_mapping)
    Dumper.add_representer(list, _represent_list)
    Dumper.add_representer(str, _represent_string)
    Dumper.add_representer(_Text, _represent_text)
    Dumper.add_representer(datetime, _represent_time)
    return Dumper


def _represent_mapping(dumper: Any, mapping: dict[str, Any]) -> Any:
    return dumper.represent_mapping(_MAPPING_TAG, mapping.items(), _fits_one_line(mapping))


def _represent_list(dumper: Any, items: list[Any]) -> Any:
    return dumper.represent_sequence(_LIST_TAG, items, _fits_one_line(items))


def _represent_string(dumper: Any, text: str) -> Any:
    text = text.encode("utf-8", "replace").decode()
    return dumper.represent_scalar(_STRING_TAG, text, style='"' if _needs_quotes(text) else None)


def _represent_text(dumper: Any, text: str) -> Any:
    return dumper.represent_scalar(_STRING_TAG, str(text), style="|")


def _represent_time(dumper: Any, time: datetime) -> Any:
    if time.tzinfo is None:
        return dumper.represent_scalar(_TIME_TAG, time.isoformat())
    return dumper.represent_scalar(_TIME_TAG, format_time(time.timestamp()))


def _needs_quotes(text: str) -> bool:
    return "\n" in text or _is_number(text) or not reads_as_string(text)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return text.startswith("0o")
    return True


def _fits_one_line(value: dict[str, Any] | list[Any]) -> bool:
    if isinstance(value, _BlockMapping | _BlockList):
        return not value
    items = [*value, *value.values()] if isinstance(value, dict) else value
    if any(isinstance(item, dict | list) for item in items):
        return False
    return sum(len(str(item)) + 2 for item in items) <= FLOW_WIDTH
