"""No module leads back to itself by its imports, wherever they stand.

An import inside a function, or for the types alone, closes a circle all the
same: none of its modules can be read without the others.
"""

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from repository.sources import nodes_in, nodes_of, text_of

import sow

ROOT = Path(sow.__file__).parents[1]
PACKAGES = ("sow", "worker", "bench", "proof")
MODULES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for package in PACKAGES
    for path in (ROOT / package).rglob("*.py")
}
Graph = Mapping[str, set[str]]


def imports_of(source: str) -> Iterator[str]:
    """Yield every module that some code imports: at its top, in functions, for types, by name."""
    for node in nodes_in(source):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for name in node.names:
                whole = f"{node.module}.{name.name}"
                yield whole if whole in MODULES else node.module
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def reached_from(start: str, graph: Graph) -> set[str]:
    """Return every module to which the imports of one lead, over any number of steps."""
    reached: set[str] = set()
    left = [start]
    while left:
        for module in graph[left.pop()] - reached:
            reached.add(module)
            left.append(module)
    return reached


def circles_in(graph: Graph) -> set[frozenset[str]]:
    """Return the sets of modules of which each leads to each other."""
    reached = {name: reached_from(name, graph) for name in graph}
    return {
        frozenset(other for other in others if name in reached[other])
        for name, others in reached.items()
        if name in others
    }


def graph_of(sources: Mapping[str, str]) -> Graph:
    """Return who imports whom, among the modules of these names."""
    return {
        name: {module for module in imports_of(source) if module in sources}
        for name, source in sources.items()
    }


@pytest.mark.parametrize(
    "back",
    [
        "import sow.errors",
        "def f():\n    import sow.errors",
        "def f():\n    from sow.errors import SowError",
        "def f():\n    from sow import errors",
        "if TYPE_CHECKING:\n    from sow.errors import SowError",
        "import_module('sow.errors')",
    ],
)
def test_the_search_finds_each_kind_of_circle(back: str) -> None:
    """Otherwise the test below shows nothing."""
    sources = {"sow.errors": "from sow.ids import TaskId", "sow.ids": back, "sow.clock": back}
    assert circles_in(graph_of(sources)) == {frozenset({"sow.errors", "sow.ids"})}


@pytest.mark.slow
def test_no_import_closes_a_circle() -> None:
    sources = {name: text_of(path) for name, path in MODULES.items()}
    graph = graph_of(sources)
    assert len(graph) > 200
    assert "sow.errors" in graph["sow.paths"], "edges are found"
    assert [sorted(circle) for circle in circles_in(graph)] == []


@pytest.mark.slow
def test_every_import_names_its_module_in_full() -> None:
    """The search above reads no `from . import x`."""
    for path in MODULES.values():
        for node in nodes_of(path):
            assert not (isinstance(node, ast.ImportFrom) and node.level), path
