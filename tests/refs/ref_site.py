"""A workspace that has references, and the commands run in it."""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from in_process import Ended, run_in_process

from sow.git.run import git
from sow.paths import Workspace


@dataclass(frozen=True)
class RefSite:
    """A repository with a `.sow` folder."""

    root: Path

    @classmethod
    def begun(cls, root: Path) -> "RefSite":
        """Make one."""
        root.mkdir(parents=True)
        git(root, "init", "-q", "-b", "main")
        made = cls(root)
        made.good("init")
        return made

    @property
    def workspace(self) -> Workspace:
        """Its paths."""
        return Workspace(self.root)

    @property
    def index(self) -> Path:
        """Its index of references."""
        return self.workspace.reference_index

    def link(self, name: str) -> Path:
        """Return where a reference is linked."""
        return self.root / ".sow/refs" / name

    def sow(self, *words: str) -> Ended:
        """Run a command line."""
        return run_in_process(*words, env=dict(os.environ), cwd=self.root)

    def good(self, *words: str) -> Ended:
        """Run one that must succeed."""
        ended = self.sow(*words)
        assert ended.code == 0, (words, ended)
        return ended

    def json(self, *words: str) -> Any:
        """Run one with `--json`, and return its one object."""
        return json.loads(self.good(*words, "--json").out)

    def lines(self, *words: str) -> list[Any]:
        """Run one with `--json`, and return all its objects."""
        return [json.loads(line) for line in self.good(*words, "--json").out.splitlines()]


def cached_folders() -> list[Path]:
    """Return the repositories in the cache."""
    root = Path(os.environ["HOME"]) / ".cache/sow/refs"
    if not root.is_dir():
        return []
    return sorted(folder for folder in root.iterdir() if not folder.name.startswith("."))
