"""A workspace with a project, and the processes that tests run in it."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from sow.paths import Workspace
from sow.state.projects import new_project
from sow.state.workspace_init import init_workspace

NOON = 1_769_860_800.0
"""2026-01-31T12:00:00Z."""

PROJECT_ID = "0b5f4b7e-2d1a-4b58-9d8e-0e0e0e0e0e0e"


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """Return a workspace with an empty project."""
    init_workspace(tmp_path)
    made = Workspace(tmp_path)
    new_project(made, name="A project", project_id=PROJECT_ID, now=NOON)
    return made


@pytest.fixture
def script(workspace: Workspace) -> Callable[..., subprocess.Popen]:
    """Return a function that starts Python code in the workspace, with `workspace` defined."""
    prelude = (
        "import sys, time\nfrom pathlib import Path\nfrom sow.paths import Workspace\n"
        f"workspace = Workspace(Path({str(workspace.root)!r}))\n"
    )

    def start(code: str, *arguments: str) -> subprocess.Popen:
        return subprocess.Popen(
            [sys.executable, "-P", "-c", prelude + code, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    return start
