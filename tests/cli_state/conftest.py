"""The commands in-process, in a workspace of their own."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from sow.cli.root import run


class Done(NamedTuple):
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one object that was printed."""
        return json.loads(self.out)

    @property
    def lines(self) -> list[Any]:
        """The objects that were printed, one a line."""
        return [json.loads(line) for line in self.out.splitlines()]


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a program for each executor that sow has without a configuration."""
    folder = tmp_path_factory.mktemp("programs")
    program = folder / "claude"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    return folder


@pytest.fixture
def sow(
    tmp_path: Path,
    programs: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Callable[..., Done]:
    """Return a function that runs `sow` with these words in an empty folder.

    The default executor's program is on PATH: without it `sow next` names no run.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", os.pathsep.join([str(programs), os.environ["PATH"]]))

    def call(*words: str) -> Done:
        capsys.readouterr()
        code = run(words)
        captured = capsys.readouterr()
        return Done(code, captured.out, captured.err)

    return call


@pytest.fixture
def begun(
    sow: Callable[..., Done], tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., Done]:
    """Return the same, with a project of two tasks; the commands make it once for all tests."""
    made = tmp_path_factory.getbasetemp() / "begun"
    if made.exists():
        shutil.copytree(made, tmp_path / ".sow")
        return sow
    for words in (
        ("init",),
        ("project", "new", "Sign-in"),
        ("task", "add", "Add JWT auth", "--agent", "implementer"),
        ("task", "add", "Review it", "--agent", "reviewer", "--depends-on", "010"),
    ):
        assert sow(*words).code == 0
    shutil.copytree(tmp_path / ".sow", made)
    return sow


@pytest.fixture
def state(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that gives the state file of a task."""

    def path(task_id: str = "010", phase: str = "implementation") -> Path:
        return tmp_path / ".sow/project/phases" / phase / "tasks" / task_id / "state.yaml"

    return path


@pytest.fixture
def as_agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return a function that makes the calls that follow those of a task's agent."""

    def become(task_id: str = "010", role: str = "implementer") -> None:
        for name, value in {
            "SOW_ROOT": str(tmp_path),
            "SOW_JOB_ID": "7",
            "SOW_TASK_ID": task_id,
            "SOW_AGENT": role,
        }.items():
            monkeypatch.setenv(name, value)

    return become
