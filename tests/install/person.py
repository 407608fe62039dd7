"""Somebody who installs the plugin: a home, a repository with `.sow`, and all that lies there."""

import json
import os
from pathlib import Path
from typing import Any

from in_process import Ended, run_in_process

Tree = dict[str, tuple[int, bytes]]


class Person:
    """Somebody with a home and a repository that has a `.sow` folder."""

    def __init__(self, folder: Path) -> None:
        self.home, self.repository = folder / "home", folder / "repository"
        for made in (self.home, self.repository / ".sow"):
            made.mkdir(parents=True)
        self.settings = self.home / ".claude/settings.json"
        self.local = self.repository / ".claude/settings.local.json"
        program = folder / "bin/sow"
        program.parent.mkdir()
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
        path = f"{program.parent}:{os.environ['PATH']}"
        self.env = {"HOME": str(self.home), "PATH": path, "LANG": "C.UTF-8"}

    def sow(self, *words: str, code: int = 0, **env: str) -> Ended:
        ended = run_in_process(*words, env={**self.env, **env}, cwd=self.repository)
        assert ended.code == code, ended.out + ended.err
        return ended

    def files(self) -> dict[str, bytes]:
        return {
            str(file.relative_to(self.home.parent)): file.read_bytes()
            for file in self.home.parent.rglob("*")
            if file.is_file() and ".git" not in file.parts
        }

    def tree(self) -> Tree:
        """Return all that lies there, folders and links as well, each with its mode and content."""
        found = {}
        for file in self.home.parent.rglob("*"):
            data = bytes(file.readlink()) if file.is_symlink() else b""
            if file.is_file() and not file.is_symlink():
                data = file.read_bytes()
            found[str(file.relative_to(self.home.parent))] = (file.lstat().st_mode, data)
        return found

    def json(self, *words: str, code: int = 0) -> Any:
        return json.loads(self.sow(*words, "--json", code=code).out)
