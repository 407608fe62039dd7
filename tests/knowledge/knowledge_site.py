"""A workspace in which projects are begun and ended by the commands, in the test's own process."""

import json
from pathlib import Path
from typing import Any

from in_process import run_in_process

from sow.paths import Workspace
from sow.state.projects import change_project
from sow.state.workspace_init import init_workspace

NOON = 1_769_860_800.0


class KnowledgeSite:
    """A workspace, and what tests do in it."""

    def __init__(self, root: Path, environment: dict[str, str]) -> None:
        self.workspace = Workspace(root)
        self.environment = environment
        root.mkdir(parents=True, exist_ok=True)
        init_workspace(root)

    def sow(self, *words: str, code: int = 0, **more: str) -> str:
        """Run a command, which ends with that code, and return what it prints; else its errors."""
        ended = run_in_process(*words, env={**self.environment, **more}, cwd=self.workspace.root)
        assert ended.code == code, ended.err or ended.out
        return ended.out if code == 0 else ended.err

    def rows(self, *words: str) -> list[dict[str, Any]]:
        """Run a command with --json and return the objects that it prints."""
        return [json.loads(line) for line in self.sow(*words, "--json").splitlines()]

    def write(self, path: str, text: str) -> Path:
        """Write a file of the workspace."""
        file = self.workspace.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file

    def begin(self, name: str, kind: str = "standard", about: str = "") -> None:
        """Begin a project."""
        self.sow("project", "new", name, "--type", kind, "--description", about)

    def finish(self, *words: str) -> dict[str, Any]:
        """Complete the project, whatever it lacks, and finish it."""
        change_project(self.workspace, lambda _: {"state": "completed"}, now=NOON)
        (ended,) = self.rows("project", "finish", *words)
        return ended

    def index(self) -> dict[str, bytes]:
        """Return the files of the index, by their names."""
        folder = self.workspace.knowledge_index
        return {path.name: path.read_bytes() for path in sorted(folder.glob("*"))}
