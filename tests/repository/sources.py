"""The product's source, parsed once for all the tests that look through it.

One process runs them all (`TOGETHER` in `tests/handing_out.py`).
"""

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for package in ("sow", "worker")
    for path in sorted((ROOT / package).rglob("*.py"))
}
"""Every module by its name."""
BODIES = ("body", "orelse", "finalbody", "handlers", "cases")
"""Where a node has statements."""


def nodes_of(path: Path) -> tuple[ast.AST, ...]:
    """Return all nodes of a file, the file itself first."""
    return nodes_in(text_of(path))


@cache
def text_of(path: Path) -> str:
    """Return what stands in a file."""
    return path.read_text(encoding="utf-8")


@cache
def tree_in(source: str) -> ast.Module:
    """Return a text as Python reads it."""
    return ast.parse(source)


@cache
def nodes_in(source: str) -> tuple[ast.AST, ...]:
    """Return all nodes of a text, the whole of it first."""
    return tuple(ast.walk(tree_in(source)))


@cache
def statements_of(path: Path) -> tuple[ast.stmt, ...]:
    """Return all statements of a file, those inside others too, and none of their expressions."""
    found: list[ast.stmt] = []
    waiting: list[ast.AST] = [tree_in(text_of(path))]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.stmt):
            found.append(node)
        for name in BODIES:
            waiting.extend(getattr(node, name, ()))
    return tuple(found)


@cache
def imports_of(path: Path) -> frozenset[str]:
    """Return the modules that a file names in its imports, wherever they stand."""
    names: set[str] = set()
    for node in statements_of(path):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return frozenset(names)
