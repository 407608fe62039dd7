"""Changing YAML in place: the lines of a changed key are replaced, and no other line is.

Owns where the lines of a key begin and end. What goes there is written by
`rendering`. Knows no schema.
"""

import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from msgspec import to_builtins

from sow.plain_record import PlainRecord
from sow.yamlfile import REMOVE, Changes, Keys
from sow.yamlfile.problems import YamlProblem
from sow.yamlfile.reading import compose, decode, load, shared
from sow.yamlfile.rendering import PLAIN, plain_line, render, render_item

_ENTANGLED = "cannot be changed without disturbing the rest; write it as plain nested keys"


class _Pair(PlainRecord):
    """A key and its value in a node tree, and the mapping that holds them."""

    mapping: Any
    key: Any
    value: Any


def edit_yaml(text: bytes, changes: Changes, *, path: Path) -> bytes:
    """Return the document with `changes` made and every other line as it stood.

    A key that is to be removed and is not there is no error; mappings on the
    way to a new key are made. Comments stay, save those inside what a change
    replaces. `path` is for messages only. Raises YamlProblem for a text that
    is no YAML, or that is written so that a change would disturb the rest
    (a key that comes from an alias, for one).
    """
    source = decode(text, path)
    line_end = "\r\n" if "\r\n" in source else "\n"
    source = source.replace("\r\n", "\n")
    wanted = _load(source, path)
    plain_changes: list[tuple[Keys, object]] = []
    for name, value in changes.items():
        keys = tuple(name.split(".")) if isinstance(name, str) else name
        plain = value if value is REMOVE else to_builtins(value, builtin_types=(datetime,))
        _put(wanted, keys, plain)
        plain_changes.append((keys, plain))
    result = _with_lines(source, plain_changes)
    if result is None or not _says(result, wanted, path):
        result = _with_all(source, plain_changes)
        if shared(result, path) != wanted:
            raise YamlProblem(_ENTANGLED, path=path)
    return result.replace("\n", line_end).encode("utf-8", "replace")


def _says(source: str, wanted: object, path: Path) -> bool:
    try:
        return shared(source, path) == wanted
    except YamlProblem:
        return False


def _with_lines(source: str, changes: Iterable[tuple[Keys, object]]) -> str | None:
    """Return `source` with the line of each key changed, found by its text; None where that fails.

    So it is done without a tree of nodes where each key has a word, a number or a time on a line
    of its own, indented by two spaces a level, and where a new one comes behind a key of its
    mapping that ends the text. The same line may also stand within a text, or
    belong to another key: whoever calls compares what the result says.
    """
    for keys, value in changes:
        margin = "  " * (len(keys) - 1)
        entry = plain_line(keys[-1], value)
        if entry is None:
            return None
        begin = f"\n{margin}{keys[-1]}: "
        start = source.find(begin)
        if start < 0:
            if not _ends_with_key(source, margin):
                return None
            source += f"{margin}{entry}"
            continue
        end = source.find("\n", start + 1)
        is_only = source.find(begin, start + 1) < 0
        if end < 0 or not is_only or not PLAIN.issuperset(source[start + len(begin) : end]):
            return None
        source = f"{source[: start + 1]}{margin}{entry}{source[end + 1 :]}"
    return source


def _ends_with_key(source: str, margin: str) -> bool:
    """Whether the last line of a text begins with a word behind this margin."""
    last = source[source.rfind("\n", 0, -1) + 1 :]
    return last[-1:] == "\n" and last.startswith(margin) and last[len(margin)] in PLAIN


def _with_all(source: str, changes: Iterable[tuple[Keys, object]]) -> str:
    """Return `source` with all changes made, by its tree of nodes."""
    root = None
    for keys, value in changes:
        before, root = source, root or compose(source)
        source = _changed(source, keys, value, root)
        if isinstance(value, (dict, list)) or source.count("\n") != before.count("\n"):
            root = None  # else every other key is where it was
    return source


def _load(source: str, path: Path) -> dict[str, Any]:
    data = load(source, path)
    if not isinstance(data, dict):
        raise YamlProblem("expected a mapping", path=path)
    return data


