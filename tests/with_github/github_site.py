"""A workspace whose repository lies on the little GitHub, and a stand-in `gh` that asks it."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from calls.finishing import finish_anyhow
from in_process import Ended, run_in_process
from standins.install import install_gh
from with_github.rest import begun, issue_of, opened

from sow.paths import Workspace
from sow.state.workspace_init import init_workspace

REMOTE = "https://github.com/octo/app.git"
NOON = 1_769_860_800.0


class GithubSite:
    """A repository with a workspace, and what tests do there."""

    def __init__(self, folder: Path, *, has_gh: bool = True) -> None:
        self.root = folder / "work"
        self.root.mkdir(parents=True)
        self.workspace = Workspace(self.root)
        self.data = begun(folder / "github.json")
        binaries = folder / "bin"
        binaries.mkdir()
        if has_gh:
            install_gh(binaries, sys.executable)
        (folder / "home").mkdir()
        config = folder / "config.yaml"
        config.write_text("approve: agents\n")
        self.environment = {
            "HOME": str(folder / "home"),
            "PATH": f"{binaries}:/usr/local/bin:/usr/bin:/bin" if has_gh else _without_gh(binaries),
            "SOW_CONFIG": str(config),
            "SOW_TEST_GITHUB": str(self.data),
            "GIT_CEILING_DIRECTORIES": str(folder),
            **{f"GIT_{who}_NAME": "a" for who in ("AUTHOR", "COMMITTER")},
            **{f"GIT_{who}_EMAIL": "a@b" for who in ("AUTHOR", "COMMITTER")},
        }
        init_workspace(self.root)
        self.git("init", "-q", "-b", "main")
        self.git("remote", "add", "origin", REMOTE)
        self.commit("begin")
        self.push("main")

    def git(self, *words: str) -> str:
        """Run git in the repository and return what it prints."""
        return subprocess.run(
            ["git", *words],
            cwd=self.root,
            env=self.environment,
            check=True,
            capture_output=True,
            text=True,
        ).stdout.strip()

    def commit(self, message: str) -> None:
        """Commit all there is."""
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message)

    def push(self, branch: str, owner: str = "octo") -> None:
        """Have GitHub know the commit of a branch, as a push would."""
        with opened(self.data) as data:
            data["branches"][f"{owner}/app:{branch}"] = self.git("rev-parse", branch)

    def run(self, *words: str, gh: str = "", **more: str) -> Ended:
        """Run a command; `gh` names what goes wrong with the stand-in."""
        env = {**self.environment, "SOW_TEST_GH": gh, **more}
        return run_in_process(*words, env=env, cwd=self.root)

    def sow(self, *words: str, **more: str) -> str:
        """Run a command, which has to succeed, and return what it prints."""
        ended = self.run(*words, **more)
        assert ended.code == 0, ended.err
        return ended.out

    def row(self, *words: str) -> dict[str, Any]:
        """Run a command with --json, and return the one object that it prints."""
        return dict(json.loads(self.sow(*words, "--json")))

    def github(self) -> dict[str, Any]:
        """Return what GitHub knows."""
        return dict(json.loads(self.data.read_text()))

    def change_github(self, **fields: Any) -> None:
        """Have GitHub know something else."""
        with opened(self.data) as data:
            data.update(fields)

    def open_issue(self, number: int, login: str = "eve", **fields: Any) -> None:
        """Have an issue on GitHub."""
        with opened(self.data) as data:
            data["issues"].append(issue_of("octo/app", number, login, **fields))

    def breakdown(self) -> None:
        """Begin a breakdown of two approved units; the first depends on the second."""
        self.sow("project", "new", "Big move", "--type", "breakdown")
        words = ("--agent", "implementer")
        self.sow("task", "add", "Second", *words, "--id", "020", "--description", "# Do it\n\nNow.")
        self.sow("task", "add", "First", *words, "--id", "010", "--depends-on", "020")
        self.sow("approve", "010", "020")

    def finished(self, branch: str = "topic") -> None:
        """Have a finished project on a branch, committed and pushed."""
        self.git("checkout", "-qb", branch)
        self.sow("project", "new", "Sign-in", "--description", "For @all, fixes #7.")
        self.sow("task", "add", "Hash | it", "--agent", "implementer")
        self.end()
        self.commit("done")
        self.push(branch)

    def end(self) -> None:
        """Complete the project, whatever it lacks, and finish it."""
        finish_anyhow(self.workspace, self.environment, now=NOON)


def _without_gh(binaries: Path) -> str:
    """Return a PATH on which git is and gh is not."""
    for folder in os.environ["PATH"].split(os.pathsep):
        found = Path(folder) / "git"
        if found.exists():
            (binaries / "git").symlink_to(found)
            return str(binaries)
    raise AssertionError("there is no git")
