"""`Dockerfile` and `compose.yaml`, run as the guide says, where a container engine answers.

A worker in a container is stopped with an agent at work, and started again.
`make proof` runs this; `make test` and CI do not. On a machine whose builds
need more, SOW_DOCKER_BUILD holds options for `docker build`.
"""

import json
import os
import shlex
import shutil
import subprocess
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from journeys.site import wait_until

from sow.ids import ProjectId
from sow.paths import Workspace
from sow.state.projects import new_project
from sow.state.tasks import add_task, read_task
from sow.state.workspace_init import init_workspace

pytestmark = pytest.mark.docker

REPOSITORY = Path(__file__).parents[2]
BUILD_OPTIONS = shlex.split(os.environ.get("SOW_DOCKER_BUILD", ""))
ENGINE_HOME = os.environ.get("HOME", "/")
"""Where the engine's own settings lie; a test's HOME is empty."""

AGENT = """\
#!/bin/sh
cat >/dev/null
echo begun >>/work/begun
until test -e /work/go; do sleep 0.1; done
sow task set status needs_review
"""
CONFIGURATION = """\
agents:
  executors: {waiting: {type: command, settings: {command: [/work/agent.sh]}}}
  bindings: {implementer: waiting}
"""


def run(*words: str, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        words, capture_output=True, text=True, timeout=900, check=False, **options
    )


def compose_command() -> list[str]:
    """Return how compose is called here; the test is left out where it cannot be."""
    engine = run("docker", "info") if shutil.which("docker") else None
    if engine is None or engine.returncode:
        pytest.skip("left out: no container engine answers here (`docker info`)")
    for words in (["docker", "compose"], ["docker-compose"]):
        if shutil.which(words[0]) and run(*words, "version").returncode == 0:
            return words
    pytest.skip("left out: there is an engine, but no `docker compose`")


@dataclass
class Composed:
    """The project's own compose file over a throw-away checkout."""

    compose: list[str]
    root: Path
    environ: dict[str, str]

    def __call__(self, *words: str, code: int = 0) -> str:
        done = run(*self.compose, *words, cwd=REPOSITORY, env=self.environ)
        assert done.returncode == code, f"{words}: {done.stdout}\n{done.stderr}"
        return done.stdout

    def sow(self, *words: str) -> list[dict[str, Any]]:
        """Run sow inside the container, and return what it prints as JSON."""
        printed = self("exec", "-T", "worker", "sow", *words, "--json")
        return [json.loads(line) for line in printed.splitlines()]

    def has_begun(self, times: int) -> bool:
        begun = self.root / "begun"
        return begun.exists() and len(begun.read_text().splitlines()) == times


@pytest.fixture
def image() -> Iterator[str]:
    tag = f"sow-worker-test:{uuid.uuid4().hex[:8]}"
    compose_command()
    built = run("docker", "build", *BUILD_OPTIONS, "--tag", tag, str(REPOSITORY))
    assert built.returncode == 0, built.stdout[-2000:] + built.stderr[-2000:]
    yield tag
    run("docker", "rmi", "--force", tag)


@pytest.fixture
def composed(image: str, tmp_path: Path) -> Iterator[Composed]:
    root, home = tmp_path / "checkout", tmp_path / "home"
    (home / ".config/sow").mkdir(parents=True)
    (home / ".config/sow/config.yaml").write_text(CONFIGURATION)
    root.mkdir()
    init_workspace(root)
    workspace, now = Workspace(root), time.time()
    new_project(workspace, name="shop", project_id=ProjectId(str(uuid.uuid4())), now=now)
    add_task(workspace, name="Task", agent="implementer", now=now, task_id="010")
    (root / "agent.sh").write_text(AGENT)
    (root / "agent.sh").chmod(0o755)
    override = tmp_path / "override.yaml"
    override.write_text(f"services: {{worker: {{image: '{image}'}}}}\n")
    files = ["--file", str(REPOSITORY / "compose.yaml"), "--file", str(override)]
    composed = Composed(
        [*compose_command(), *files, "--project-name", f"sow{uuid.uuid4().hex[:8]}"],
        root,
        {
            "PATH": os.environ["PATH"],
            "HOME": str(home),  # the configuration is found below it, with no variable set
            "DOCKER_CONFIG": f"{ENGINE_HOME}/.docker",
            "SOW_CHECKOUT": str(root),
            "SOW_USER": f"{os.getuid()}:{os.getgid()}",
        },
    )
    yield composed
    run(*composed.compose, "down", "--timeout", "5", cwd=REPOSITORY, env=composed.environ)


def test_a_worker_that_is_stopped_with_an_agent_at_work_goes_on_at_the_next_start(
    composed: Composed,
) -> None:
    composed("up", "--detach", "--no-build")
    wait_until(lambda: composed.sow("worker", "list"), "a worker is there")
    (queued,) = composed.sow("agent", "spawn", "implementer", "010", "--detach")
    assert queued["executor"] == "waiting"
    wait_until(lambda: composed.has_begun(1), "the agent is at work")
    composed("stop")
    assert read_task(Workspace(composed.root), "010").status == "in_progress"
    (composed.root / "go").touch()
    composed("up", "--detach", "--no-build")
    (outcome,) = composed.sow("agent", "wait", "010")
    assert (outcome["status"], outcome["exit_code"]) == ("needs_review", 0)
    assert outcome["job"] == queued["job"]
    assert composed.has_begun(2)
