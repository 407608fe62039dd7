"""`sow doctor`, run in process in a repository of its own, and the reading of what it says."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from in_process import Ended, run_in_process
from journeys.site import Site

REPORT = [[{"sow": ["task", "set", "status", "needs_review"]}]]


@dataclass
class Clinic:
    """A site, and what the doctor finds in it."""

    site: Site

    def program(self, name: str, script: str) -> Path:
        """Replace a program on PATH by a shell script."""
        path = self.site.base / "bin" / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        return path

    def without(self, *names: str) -> None:
        for name in names:
            (self.site.base / "bin" / name).unlink()

    def run_once(self, **env: str) -> None:
        """Run one agent, so that there are a queue and a worker."""
        self.site.forks = False  # the doctor reads the worker's variables in /proc
        self.site.project("010")
        self.site.script(REPORT)
        self.site.sow("agent", "spawn", "implementer", "010", env=env)

    def examine(self, *words: str, **env: str) -> Ended:
        """Run the doctor for people."""
        site = self.site
        return run_in_process("doctor", *words, env=site.environment(env), cwd=site.root)

    def findings(self, *words: str, **env: str) -> list[dict[str, Any]]:
        """Run the doctor for programs; the facts of a finding stand beside its own keys here."""
        found = json.loads(self.examine(*words, "--json", **env).out.splitlines()[0])["findings"]
        return [{**each["facts"], **each} for each in found]

    def finding(self, check: str, *words: str, **env: str) -> dict[str, Any]:
        """Return the only finding of this check, of those about the named executors if any."""
        (found,) = [each for each in self.findings(*words, **env) if each["check_name"] == check]
        return found
