"""One door each: what stands behind it is reached through one package alone."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from repository.sources import nodes_in, text_of

import sow

pytestmark = pytest.mark.xdist_group("sources")
ROOT = Path(sow.__file__).parents[1]
STATEMENT = re.compile(
    r"\s*(select\s.*\sfrom\s|insert\s+(or\s+\w+\s+)?into\s|delete\s+from\s|update\s+\w+\s+set\s)",
    re.DOTALL | re.IGNORECASE,
)


def statements_in(source: str) -> Iterator[int]:
    """Yield the line of each text in some code that is an SQL statement."""
    for node in nodes_in(source):
        text = node.value if isinstance(node, ast.Constant) else None
        if isinstance(text, str) and STATEMENT.match(text):
            yield node.lineno


def found_in(paths: Iterator[Path]) -> list[str]:
    return [
        f"{path.relative_to(ROOT)}:{line}"
        for path in sorted(paths)
        for line in statements_in(text_of(path))
    ]


def test_sql_stands_in_the_package_of_the_queue_alone() -> None:
    files = [path for package in ("sow", "worker") for path in (ROOT / package).rglob("*.py")]
    queue = ROOT / "sow" / "jobs"
    assert len(found_in(path for path in files if path.is_relative_to(queue))) > 20
    assert found_in(path for path in files if not path.is_relative_to(queue)) == []
