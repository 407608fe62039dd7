"""Reading YAML fast and strictly, with PyYAML's C loader.

Owns what sow takes for YAML: UTF-8, one document, no key twice, and the types
of a schema. Raises nothing but `YamlProblem`. Imports PyYAML when it reads: much imports
this module for its types and errors alone.
"""

from codecs import BOM_UTF8 as BOM
from collections.abc import Hashable, Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar, cast

from msgspec import ValidationError, convert

from sow.yamlfile.problems import KeyPath, YamlProblem, problem_at, problem_at_key
from sow.yamlfile.usual import is_moment, is_string, usual_data

T = TypeVar("T")

MAX_DEPTH = 200
MAX_NODES = 100_000
SMALL = 40_000
"""Characters of a text whose values are remembered."""
MOST_SHARED = 8_000
"""Bytes of a text whose value is remembered, of whatever type."""
FAR = " " * 64
"""Without so many spaces anywhere, indentation makes a text at most twice as deep: a list may lie
in the column of the key that holds it."""
MAX_DEPTH_OF_ALL = MAX_DEPTH + 2 * len(FAR)
"""How deep all is that is made into values: a walk takes two of Python's 1,000 frames a level."""


def read_yaml(text: bytes, type: type[T], *, path: Path) -> T:
    """Return the one document in `text` as a `type`; an empty document is an empty mapping.

    `path` is for messages only. Raises YamlProblem for invalid UTF-8, broken
    YAML, duplicate or unknown keys, missing keys and wrong types.
    """
    source = decode(text, path)
    data = load(source, path)
    try:
        return convert(data, type)
    except ValidationError as error:
        from sow.yamlfile.schema_problems import schema_problem

        root = compose(source)
        raise schema_problem(str(error), data, type, root, source, path=path) from None


def read_shared(text: bytes, type: type[T], *, path: Path) -> T:
    """Do as `read_yaml`; who reads the same text again gets the same value.

    So nobody changes what is in it. Settling a job reads its task's and its project's state some
    eighteen times. Raises YamlProblem.
    """
    if len(text) <= MOST_SHARED:
        with suppress(YamlProblem):  # it is raised anew, with the path
            return cast("T", _value_of(text, cast("Hashable", type)))
    return read_yaml(text, type, path=path)


@lru_cache(maxsize=64)
def _value_of(text: bytes, form: Any) -> object:
    return read_yaml(text, form, path=Path())


def problem_in(text: bytes, keys: KeyPath, reason: str, *, path: Path) -> YamlProblem:
    """Return the problem `reason` of what stands at `keys`, for a rule that no type can state.

    `text` is a document that `read_yaml` has accepted.
    """
    source = decode(text, path)
    return problem_at_key(reason, source, compose(source), keys, path=path)


def decode(text: bytes, path: Path) -> str:
    """Return `text` as a string, without a byte order mark. Raises YamlProblem."""
    text = text.removeprefix(BOM)  # the codec for that is imported anew by each command
    try:
        return text.decode()
    except UnicodeDecodeError as error:
        line = text.count(b"\n", 0, error.start) + 1
        column = error.start - text.rfind(b"\n", 0, error.start)
        reason = f"not UTF-8: byte 0x{text[error.start]:02x}"
        raise YamlProblem(reason, path=path, line=line, column=column) from None


def load(source: str, path: Path) -> object:
    """Return what `source` says, in Python's own types: the caller's own. Raises YamlProblem."""
    return unshared(shared(source, path))


def shared(source: str, path: Path) -> object:
    """Return the same, which others have too: the caller changes nothing. Raises YamlProblem."""
    if len(source) <= SMALL and (usual := _usual_data(source)) is not None:
        return usual
    from sow.yamlfile.library import yaml  # heavy: see there

    try:
        if _may_be_deep(source) and _is_too_deep(source):
            raise YamlProblem("its values are nested too deeply", path=path)
        if "&" in source and _expands_too_far(compose(source)):
            raise YamlProblem("its aliases refer to themselves, or expand too far", path=path)
        data = _data_of(source) if len(source) <= SMALL else _data_of.__wrapped__(source)
    except yaml.error.MarkedYAMLError as error:
        raise problem_at(_syntax_reason(error), source, error.problem_mark, path=path) from None
    except yaml.error.YAMLError as error:
        raise YamlProblem(str(error).partition("\n")[0], path=path) from None
    except ValueError as error:
        raise _unreadable_value(source, str(error), path) from None
    return {} if data is None else data


