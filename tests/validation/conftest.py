"""A workspace with a project, git, and `sow validate` in the test's own process."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from in_process import run_in_process

from sow.paths import Workspace
from sow.state.projects import new_project
from sow.state.workspace_init import init_workspace

NOON = 1_769_860_800.0
"""2026-01-31T12:00:00Z."""
PROJECT_ID = "0b5f4b7e-2d1a-4b58-9d8e-0e0e0e0e0e0e"


class Validated(NamedTuple):
    """What `sow validate --json` has printed."""

    code: int
    record: dict[str, Any]

    @property
    def findings(self) -> list[tuple[str, str, int | None]]:
        """Kind, path and line of each finding."""
        return [(each["kind"], each["path"], each["line"]) for each in self.record["findings"]]

    @property
    def kinds(self) -> list[str]:
        return [kind for kind, _, _ in self.findings]


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """Return a workspace with an empty project."""
    init_workspace(tmp_path)
    made = Workspace(tmp_path)
    new_project(made, name="A project", project_id=PROJECT_ID, now=NOON)
    return made


@pytest.fixture
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return the variables of a user who has configured nothing."""
    home = tmp_path_factory.mktemp("home")
    return {
        "HOME": str(home),
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "GIT_AUTHOR_NAME": "a",
        "GIT_AUTHOR_EMAIL": "a@b",
        "GIT_COMMITTER_NAME": "a",
        "GIT_COMMITTER_EMAIL": "a@b",
        "GIT_CONFIG_GLOBAL": "/dev/null",
    }


@pytest.fixture
def sow(workspace: Workspace, environment: dict[str, str]) -> Callable[..., Any]:
    """Return a function that runs a command line, which has to succeed, and returns its output."""

    def run(*words: str) -> str:
        ended = run_in_process(*words, env=environment, cwd=workspace.root)
        assert ended.code == 0, ended.err
        return ended.out

    return run


@pytest.fixture
def validate(workspace: Workspace, environment: dict[str, str]) -> Callable[..., Validated]:
    """Return a function that runs `sow validate` with these words."""

    def run(*words: str) -> Validated:
        ended = run_in_process("validate", "--json", *words, env=environment, cwd=workspace.root)
        assert ended.err == ""
        return Validated(ended.code, json.loads(ended.out))

    return run


@pytest.fixture
def git(workspace: Workspace, environment: dict[str, str]) -> Callable[..., str]:
    """Return a function that runs git in the workspace; the first call makes the repository."""

    def run(*words: str, code: int = 0) -> str:
        done = subprocess.run(
            ["git", *words],
            cwd=workspace.root,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout

    run("init", "-q", "-b", "main")
    run("config", "commit.gpgsign", "false")
    return run


@pytest.fixture
def commit(git: Callable[..., str]) -> Callable[[str], None]:
    """Return a function that commits all there is."""

    def run(message: str) -> None:
        git("add", "-A")
        git("commit", "-q", "--allow-empty", "-m", message)

    return run


def snapshot(workspace: Workspace) -> dict[str, bytes]:
    """Return all files of `.sow` but the machine's own, by their names."""
    return {
        path.relative_to(workspace.sow).as_posix(): path.read_bytes()
        for path in sorted(workspace.sow.rglob("*"))
        if path.is_file() and not path.is_relative_to(workspace.run)
    }
