"""`sow config` where no repository is: in this process, or on a terminal, in one of its own."""

import os
import pty
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from in_process import Ended, run_in_process

SOW = str(Path(sys.executable).with_name("sow"))


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
        path = f"{self.base}/bin:{Path(SOW).parent}:/usr/bin:/bin"
        home = str(self.base / "home")
        env = {"HOME": home, "PATH": path, "LANG": "C.UTF-8", **self.env, **env}
        if answers is None:
            return run_in_process(*words, env=env, cwd=self.base)
        return self._on_terminal(words, env, answers)

    def _on_terminal(self, words: Sequence[str], env: Mapping[str, str], answers: str) -> Ended:
        keyboard, stdin = pty.openpty()
        os.write(keyboard, answers.encode())
        done = subprocess.run(
            [SOW, *words],
            env=env,
            cwd=self.base,
            stdin=stdin,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        for descriptor in (keyboard, stdin):
            os.close(descriptor)
        return Ended(done.returncode, done.stdout, done.stderr)
