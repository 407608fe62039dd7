"""The product's source, parsed once for all the tests that look through it.

A file of such tests bears the mark `xdist_group("sources")`, so that one process runs them all.
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


def nodes_of(path: Path) -> tuple[ast.AST, ...]:
    """Return all nodes of a file, the file itself first."""
    return nodes_in(text_of(path))


@cache
def text_of(path: Path) -> str:
    """Return what stands in a file."""
    return path.read_text(encoding="utf-8")


@cache
def nodes_in(source: str) -> tuple[ast.AST, ...]:
    """Return all nodes of a text, the whole of it first."""
    return tuple(ast.walk(ast.parse(source)))
