"""What a module imports for its types alone leads back to no module that imports it.

Such a circle is one all the same: neither module can be read without the other.
"""

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

import sow

ROOT = Path(sow.__file__).parents[1]
MODULES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for package in ("sow", "worker")
    for path in (ROOT / package).rglob("*.py")
}


def imports_of(tree: ast.AST) -> Iterator[str]:
    """Yield the modules of ours that are imported somewhere in a piece of source."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            for name in node.names:
                whole = f"{node.module}.{name.name}"
                module = whole if whole in MODULES else node.module
                if module in MODULES:
                    yield module


def for_types(tree: ast.AST) -> Iterator[str]:
    """Yield those that are imported for types alone."""
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            yield from imports_of(node)


def leads_to(start: str, end: str, graph: Mapping[str, set[str]]) -> bool:
    seen: set[str] = set()
    left = [start]
    while left:
        module = left.pop()
        if module == end:
            return True
        if module not in seen:
            seen.add(module)
            left += graph[module]
    return False


def test_no_type_only_import_closes_a_circle() -> None:
    trees = {name: ast.parse(path.read_text()) for name, path in MODULES.items()}
    graph = {name: set(imports_of(tree)) - {name} for name, tree in trees.items()}
    circles = [
        f"{name} -> {other}"
        for name, tree in trees.items()
        for other in for_types(tree)
        if leads_to(other, name, graph)
    ]
    assert any(list(for_types(tree)) for tree in trees.values()), "there are such imports"
    assert circles == []
