"""An import inside a function says why it stands there.

In a comment at the imports themselves; or, where a whole module imports late,
in the module's docstring.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from repository.sources import nodes_in, text_of

import sow

ROOT = Path(sow.__file__).parents[1]


def without_reason(source: str) -> Iterator[int]:
    """Yield the line of each import in a function of which no comment says why it stands there."""
    nodes = nodes_in(source)
    tree = nodes[0]
    assert isinstance(tree, ast.Module)
    if re.search(r"\bimport(s|ed)?\b", ast.get_docstring(tree) or "", re.IGNORECASE):
        return
    lines = source.splitlines()
    for function in nodes:
        if isinstance(function, ast.FunctionDef):
            for node in ast.walk(function):
                late = isinstance(node, ast.Import | ast.ImportFrom)
                if late and not _has_comment(lines, node.lineno - 1):
                    yield node.lineno


def _has_comment(lines: list[str], index: int) -> bool:
    """Whether an import has a comment: at its end, or above it and the imports before it."""
    if "  # " in lines[index]:
        return True
    while lines[index].lstrip().startswith(("import ", "from ")):
        index -= 1
    return lines[index].lstrip().startswith("# ")


LATE = "def f():\n    {}import os\n    import sys\n"


def test_the_search_finds_an_import_without_a_reason() -> None:
    """Otherwise the test below shows nothing."""
    assert list(without_reason(LATE.format(""))) == [2, 3]
    assert list(without_reason(LATE.format("# rarely needed\n    "))) == []
    assert list(without_reason('"""A module of ours."""\n' + LATE.format(""))) != []
    assert list(without_reason('"""Imports late: it is heavy."""\n' + LATE.format(""))) == []


@pytest.mark.slow
@pytest.mark.parametrize("package", ["sow", "worker"])
def test_every_late_import_says_why(package: str) -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in sorted((ROOT / package).rglob("*.py"))
        for line in without_reason(text_of(path))
    ]
    assert found == []
