"""What msgspec has to say about a YAML file, said for the person who has to mend it.

Owns the wording. Knows the messages of msgspec and how it describes a type;
imported only where a file does not fit its schema.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import msgspec

from sow.yamlfile.problems import (
    Key,
    KeyPath,
    YamlProblem,
    dotted,
    find_node,
    is_scalar,
    problem_at,
)

_NAMES = {
    "str": "a string",
    "int": "an integer",
    "float": "a number",
    "bool": "true or false",
    "datetime": "a time such as 2026-01-31T12:00:00Z",
    "date": "a date",
    "array": "a list",
    "object": "a mapping",
    "null": "nothing",
}
_READ_AS = {
    "bool": "a boolean",
    "int": "an integer",
    "float": "a number",
    "datetime": "a time",
    "date": "a date",
}
"""What YAML takes a value for that is no string."""
_MESSAGE = r"^(?P<what>.*?)(?: - at (?P<key>`key` in )?`\$(?P<path>.*)`)?$"
_STEP = r"\.([^.\[]+)|\[(\d+)\]|\[(\.\.\.)\]"
_ANY_KEY = "..."
LONGEST_SHOWN = 200
"""Of what a file says, in a message."""


def schema_problem(
    message: str, data: object, type: type[Any], root: Any, text: str, *, path: Path
) -> YamlProblem:
    """Return the problem that msgspec's validation `message` is about.

    `data` is what was read from `text`, `root` the node tree of the same text.
    """
    match = re.match(_MESSAGE, message, re.DOTALL)
    assert match is not None  # noqa: S101 - the pattern matches every text
    what = match["what"]
    steps = _steps(match["path"] or "")
    if match["key"]:
        steps = (*steps, _ANY_KEY)
    keys = _resolve(steps, message, data, type)
    named = re.search(r"unknown field `(.*)`", what, re.DOTALL)
    if named:
        keys = (*keys, named[1])
    node, key_node = find_node(root, keys)
    about_key = bool(named or match["key"])
    reason = _reason(what, keys, type, key_node if about_key else node)
    about_value = not about_key and is_scalar(node) and node.value
    place = node if about_value or key_node is None else key_node
    mark = None if place is None else place.start_mark
    return problem_at(reason, text, mark, path=path, key=dotted(keys))


def _steps(path: str) -> KeyPath:
    return tuple(
        int(index) if index else field or _ANY_KEY for field, index, _ in re.findall(_STEP, path)
    )


def _resolve(steps: KeyPath, message: str, data: object, type: type[Any]) -> KeyPath:
    """Return `steps` with every `...` (msgspec names no mapping keys) replaced by its key."""
    keys: KeyPath = ()
    for step in steps:
        found = _guilty_key(keys, message, data, type) if step == _ANY_KEY else step
        keys = (*keys, found)
    return keys


def _guilty_key(prefix: KeyPath, message: str, data: object, type: type[Any]) -> Key:
    """Return the key of the mapping at `prefix` that alone still draws `message`."""
    mapping = data
    for key in prefix:
        mapping = mapping[key]  # type: ignore[index]
    assert isinstance(mapping, Mapping)  # noqa: S101 - msgspec has just said so
    for key in mapping:
        try:
            msgspec.convert(_with_only(data, prefix, key), type)
        except msgspec.ValidationError as error:
            if str(error) == message:
                return key  # type: ignore[no-any-return]
    return _ANY_KEY


def _with_only(data: Any, prefix: KeyPath, key: Key) -> object:
    """Return a copy of `data` in which the mapping at `prefix` has `key` and no other."""
    if not prefix:
        return {key: data[key]}
    copy = data.copy()
    copy[prefix[0]] = _with_only(data[prefix[0]], prefix[1:], key)
    return copy


def _reason(what: str, keys: KeyPath, type: type[Any], node: Any) -> str:
    """Return msgspec's complaint `what` in plain words, with what the file says instead."""
    if what.startswith("Object contains unknown field"):
        return _unknown_key(keys, type)
    missing = re.search(r"missing required field `(.+)`", what)
    if missing:
        return f"the key {missing[1]!r} is missing"
    written = _shown(node.value) if is_scalar(node) else None
    if what.startswith("Invalid enum value"):
        return _unknown_word(written, keys, type)
    wrong_type = re.match(r"Expected `(.+)`, got `(.+)`", what)
    if wrong_type:
        return _wrong_type(wrong_type[1], wrong_type[2], written)
    return _broken_rule(what, written, keys, type)