def dump_yaml(data: Mapping[str, object]) -> bytes:
    """Return a new document. Times are written as `2026-01-31T12:00:00Z`."""
    return render(to_builtins(data, builtin_types=(datetime,))).encode()


def _put(data: Any, keys: Keys, value: object) -> None:
    """Make one change in the data of a document, as the text should then say."""
    for key in keys[:-1]:
        if not isinstance(data.get(key), dict):
            if value is REMOVE:
                return
            data[key] = {}
        data = data[key]
    if value is REMOVE:
        data.pop(keys[-1], None)
    else:
        data[keys[-1]] = value


def _changed(source: str, keys: Keys, value: object, root: Any = None) -> str:
    """Return `source` with one change made. `root` is its tree of nodes, where that is known."""
    if root is None:
        root = compose(source)
    way = _way(root, keys)
    if len(way) < len(keys):
        return source if value is REMOVE else _with_new(source, root, way, keys, value)
    pair = way[-1]
    if not _has_own_lines(source, pair) or (value is REMOVE and len(pair.mapping.value) == 1):
        return _with_parent(source, keys, value)
    if value is REMOVE:
        return _spliced(source, pair, "")
    if isinstance(value, dict) and value and _may_be_merged(source, pair):
        return _merged(source, keys, pair.value, value)
    if isinstance(value, list) and value and _is_block(pair, "sequence"):
        return _with_list(source, pair, _data(source, keys), value)
    first, newline, rest = render({pair.key.value: value}).partition("\n")
    return _spliced(source, pair, f"{first}{_comment_beside(source, pair)}{newline}{rest}")


def _way(root: Any, keys: Keys) -> list[_Pair]:
    """Return the pairs that lead along `keys` from the root, as far as they exist."""
    way: list[_Pair] = []
    node = root
    for key in keys:
        pairs = node.value if node is not None and node.id == "mapping" else ()
        found = next((_Pair(node, name, value) for name, value in pairs if name.value == key), None)
        if found is None:
            break
        way.append(found)
        node = found.value
    return way


def _is_alias(pair: _Pair) -> bool:
    """Whether the value is an alias: its node lies where the anchor is, before the key."""
    value, key = pair.value.start_mark, pair.key.start_mark
    return bool((value.line, value.column) < (key.line, key.column))


def _is_block(pair: _Pair, kind: str) -> bool:
    node = pair.value
    return bool(node.id == kind and not node.flow_style and node.value and not _is_alias(pair))


def _may_be_merged(source: str, pair: _Pair) -> bool:
    """Whether the value is a block mapping in which each key can be changed alone.

    A long key, or one of several lines, stands behind a question mark and cannot.
    """
    if not _is_block(pair, "mapping"):
        return False
    inner = (_Pair(pair.value, key, value) for key, value in pair.value.value)
    return all(_has_own_lines(source, each) for each in inner)


def _has_own_lines(source: str, pair: _Pair) -> bool:
    """Whether the key begins a line, so that its lines are its own."""
    line = source.splitlines()[pair.key.start_mark.line]
    return not pair.mapping.flow_style and not line[: pair.key.start_mark.column].strip()


def _with_parent(source: str, keys: Keys, value: object) -> str:
    """Return `source` with the mapping around `keys` written anew, the change made in it."""
    data = _data(source, keys[:-1])
    data = data if isinstance(data, dict) else {}
    _put(data, keys[-1:], value)
    if len(keys) > 1:
        return _changed(source, keys[:-1], data)
    comments = [line for line in source.splitlines(keepends=True) if line.startswith("#")]
    return "".join(comments) + render(data)


def _data(source: str, keys: Keys) -> Any:
    data: Any = load(source, Path())
    for key in keys:
        data = data[key]
    return data


