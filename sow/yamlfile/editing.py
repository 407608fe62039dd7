"""Changing YAML with its comments, its order of keys and its quoting kept.

Owns how values are written; knows no schema. A removed key goes with its own
lines only: the round trip would take the comments below it along.
"""

import re
from collections.abc import Mapping
from datetime import datetime
from functools import cache
from io import StringIO
from typing import Any

from msgspec import UNSET, UnsetType, to_builtins

from sow.clock import format_time
from sow.yamlfile.reading import compose, reads_as_string

REMOVE: UnsetType = UNSET
"""As a value of a change: take the key away."""

KeyPath = tuple[str, ...]

Changes = Mapping[str, object] | Mapping[KeyPath, object]
"""New values by dotted path, or by a tuple of keys where a key may hold a dot."""

FLOW_WIDTH = 60
"""New lists and mappings of plain values up to this long are written on one line."""

NO_WRAP = 1 << 20
_TIME_TAG = "tag:yaml.org,2002:timestamp"
_COMMENTS = r"(?:[ \t]*(?:#[^\n]*)?\n)*"
_KEY_ALONE = r"^(?P<key> *)[^\s#-][^\n]*:[ \t]*(?:#[^\n]*)?\n" + _COMMENTS
_BLOCK_SEQUENCE = _KEY_ALONE + r"(?P<dash> *)- "
_BLOCK_MAPPING = r"^[^\s#-][^\n]*:[ \t]*(?:#[^\n]*)?\n" + _COMMENTS + r"( +)[^\s#-]"


def edit_yaml(text: bytes, changes: Changes) -> bytes:
    """Return the document with `changes` made and everything else as it stood.

    A key that is to be removed and is not there is no error; mappings on the
    way to a new key are made. `text` must be valid YAML.
    """
    source = text.decode("utf-8-sig")
    line_end = "\r\n" if "\r\n" in source else "\n"
    source = source.replace("\r\n", "\n")
    written = {}
    for name, value in changes.items():
        path = tuple(name.split(".")) if isinstance(name, str) else name
        if value is REMOVE:
            source = _without(source, path)
        else:
            written[path] = to_builtins(value, builtin_types=(datetime,))
    if written:
        source = _with(source, written)
    return source.replace("\n", line_end).encode()


def dump_yaml(data: Mapping[str, object]) -> bytes:
    """Return a new document. Times are written as `2026-01-31T12:00:00Z`."""
    changes: dict[KeyPath, object] = {(key,): value for key, value in data.items()}
    return edit_yaml(b"", changes)


def _without(source: str, path: KeyPath) -> str:
    """Return `source` with the lines of one key gone."""
    found = _find(compose(source), path)
    if found is None:
        return source
    parent, key_node, value_node = found
    if parent.flow_style or len(parent.value) == 1:
        return _with(source, {path: REMOVE})
    lines = source.splitlines(keepends=True)
    del lines[key_node.start_mark.line : _last_line(value_node) + 1]
    return "".join(lines)


def _find(node: Any, path: KeyPath) -> tuple[Any, Any, Any] | None:
    """Return the mapping that holds `path`, and the nodes of its key and value."""
    found = None
    for key in path:
        pairs = node.value if node is not None and node.id == "mapping" else ()
        pair = next(((name, value) for name, value in pairs if name.value == key), None)
        if pair is None:
            return None
        found = (node, *pair)
        node = pair[1]
    return found


def _last_line(node: Any) -> int:
    """Return the last line a node is written on; a block's own end mark lies beyond it."""
    if node.id == "scalar" or node.flow_style or not node.value:
        end = node.end_mark
        return int(end.line if end.column or node.style not in ("|", ">") else end.line - 1)
    last = node.value[-1]
    return _last_line(last[1] if isinstance(last, tuple) else last)


def _with(source: str, changes: Mapping[KeyPath, object]) -> str:
    """Return `source` after a round trip through ruamel.yaml with `changes` made."""
    yaml = _round_trip(source)
    document = yaml.load(source)
    comments_only = "" if document is not None or not source else source.rstrip("\n") + "\n"
    document = _new({}) if document is None else document
    for path, value in changes.items():
        _change(document, path, value)
    stream = StringIO()
    yaml.dump(document, stream)
    return comments_only + stream.getvalue()