def _shown(written: str) -> str:
    """Return what a file says for a message, which is for a line of a terminal."""
    return written if len(written) <= LONGEST_SHOWN else f"{written[:LONGEST_SHOWN]}…"


def _unknown_key(keys: KeyPath, type: type[Any]) -> str:
    known = [name for kind in _kinds(_info_at(type, keys[:-1])) for name in _field_names(kind)]
    return f"unknown key {keys[-1]!r}; {_nearest(str(keys[-1]), known)}"


def _unknown_word(written: str | None, keys: KeyPath, type: type[Any]) -> str:
    kinds = _kinds(_info_at(type, keys))
    enums = (kind.cls for kind in kinds if isinstance(kind, msgspec.inspect.EnumType))
    words = [str(member.value) for enum in enums for member in enum]
    return f"{written!r} is not one of: {', '.join(words)}"


def _wrong_type(expected: str, got: str, written: str | None) -> str:
    wanted = " or ".join(_NAMES.get(name, name) for name in expected.split(" | ") if name != "null")
    if written is None or got == "null":
        return f"expected {wanted}, got {_NAMES.get(got, got)}"
    if got == "str":
        return f"expected {wanted}, got {written!r}"
    quote = f'; quote it: "{written}"' if "str" in expected else ""
    return f"expected {wanted}, got {written} ({_READ_AS.get(got, got)}){quote}"


def _broken_rule(what: str, written: str | None, keys: KeyPath, type: type[Any]) -> str:
    if "of length >= 1" in what:
        return "must not be empty"
    wanted = re.sub(r"`(\w+)`", lambda match: _NAMES.get(match[1], match[1]), what)
    if "matching regex" in what:
        wanted = f"Expected {_description(type, keys) or wanted[9:]}"
    if "timezone" in what:
        wanted = f"Expected {_NAMES['datetime']}, with its Z"
    got = f", got {written!r}" if written is not None else ""
    return wanted[:1].lower() + wanted[1:] + got


def _nearest(word: str, known: Sequence[str]) -> str:
    near = get_close_matches(word, known, n=1)
    return f"did you mean {near[0]!r}?" if near else f"known here: {', '.join(known)}"


def _info_at(type: type[Any], keys: KeyPath) -> Any:
    """Return msgspec's description of the type at `keys`, or None.

    Of several types that may stand somewhere, the one that has the next key counts.
    """
    info: Any = msgspec.inspect.type_info(type)
    for key in keys:
        children = (_child_info(kind, key) for kind in _kinds(info))
        info = next((child for child in children if child is not None), None)
    return info


def _child_info(info: Any, key: Key) -> Any:
    match info:
        case msgspec.inspect.StructType():
            fields = (field for field in info.fields if field.encode_name == key)
            return next((field.type for field in fields), None)
        case msgspec.inspect.DictType():
            return info.value_type
        case msgspec.inspect.ListType():
            return info.item_type
        case _:
            return None


def _kinds(info: Any) -> Iterator[Any]:
    """Yield the types inside metadata and inside a union, but for `UNSET` and `None`."""
    if isinstance(info, msgspec.inspect.UnionType):
        for kind in info.types:
            yield from _kinds(kind)
    elif isinstance(info, msgspec.inspect.Metadata):
        yield from _kinds(info.type)
    elif info is not None and not _is_nothing(info):
        yield info


def _is_nothing(info: Any) -> bool:
    return isinstance(info, msgspec.inspect.NoneType) or "Unset" in repr(info)


def _field_names(info: Any) -> list[str]:
    return [field.encode_name for field in getattr(info, "fields", ())]


def _description(type: type[Any], keys: KeyPath) -> str:
    """Return what the schema says of the value at `keys`, or nothing.

    What is said with the rule itself counts before what is said of the field.
    """
    return next(filter(None, _descriptions(_info_at(type, keys))), "")


def _descriptions(info: Any) -> Iterator[str]:
    """Yield the descriptions of a type, the innermost first."""
    if isinstance(info, msgspec.inspect.Metadata):
        yield from _descriptions(info.type)
        yield str((info.extra_json_schema or {}).get("description", ""))
    for inner in getattr(info, "types", ()):
        yield from _descriptions(inner)
