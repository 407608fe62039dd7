"""The product's source, read and parsed once for all the tests that look through it."""

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


@cache
def nodes_of(path: Path) -> tuple[ast.AST, ...]:
    """Return all nodes of a file, the file itself first."""
    return tuple(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
