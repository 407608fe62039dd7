"""Tests that a variable is named by what it is.

`told`, `said` and `one` fit everything, so that they name nothing.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from repository.sources import nodes_in, text_of

ROOT = Path(__file__).parents[2]
PACKAGES = ("sow", "worker", "bench", "proof", "tests")
REFUSED = {"told", "said", "one"}


def names_in(source: str) -> Iterator[tuple[int, str]]:
    """Yield every name that some code gives, and where: variables, parameters, attributes."""
    for node in nodes_in(source):
        match node:
            case ast.Name(id=name, ctx=ast.Store()):
                yield node.lineno, name
            case ast.Attribute(attr=name, ctx=ast.Store()):
                yield node.lineno, name
            case ast.arg(arg=name) | ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                yield node.lineno, name
            case ast.alias(asname=str(name)):
                yield node.lineno, name
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                yield node.lineno, name


def refused_in(source: str) -> list[int]:
    """Return the lines that give one of the refused names."""
    return [line for line, name in names_in(source) if name.strip("_") in REFUSED]


@pytest.mark.parametrize(
    "source",
    [
        "told = 1",
        "def f(said): ...",
        "lambda one: 1",
        "[0 for one in ()]",
        "self.told = 1",
        "class A:\n    said: str",
        "match 1:\n    case one: ...",
        "_told = 1",
    ],
)
def test_the_walk_finds_each_way_to_give_a_name(source: str) -> None:
    """Otherwise the test below shows nothing."""
    assert refused_in(source)


@pytest.mark.slow
@pytest.mark.parametrize("package", PACKAGES)
def test_nothing_is_named_told_said_or_one(package: str) -> None:
    """A reader must not have to look up what a value is."""
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in sorted((ROOT / package).rglob("*.py"))
        for line in refused_in(text_of(path))
    ]
    assert found == []
