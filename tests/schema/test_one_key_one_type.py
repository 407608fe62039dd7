"""A key of what commands print has the same type wherever it stands.

A program that reads the output of several commands trips over one that has not: a count is called
`job_count`, never `jobs`, for that is a list elsewhere.
"""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import inspect

from sow.schema.catalogue import ErrorView, outputs, printed_by

NUMBERS, TEXTS = (
    (inspect.IntType, inspect.FloatType),
    (inspect.StrType, inspect.EnumType, inspect.LiteralType, inspect.DateTimeType),
)
LISTS = (inspect.ListType, inspect.VarTupleType, inspect.TupleType, inspect.SetType)
OBJECTS = (inspect.StructType, inspect.DictType)


def kinds(type: Any) -> set[str]:
    """Return what JSON a type becomes, null left out."""
    match type:
        case inspect.Metadata():
            return kinds(type.type)
        case inspect.UnionType():
            return set().union(*map(kinds, type.types))
        case inspect.NoneType() | inspect.AnyType():
            return set()
        case inspect.BoolType():
            return {"boolean"}
    for word, classes in (
        ("number", NUMBERS),
        ("text", TEXTS),
        ("list", LISTS),
        ("object", OBJECTS),
    ):
        if isinstance(type, classes):
            return {word}
    if "Unset" in repr(type):
        return set()
    raise AssertionError(f"no JSON is known for {type}")


def below(type: Any) -> Iterator[type[Any]]:
    """Yield the structs that a type names, itself among them."""
    match type:
        case inspect.StructType():
            yield type.cls
        case inspect.Metadata():
            yield from below(type.type)
        case inspect.UnionType():
            for each in type.types:
                yield from below(each)
        case inspect.ListType() | inspect.VarTupleType() | inspect.SetType():
            yield from below(type.item_type)
        case inspect.TupleType():
            for each in type.item_types:
                yield from below(each)
        case inspect.DictType():
            yield from below(type.value_type)


def keys_of_all() -> dict[str, set[str]]:
    """Return the kinds of each key in what any command prints."""
    found: dict[str, set[str]] = defaultdict(set)
    left = [ErrorView, *(struct for words in outputs() for struct in printed_by(words))]
    seen: set[type[msgspec.Struct]] = set()
    while left:
        struct = left.pop()
        if struct in seen:
            continue
        seen.add(struct)
        info = inspect.type_info(struct)
        assert isinstance(info, inspect.StructType)
        for field in info.fields:
            found[field.encode_name] |= kinds(field.type)
            left += below(field.type)
    return found


def test_a_key_has_one_type() -> None:
    found = {key: sorted(several) for key, several in keys_of_all().items() if len(several) > 1}
    assert len(keys_of_all()) > 200
    assert found == {}