def _change(document: Any, path: KeyPath, value: object) -> None:
    parent = document
    for key in path[:-1]:
        if not isinstance(parent.get(key), dict):
            parent[key] = _new({})
        parent = parent[key]
    if value is REMOVE:
        del parent[path[-1]]
    else:
        parent[path[-1]] = _merged(parent.get(path[-1]), value)


def _merged(old: Any, value: Any) -> Any:
    """Return `value` to stand in the place of `old`, whose comments and quotes it keeps."""
    if isinstance(old, dict) and isinstance(value, dict) and old and value:
        for key in [key for key in old if key not in value]:
            del old[key]
        for key, item in value.items():
            old[key] = _merged(old.get(key), item)
        return old
    if isinstance(old, list) and isinstance(value, list) and old and value:
        del old[len(value) :]
        for index, item in enumerate(value[: len(old)]):
            if old[index] != item:
                old[index] = _merged(old[index], item)
        old.extend(_new(item) for item in value[len(old) :])
        return old
    if isinstance(value, str) and _is_quoted(old):
        return type(old)(value)
    return _new(value)


def _is_quoted(old: object) -> bool:
    from ruamel.yaml.scalarstring import DoubleQuotedScalarString, SingleQuotedScalarString

    return isinstance(old, DoubleQuotedScalarString | SingleQuotedScalarString)


def _new(value: object) -> Any:
    """Return `value` in ruamel.yaml's types, written so that PyYAML reads the same."""
    from ruamel.yaml.comments import CommentedMap, CommentedSeq
    from ruamel.yaml.scalarstring import DoubleQuotedScalarString

    new: Any
    match value:
        case dict():
            new = CommentedMap({_new(key): _new(item) for key, item in value.items()})
        case list():
            new = CommentedSeq(_new(item) for item in value)
        case datetime():
            return _plain_type()(format_time(value.timestamp()))
        case str() if "\n" in value or value.isdecimal() or not reads_as_string(value):
            return DoubleQuotedScalarString(value)
        case _:
            return value
    if _fits_one_line(value):
        new.fa.set_flow_style()
    return new


def _fits_one_line(value: dict[str, object] | list[object]) -> bool:
    items = [*value, *value.values()] if isinstance(value, dict) else value
    nested = any(isinstance(item, dict | list) for item in items)
    return bool(value) and not nested and sum(len(str(item)) + 2 for item in items) <= FLOW_WIDTH


@cache
def _plain_type() -> type[str]:
    """Return the type of a scalar that is written exactly as it is, without quotes."""

    class PlainScalar(str):
        __slots__ = ()

    return PlainScalar


@cache
def _round_trip_classes() -> tuple[Any, Any]:
    """Return ruamel.yaml's constructor and representer, taught to leave times as they stand."""
    from ruamel.yaml.constructor import RoundTripConstructor
    from ruamel.yaml.representer import RoundTripRepresenter

    class Constructor(RoundTripConstructor):
        pass

    class Representer(RoundTripRepresenter):
        pass

    plain = _plain_type()
    Constructor.add_constructor(_TIME_TAG, lambda _, node: plain(node.value))
    Representer.add_representer(
        plain, lambda representer, text: representer.represent_scalar(_TIME_TAG, str(text))
    )
    return Constructor, Representer


def _round_trip(source: str) -> Any:
    """Return ruamel.yaml's round trip, set to the indentation that `source` has."""
    from ruamel.yaml import YAML

    yaml = YAML(typ="rt", pure=True)
    yaml.Constructor, yaml.Representer = _round_trip_classes()
    yaml.preserve_quotes = True
    yaml.width = NO_WRAP
    mapping = re.search(_BLOCK_MAPPING, source, re.MULTILINE)
    sequence = re.search(_BLOCK_SEQUENCE, source, re.MULTILINE)
    offset = len(sequence["dash"]) - len(sequence["key"]) if sequence else 0
    yaml.indent(mapping=len(mapping[1]) if mapping else 2, sequence=offset + 2, offset=offset)
    return yaml
