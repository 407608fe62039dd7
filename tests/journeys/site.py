"""A repository with sow in it, stand-ins on PATH, and a hand to run things with."""

import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from forked import is_forkable, put_shim, run_forked, server
from own_queue import give_secret
from standins import install_standins

from sow.ids import ProjectId
from sow.paths import Workspace
from sow.state.projects import new_project
from sow.state.tasks import add_task
from sow.state.workspace_init import init_workspace

SOW = Path(sys.executable).with_name("sow")
DEADLINE_SECONDS = 300.0
"""For what hangs alone: a batch of a page takes minutes on a slow machine."""


@dataclass(frozen=True)
class Result:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one object that was printed."""
        return json.loads(self.out)

    @property
    def json_lines(self) -> list[Any]:
        return [json.loads(line) for line in self.out.splitlines()]


@dataclass
class Site:
    """One throw-away repository and its surroundings."""

    base: Path
    env: dict[str, str]
    started: list[subprocess.Popen[str]] = field(default_factory=list)
    forks: bool = True
    """Whether `sow`, and what it starts, may be forks: not where `/proc` is asked about them."""

    @property
    def root(self) -> Path:
        return self.base / "repo"

    @property
    def config_file(self) -> Path:
        return self.base / "home/.config/sow/config.yaml"

    def environment(self, extra: Mapping[str, str | None] | None = None) -> dict[str, str]:
        merged = {**self.env, **(extra or {})}
        return {name: value for name, value in merged.items() if value is not None}

    def sow(
        self,
        *words: str,
        env: Mapping[str, str | None] | None = None,
        cwd: Path | None = None,
        stdin: str | None = None,
        expect: int | None = 0,
    ) -> Result:
        """Run the true command to its end; `expect=None` takes any exit code.

        It is a process that is forked, unless its variables change how an interpreter starts.
        """
        around, folder = self.environment(env), cwd or self.root
        if self.forks and is_forkable(around):
            ended = run_forked(
                *words, env=around, cwd=folder, stdin=stdin, seconds=DEADLINE_SECONDS
            )
            result = Result(*ended)
        else:
            done = subprocess.run(
                [str(SOW), *words],
                cwd=folder,
                env=around,
                input=stdin,
                stdin=subprocess.DEVNULL if stdin is None else None,
                capture_output=True,
                text=True,
                timeout=DEADLINE_SECONDS,
                check=False,
            )
            result = Result(done.returncode, done.stdout, done.stderr)
        if expect is not None:
            assert result.code == expect, f"sow {' '.join(words)}: {result}\n{self.worker_logs()}"
        return result

    def start(
        self, *words: str, env: Mapping[str, str | None] | None = None, **popen: Any
    ) -> subprocess.Popen[str]:
        """Start the true command and go on; it is killed at the end of the test if need be."""
        options = {
            "stdin": subprocess.DEVNULL,
            "stdout": subprocess.PIPE,
            "stderr": subprocess.PIPE,
            "cwd": self.root,
            **popen,
        }
        process = subprocess.Popen(
            [str(SOW), *words], env=self.environment(env), text=True, **options
        )
        self.started.append(process)
        return process

    def project(self, *tasks: str, agent: str = "implementer") -> None:
        """Begin a project with these task ids, as `sow init` and its kin do, without processes."""
        now = time.time()
        workspace = Workspace(self.root)
        init_workspace(self.root)
        project_id = ProjectId(str(uuid.uuid4()))
        new_project(workspace, name="journey", project_id=project_id, now=now)
        for task in tasks:
            add_task(workspace, name=f"Task {task}", agent=agent, now=now, task_id=task)

    def change_branch(self, name: str) -> None:
        """Have HEAD name a branch, as a checkout does before it is over: where there is no git,
        a project that is gone while a job lives would be put back."""
        (self.root / ".git").mkdir(exist_ok=True)
        (self.root / ".git/HEAD").write_text(f"ref: refs/heads/{name}\n")

    def add_tasks(self, *tasks: str, agent: str) -> None:
        """Add more tasks to the project."""
        for task in tasks:
            workspace = Workspace(self.root)
            add_task(workspace, name=f"Task {task}", agent=agent, now=time.time(), task_id=task)

    def script(self, runs: Sequence[Sequence[Mapping[str, Any]]], task: str = "default") -> None:
        """Say what the agents of a task do, run by run (tests/standins/README.md)."""
        folder = self.root / ".standin"
        folder.mkdir(exist_ok=True)
        (folder / f"{task}.json").write_text(json.dumps(list(runs)))

    def configure(self, content: Mapping[str, Any]) -> None:
        """Write the user's configuration."""
        self.config_file.parent.mkdir(parents=True, exist_ok=True)
        self.config_file.write_text(yaml.safe_dump(dict(content)))

    def task_folder(self, task: str) -> Path:
        (folder,) = self.root.glob(f".sow/project/phases/*/tasks/{task}")
        return folder

    def task(self, task: str) -> dict[str, Any]:
        """Return the task as it stands on disk."""
        state: dict[str, Any] = yaml.safe_load((self.task_folder(task) / "state.yaml").read_text())
        return state["task"]

    def job(self, job: int) -> dict[str, Any]:
        """Return a job as `sow job show` tells it."""
        shown: dict[str, Any] = self.sow("job", "show", str(job), "--json").json
        return shown

    def workers(self) -> list[dict[str, Any]]:
        return self.sow("worker", "list", "--json").json_lines

    def worker_logs(self) -> str:
        logs = sorted(self.root.glob(".sow/run/workers/*.log"))
        return "\n".join(path.read_text() for path in logs)

    def kill(self, pid: int) -> None:
        os.kill(pid, signal.SIGKILL)

    def close(self) -> None:
        """Stop the workers and end what the test has started, agents among it."""
        for process in self.started:
            if process.poll() is None:
                process.kill()
            process.communicate()
        workspace = Workspace(self.root)
        if any(workspace.workers.glob("*.lock")):
            self.sow("worker", "stop", expect=None)
        if any(workspace.jobs.glob("*/*")):
            end_agents(self.root)


def end_agents(root: Path) -> None:
    """Kill what carries an attempt's id of a repository."""
    marker = f"SOW_ROOT={root}".encode()
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            if entry.name.isdigit() and marker in (entry / "environ").read_bytes().split(b"\0"):
                os.kill(int(entry.name), signal.SIGKILL)


def wait_until(
    condition: Callable[[], Any], what: str = "", seconds: float = DEADLINE_SECONDS
) -> Any:
    """Return the condition's first true value; fail when it stays false too long."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < deadline, f"never happened: {what or condition}"
        time.sleep(0.02)


def make_site(base: Path, *, forks: bool = True) -> Site:
    """Make an empty repository folder, a HOME and a PATH with the stand-ins and sow.

    `forks` is that of the site; without it agents call the true `sow` as well.
    """
    for name in ("repo", "home", "bin"):
        (base / name).mkdir()
    install_standins(base / "bin", sys.executable)
    if forks:
        put_shim(base / "bin/sow", server())
    give_secret(base / "home")
    path = os.pathsep.join([str(base / "bin"), str(SOW.parent), "/usr/bin", "/bin"])
    env = {"PATH": path, "HOME": str(base / "home"), "LANG": "C.UTF-8"}
    return Site(base, env, forks=forks)
