"""From text to values: PyYAML's safe C loader, taught what sow refuses, and a shorter way.

Owns that no key may stand twice. A file whose keys are all strings, which is nearly every one,
is made into values by a plain walk over its nodes; PyYAML's own way, which asks the same few
things of each node again, is taken for the rest and for every error. Both give the same
(`tests/yamlfile/test_loader.py`), but for an alias: the walk makes a value of its own of each.
The caller has seen to it that no alias refers to itself. Imported when YAML is read.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from sow.yamlfile.library import SafeLoader, yaml
from sow.yamlfile.usual import is_moment, is_number, is_string, moment

STRING, LIST, MAPPING = (f"tag:yaml.org,2002:{kind}" for kind in ("str", "seq", "map"))
NUMBER, MOMENT = (f"tag:yaml.org,2002:{kind}" for kind in ("int", "timestamp"))
ONE_VALUE = frozenset(f"tag:yaml.org,2002:{kind}" for kind in ("null", "bool", "float"))
ONE_VALUE |= {NUMBER, MOMENT}
"""The tags whose constructors make a value of a scalar at once, and remember nothing."""
SHORT = 64
"""Characters of a value whose kind is remembered: keys and words, which come again and again."""


class _Unusual(Exception):
    """A document that the short way does not take."""


class QuickTags:
    """How tags are found, for a loader or a dumper: no type goes by a node's place."""

    def resolve(self, kind: Any, value: Any, implicit: Any) -> Any:
        """Return the tag of a node that has none in the text."""
        if kind is yaml.nodes.MappingNode:
            return MAPPING
        if kind is yaml.nodes.ScalarNode and implicit[0]:
            return tag_of_plain(value)
        return _tag_of(kind, value, implicit)

    def descend_resolver(self, _node: Any, _index: Any) -> None:
        """Do nothing: sow has no types that go by a node's place, and this is asked of each."""

    def ascend_resolver(self) -> None:
        """Do nothing, as above."""


class Loader(QuickTags, SafeLoader):  # type: ignore[misc]
    """PyYAML's safe C loader, strict and quick."""

    @classmethod
    def data_of(cls, source: str) -> object:
        """Return what a text says. Raises YAMLError and ValueError."""
        loader = cls(source)
        try:
            data: object = loader.get_single_data()
        finally:
            loader.dispose()
        return data

    @classmethod
    def tree_of(cls, source: str) -> Any:
        """Return the tree of nodes of a text. Raises YAMLError."""
        loader = cls(source)
        try:
            return loader.get_single_node()
        finally:
            loader.dispose()

    def construct_document(self, node: Any) -> Any:
        """Return what a whole document says."""
        try:
            return self._usual(node)
        except (_Unusual, ValueError, yaml.error.YAMLError):
            _refuse_twice(node)
            return super().construct_document(node)

    def _usual(self, node: Any) -> Any:
        """Return what a node says. Raises _Unusual, and what a constructor of a scalar raises."""
        tag, value = node.tag, node.value
        if node.id == "scalar":
            return value if tag == STRING else self._usual_scalar(tag, node)
        if node.id == "sequence" and tag == LIST:
            return [self._usual(item) for item in value]
        if node.id == "mapping" and tag == MAPPING:
            return self._usual_mapping(value)
        raise _Unusual

    def _usual_scalar(self, tag: str, node: Any) -> Any:
        if tag not in ONE_VALUE:
            raise _Unusual
        if tag == MOMENT and is_moment(node.value):
            return moment(node.value)
        return self.yaml_constructors[tag](self, node)

    def _usual_mapping(self, pairs: Any) -> Any:
        data = {}
        for key_node, value_node in pairs:
            key = key_node.value
            if key_node.tag != STRING or key_node.id != "scalar" or key in data:
                raise _Unusual
            data[key] = self._usual(value_node)
        return data


def _refuse_twice(root: Any) -> None:
    """Raise ConstructorError for a key that stands twice, in whichever mapping below a node.

    Asked before PyYAML merges any mapping into another, which puts keys twice into its nodes.
    """
    waiting, met = [root], set()
    while waiting:
        node = waiting.pop()
        if node.id == "scalar" or id(node) in met:
            continue
        met.add(id(node))
        waiting.extend(node.value if node.id == "sequence" else _refuse_twice_in(node))


def _refuse_twice_in(mapping: Any) -> list[Any]:
    """Return the nodes in a mapping, none of whose keys stands twice. Raises ConstructorError."""
    seen = set()
    for key_node, _ in mapping.value:
        if key_node.id == "scalar" and key_node.value in seen:
            raise yaml.constructor.ConstructorError(
                problem=f"the key {key_node.value!r} stands twice",
                problem_mark=key_node.start_mark,
            )
        if key_node.id == "scalar":
            seen.add(key_node.value)
    return [node for pair in mapping.value for node in pair]


def _constructor(tag: str) -> Callable[[Loader, Any], Any]:
    """Return PyYAML's constructor of a tag, which raises ValueError for a text that is none.

    PyYAML's own takes for granted that a text has the form of its tag, which `!!bool x` need not.
    """
    construct = SafeLoader.yaml_constructors[tag]
    name = tag.rpartition(":")[2]

    def value_of(loader: Loader, node: Any) -> Any:
        try:
            return construct(loader, node)
        except (AttributeError, IndexError, KeyError) as error:
            raise ValueError(f"this is no {name}") from error

    return value_of


for _tag in ONE_VALUE:
    Loader.add_constructor(_tag, _constructor(_tag))

_tag_of: Any = yaml.resolver.Resolver().resolve
"""As PyYAML finds the tag; without types that go by a node's place, any resolver does."""


def tag_of_plain(value: str) -> Any:
    """Return the tag of a scalar without quotes, which follows from its text alone."""
    if len(value) <= SHORT:
        return _tag_of_short(value)
    return _tag_of(yaml.nodes.ScalarNode, value, (True, False))


@lru_cache(maxsize=1024)
def _tag_of_short(value: str) -> Any:
    """Return the tag of a short scalar without quotes.

    Words, ids, numbers and times as sow writes them are known without PyYAML's expressions:
    to compile these takes 1.4 ms, and the usual file needs none of them then.
    """
    if is_string(value):
        return STRING
    if is_number(value):
        return NUMBER
    if is_moment(value):
        return MOMENT
    return _tag_of(yaml.nodes.ScalarNode, value, (True, False))
