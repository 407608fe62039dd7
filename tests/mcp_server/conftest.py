"""Fixtures of the tests of `sow mcp`."""

from pathlib import Path

import pytest
from mcp_server.place import Place, make_place


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """Return a repository with a project of two tasks."""
    return make_place(tmp_path)
