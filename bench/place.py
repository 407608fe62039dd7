"""A throw-away repository to measure in, with an agent that only reports."""

import os
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sow.ids import ProjectId
from sow.paths import Workspace
from sow.state.projects import new_project
from sow.state.tasks import add_task
from sow.state.workspace_init import init_workspace

SOW = Path(sys.executable).with_name("sow")

CONFIGURATION = """\
agents:
  executors:
    quick: {{type: command, settings: {{command: [{script}]}}}}
    waiting: {{type: command, settings: {{command: [{waiting}]}}}}
    loud: {{type: command, settings: {{command: [{loud}]}}}}
  bindings: {{implementer: quick, tester: waiting, architect: loud}}
worker: {{idle_exit: 1h}}
"""

SCRIPT = """\
#!/bin/sh
cat >/dev/null
state=$SOW_ROOT/.sow/project/phases/implementation/tasks/$SOW_TASK_ID/state.yaml
sed 's/^  status: .*/  status: needs_review/' "$state" >"$state.new" && mv "$state.new" "$state"
"""
"""An agent of a few milliseconds: what is measured is sow, not the agent."""

WAITING = SCRIPT.replace("state=", 'until test -e "$SOW_ROOT/go"; do sleep 1; done\nstate=', 1)
"""One that is at work until it is let go."""

LOUD_BYTES = 200_000_000
LOUD = SCRIPT.replace("state=", f"yes '{'x' * 999}' | head -c {LOUD_BYTES}\nstate=", 1)
"""One that prints much, in lines of a thousand bytes."""


@dataclass(frozen=True)
class Place:
    """The repository and how to run things in it."""

    workspace: Workspace
    env: dict[str, str]
    script: Path
    program: Path
    """The `sow` that is measured here."""

    @property
    def root(self) -> str:
        return str(self.workspace.root)

    def sow(self, *words: str) -> list[str]:
        return [str(self.program), *words]

    def add_task(self, task_id: str) -> None:
        add_task(
            self.workspace, name="bench", agent="implementer", now=time.time(), task_id=task_id
        )


def _write_program(path: Path, text: str) -> Path:
    path.write_text(text)
    path.chmod(0o755)
    return path


@contextmanager
def make_place(program: Path = SOW, script: str = SCRIPT) -> Iterator[Place]:
    """Make the repository; stop its worker at the end. What has made it removes it, after all.

    ext4 looks at each inode that was freed in the last minutes when it makes a file: in the
    neighbourhood of 5,000 removed files a new one took 250 to 570 instead of 23 µs of a processor
    (Linux 6.18). So nothing is removed while anything is measured.

    `program` may be the `sow` of another build, which then has to read the states that this one
    writes; its queue it makes itself. HOME is this process's own: copies of the states that it
    writes lie below it, where the worker looks for them.
    """
    base = Path(tempfile.mkdtemp(prefix="sow-bench-"))
    root = base / "repo"
    root.mkdir()
    agent = _write_program(base / "agent.sh", script)
    waiting = _write_program(base / "waiting.sh", WAITING)
    config = base / "config.yaml"
    loud = _write_program(base / "loud.sh", LOUD)
    config.write_text(CONFIGURATION.format(script=agent, waiting=waiting, loud=loud))
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    env = {**kept, "HOME": os.environ["HOME"], "SOW_CONFIG": str(config)}
    init_workspace(root)
    workspace = Workspace(root)
    project_id = ProjectId(str(uuid.uuid4()))
    new_project(workspace, name="bench", project_id=project_id, now=time.time())
    place = Place(workspace, env, agent, program)
    try:
        yield place
    finally:
        subprocess.run(
            place.sow("worker", "stop"),
            cwd=root,
            env=env,
            capture_output=True,
            check=False,
        )
