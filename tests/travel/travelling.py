"""A checkout at which a task is at home, its remote, and the checkout of a host."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from journeys.gitsite import commit, git, make_repository
from journeys.site import Site, make_site

from sow.clones.main_checkout import known_settings
from sow.ids import JobId
from sow.paths import Workspace
from sow.schema.travel import Travel
from sow.state.projects import read_project
from sow.travel.leaving import send_out

BY = ("-c", "user.name=A", "-c", "user.email=a@example.invalid")


@dataclass
class Travelling:
    """What was sent of task 010, from where, and the repository of a host."""

    site: Site
    travel: Travel
    elsewhere: Path

    @property
    def workspace(self) -> Workspace:
        return Workspace(self.site.root)

    @property
    def project_id(self) -> str:
        return read_project(self.workspace).id

    def send(self) -> Travel:
        """Send the task once more, as it stands."""
        settings = known_settings(self.workspace)
        travel = send_out(self.workspace, settings, "origin", JobId(2), "010")
        assert travel is not None
        return travel

    def git_elsewhere(self, *words: str, stdin: str | None = None) -> str:
        done = subprocess.run(
            ["git", *BY, *words],
            cwd=self.elsewhere,
            input=stdin,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.strip()


@contextmanager
def travelling(base: Path, monkeypatch: Any) -> Iterator[Travelling]:
    """Give such a pair; the project is in no commit."""
    site = make_site(base, forks=False)
    monkeypatch.setenv("HOME", site.env["HOME"])
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    make_repository(site)
    (site.root / ".git/info/exclude").write_text(".sow/\n")
    site.project("010", "020")
    commit(site)
    remote = os.fspath(base / "remote.git")
    git(site, "init", "-q", "--bare", "-b", "main", remote)
    git(site, "remote", "add", "origin", remote)
    git(site, "push", "-q", "origin", "main")
    git(site, "clone", "-q", remote, str(base / "elsewhere"))
    settings = known_settings(Workspace(site.root))
    travel = send_out(Workspace(site.root), settings, "origin", JobId(1), "010")
    assert travel is not None
    yield Travelling(site, travel, base / "elsewhere")