def _with_new(source: str, root: Any, way: list[_Pair], keys: Keys, value: object) -> str:
    """Return `source` with a key that is not there yet, behind the last of its mapping."""
    depth = len(way)
    for key in reversed(keys[depth + 1 :]):
        value = {key: value}
    entry = render({keys[depth]: value})
    if root is None:
        return _with_end(source) + entry
    mapping = way[-1].value if way else root
    is_block = _is_block(way[-1], "mapping") if way else not root.flow_style
    if mapping.id != "mapping" or not is_block:
        return _with_parent(source, keys[: depth + 1], value)
    last = _Pair(mapping, *mapping.value[-1])
    lines = _with_end(source).splitlines(keepends=True)
    lines.insert(_last_line(lines, last) + 1, _indented(entry, mapping.start_mark.column))
    return "".join(lines)


def _with_end(source: str) -> str:
    return source if not source or source.endswith("\n") else source + "\n"


def _merged(source: str, keys: Keys, mapping: Any, value: dict[str, object]) -> str:
    """Return `source` with a block mapping changed key by key."""
    present = [name.value for name, _ in mapping.value]
    for name, item in value.items():
        source = _changed(source, (*keys, name), item)
    for name in present:
        if name not in value:
            source = _changed(source, (*keys, name), REMOVE)
    return source


def _spliced(source: str, pair: _Pair, entry: str) -> str:
    """Return `source` with the lines of `pair` replaced by `entry`."""
    lines = _with_end(source).splitlines(keepends=True)
    column = pair.key.start_mark.column
    after = _last_line(lines, pair) + 1
    rest = lines[after:] if entry else _outdented(lines[after:], column)
    return "".join([*lines[: pair.key.start_mark.line], _indented(entry, column), *rest])


def _outdented(lines: list[str], column: int) -> list[str]:
    """Return `lines` with the comments at their head no deeper than `column`.

    Below a block scalar a deeper one would become part of its text.
    """
    result = list(lines)
    for index, line in enumerate(lines):
        text = line.lstrip(" ")
        if text.strip() and not text.startswith("#"):
            break
        if text.startswith("#") and len(line) - len(text) > column:
            result[index] = " " * column + text
    return result


def _with_list(source: str, pair: _Pair, old: list[Any], new: list[Any]) -> str:
    """Return `source` with the items of a block list changed; those that stay keep their lines."""
    lines = _with_end(source).splitlines(keepends=True)
    begin = pair.key.start_mark.line + 1
    kept: list[tuple[Any, str]] = []
    for item, node in zip(old, pair.value.value, strict=True):
        end = _end_line(node) + 1
        kept.append((item, "".join(lines[begin:end])))
        begin = end
    written = ""
    for item in new:
        same = next((entry for entry in kept if entry[0] == item), None)
        if same:
            kept.remove(same)
        column = pair.value.start_mark.column
        written += same[1] if same else _indented(render_item(item), column)
    lines[pair.key.start_mark.line + 1 : begin] = [written]
    return "".join(lines)


def _comment_beside(source: str, pair: _Pair) -> str:
    """Return the comment on the line of a key, with the space before it."""
    lines = source.splitlines()
    end = pair.value.end_mark
    is_collection = _is_block(pair, "mapping") or _is_block(pair, "sequence")
    if is_collection or _is_alias(pair):
        found = re.search(r"\s+#.*", lines[pair.key.start_mark.line][pair.key.end_mark.column :])
    else:
        rest = lines[end.line][end.column :] if end.line < len(lines) else ""
        found = re.match(r"\s+#.*", rest.removeprefix(":"))
    return found[0].rstrip() if found else ""


def _last_line(lines: list[str], pair: _Pair) -> int:
    """Return the number of the last line that a pair is written on."""
    first = int(pair.key.start_mark.line)
    last = first if _is_alias(pair) else _end_line(pair.value)
    while last > first and not lines[last].strip():
        last -= 1
    return last


def _end_line(node: Any) -> int:
    """Return the line a node ends on; the end mark of a block lies beyond it."""
    if node.id != "scalar" and not node.flow_style and node.value:
        last = node.value[-1]
        return _end_line(last[1] if isinstance(last, tuple) else last)
    is_beyond = node.id == "scalar" and node.style in ("|", ">") and not node.end_mark.column
    return int(node.end_mark.line) - is_beyond


def _indented(entry: str, columns: int) -> str:
    margin = " " * columns
    return "".join(margin + line if line.strip() else line for line in entry.splitlines(True))