@lru_cache(maxsize=64)
def _usual_data(source: str) -> dict[str, Any] | None:
    """Return what a usual text says, as `_data_of` does."""
    return usual_data(source)


@lru_cache(maxsize=64)
def _data_of(source: str) -> object:
    """Return what a text says; the same text, which is read again and again, is parsed once."""
    data: object = _loader().data_of(source)
    return data


def unshared(data: Any) -> Any:
    """Return `data` with each alias a value of its own, so that a change of one is of that one."""
    if isinstance(data, dict):
        return {
            key: unshared(value) if isinstance(value, CONTAINERS) else value
            for key, value in data.items()
        }
    return [unshared(item) for item in data] if isinstance(data, list) else data


CONTAINERS = (dict, list)


def _may_be_deep(source: str) -> bool:
    """Whether a count of openings leaves room for great depth: the usual file needs no more."""
    openings = sum(source.count(mark) for mark in ("[", "{", "- ", "? "))
    return openings > MAX_DEPTH or FAR in source


def _is_too_deep(source: str) -> bool:
    """Whether `source` is nested so deep that libyaml's composer would overrun the C stack."""
    from sow.yamlfile.library import yaml  # heavy: see there

    depth = 0
    try:
        for event in yaml.parse(source, Loader=_loader()):
            if isinstance(event, yaml.CollectionStartEvent):
                depth += 1
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
            if depth > MAX_DEPTH:
                return True
    except yaml.error.MarkedYAMLError as error:
        # PyYAML 6.0.4 brings a libyaml with a limit of its own (1,000 levels, measured). Its
        # scanner reads ahead, so that it may raise before the first event.
        return "maximum nesting depth" in f"{error.problem} {error.context}"
    return False


def _expands_too_far(root: Any) -> bool:
    """Whether the tree, with every alias written out, has too many nodes, or is too deep."""
    waiting, seen = [(root, 1)], 0
    while waiting and seen <= MAX_NODES:
        node, depth = waiting.pop()
        seen += 1
        if depth > MAX_DEPTH_OF_ALL:
            return True
        if node is not None and node.id == "sequence":
            waiting.extend((item, depth + 1) for item in node.value)
        elif node is not None and node.id == "mapping":
            waiting.extend((child, depth + 1) for pair in node.value for child in pair)
    return seen > MAX_NODES


def _syntax_reason(error: Any) -> str:
    parts = [part for part in (error.problem, error.context) if part]
    if parts and parts[0].startswith("but "):
        parts.reverse()
    return " ".join(parts)


def _unreadable_value(source: str, reason: str, path: Path) -> YamlProblem:
    """Return the problem of a value that looks like a time or a number and is none."""
    from sow.yamlfile.library import yaml  # heavy: see there

    loader = _loader()("")
    for keys, node in _scalars(compose(source)):
        try:
            with suppress(
                yaml.error.YAMLError
            ):  # a tag of nobody's, say: one fault is told at a time
                loader.construct_object(node)
        except ValueError as error:
            return problem_at(
                f"{node.value!r} cannot be read ({error}); quote it if it is a string",
                source,
                node.start_mark,
                path=path,
                key=".".join(keys),
            )
    return YamlProblem(reason, path=path)


def _scalars(node: Any, keys: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    if node.id == "scalar":
        yield keys, node
    elif node.id == "sequence":
        for index, child in enumerate(node.value):
            yield from _scalars(child, (*keys, str(index)))
    else:
        for key_node, child in node.value:
            yield from _scalars(key_node, keys)
            yield from _scalars(child, (*keys, str(key_node.value)))


def compose(source: str) -> Any:
    """Return the tree of nodes, with their places, of text that loads."""
    return _loader().tree_of(source)


def reads_as_string(text: str) -> bool:
    """Whether `text`, written without quotes, is read as a string and not as `yes` or `010` are."""
    if is_string(text):
        return True
    if is_moment(text):
        return False
    from sow.yamlfile.loader import STRING, tag_of_plain  # heavy, as the library is

    return bool(tag_of_plain(text) == STRING)


def _loader() -> Any:
    from sow.yamlfile.loader import Loader  # heavy, as the library is

    return Loader
