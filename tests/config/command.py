"""The true `sow config`, run anywhere: without a repository, on a terminal or without one."""

import os
import pty
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

SOW = str(Path(sys.executable).with_name("sow"))


@dataclass(frozen=True)
class Ended:
    """How a command ended, and what it said."""

    code: int
    out: str
    err: str


@dataclass
class Place:
    """A folder that is no repository, and a HOME."""

    base: Path
    env: dict[str, str] = field(default_factory=dict)

    @property
    def config(self) -> Path:
        return self.base / "home/.config/sow/config.yaml"

    def write(self, text: str) -> None:
        self.config.parent.mkdir(parents=True, exist_ok=True)
        self.config.write_text(text)

    def program(self, name: str, script: str) -> Path:
        """Put a shell script on PATH."""
        path = self.base / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        return path

    def sow(self, *words: str, answers: str | None = None, **env: str) -> Ended:
        """Run a command; with `answers`, on a terminal on which these are typed."""
        keyboard, stdin = pty.openpty() if answers is not None else (-1, subprocess.DEVNULL)
        if answers is not None:
            os.write(keyboard, answers.encode())
        path = f"{self.base}/bin:{Path(SOW).parent}:/usr/bin:/bin"
        home = str(self.base / "home")
        done = subprocess.run(
            [SOW, *words],
            env={"HOME": home, "PATH": path, "LANG": "C.UTF-8", **self.env, **env},
            cwd=self.base,
            stdin=stdin,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        for descriptor in {keyboard, stdin} if answers is not None else ():
            os.close(descriptor)
        return Ended(done.returncode, done.stdout, done.stderr)
