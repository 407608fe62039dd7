"""One door each: what stands behind it is reached through one package alone."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from repository.sources import imports_of, nodes_in, text_of

import sow

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


@pytest.mark.slow
def test_sql_stands_in_the_package_of_the_queue_alone() -> None:
    files = [path for package in ("sow", "worker") for path in (ROOT / package).rglob("*.py")]
    queue = ROOT / "sow" / "jobs"
    assert len(found_in(path for path in files if path.is_relative_to(queue))) > 20
    others = (path for path in files if not path.is_relative_to(queue))
    assert {place.partition(":")[0] for place in found_in(others)} == {OWN_FILE, FEATURES_SUMS}


OWN_FILE = "sow/knowledge/text_index.py"
"""It searches documents in memory."""
FEATURES_SUMS = "sow/budgets/accounts.py"
"""The sums of a feature, which go with it."""


DOOR_OF_MCP = {f"sow/mcp_server/{name}.py" for name in ("server", "stdio")}
"""The modules that import the SDK of the Model Context Protocol, which may not be installed."""
BEHIND_IT = {"sow/mcp_server/calls.py", "sow/mcp_server/escrow.py", *DOOR_OF_MCP}
"""Those that import what comes with it."""


def importers_of(*names: str) -> set[str]:
    """Return the modules of ours that import one of these packages, early or late."""
    return {
        path.relative_to(ROOT).as_posix()
        for package in ("sow", "worker")
        for path in (ROOT / package).rglob("*.py")
        if any(
            f"{module}.".startswith(tuple(f"{name}." for name in names))
            for module in imports_of(path)
        )
    }


@pytest.mark.slow
def test_the_sdk_of_mcp_is_imported_by_its_server_alone() -> None:
    assert importers_of("mcp", "mcp_types") == DOOR_OF_MCP
    assert importers_of("anyio", "pydantic", "jsonschema") == BEHIND_IT
    users = importers_of("sow.mcp_server.stdio", "sow.mcp_server.server", "sow.mcp_server.calls")
    assert {user for user in users if not user.startswith("sow/mcp_server/")} == {"sow/cli/mcp.py"}
    tools = {
        user for user in importers_of("sow.mcp_server") if not user.startswith("sow/mcp_server/")
    }
    assert {Path(user).name.removesuffix(".py").split("_")[0] for user in tools} == {"mcp"}


DOOR_OF_LOCKS = "sow/files/flock.py"
OF_SUPERVISOR = {"worker/supervisor/supervise.py", "worker/supervisor/foreign_processes.py"}
"""They lock for themselves: the supervisor imports nothing of `sow.files`, for it starts fast."""


def test_files_are_locked_behind_one_door() -> None:
    callers = {
        path.relative_to(ROOT).as_posix()
        for package in ("sow", "worker")
        for path in (ROOT / package).rglob("*.py")
        if "fcntl.flock" in text_of(path)
    }
    assert callers == {DOOR_OF_LOCKS, *OF_SUPERVISOR}


@pytest.mark.slow
def test_textual_is_imported_by_the_live_view_alone() -> None:
    users = importers_of("textual", "rich")
    assert users
    assert all(user.startswith("sow/watching/") for user in users)
    outside = {
        user for user in importers_of("sow.watching") if not user.startswith("sow/watching/")
    }
    assert outside == {"sow/cli/watch.py"}
