"""One task of one project, carried out by the real Claude Code through the true sow.

Owns the steps that every journey shares, and the reading of what it left. The
task's id is drawn at random, so that nothing can know it but from its prompt.
"""

import json
import random
from dataclasses import dataclass
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

from sandbox import Json, Sandbox

PHASES = ("build", "implementation", "clean-up")


@dataclass(frozen=True)
class Journey:
    """A repository with a project and one task, which an implementer is to do."""

    sandbox: Sandbox
    task_id: str
    folder: Path
    """The task's."""

    def configure(self, environ: dict[str, str] | None = None, **fields: Any) -> None:
        """Write the user's configuration: `settings` and `custom_args` of claude-code."""
        executor = {"type": "claude", "env": environ or {}, **fields}
        config = {
            "agents": {
                "executors": {"claude-code": executor},
                "bindings": {"implementer": "claude-code"},
            }
        }
        file = self.sandbox.home / ".config/sow/config.yaml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(config), encoding="utf-8")  # JSON is YAML

    def spawn(self, *options: str) -> CompletedProcess[str]:
        """Run `sow agent spawn`."""
        return self.sandbox.sow("agent", "spawn", "implementer", self.task_id, *options)

    def resume(self, prompt: str, *options: str) -> CompletedProcess[str]:
        """Run `sow agent resume`."""
        return self.sandbox.sow("agent", "resume", self.task_id, prompt, *options)

    def task(self) -> Json:
        """Return the task's state, as `sow task show` tells it."""
        return self._json_of("task", "show", self.task_id, "--json")

    def attempts(self, job: int = 1) -> list[Json]:
        """Return a job's attempts, oldest first."""
        attempts: list[Json] = self._json_of("job", "show", str(job), "--json")["attempts"]
        return attempts

    def log(self) -> str:
        """Return the task's log."""
        return (self.folder / "log.md").read_text("utf-8")

    def _json_of(self, *arguments: str) -> Json:
        done = self.sandbox.sow(*arguments)
        assert done.returncode == 0, done.stderr
        record: Json = json.loads(done.stdout)
        return record


def begin_journey(sandbox: Sandbox) -> Journey:
    """Make the repository, the project and the task, through sow."""
    task_id = str(random.randrange(100, 100_000)) + "0"
    phase = random.choice(PHASES)
    steps = (
        ("git", "init", "--quiet"),
        ("sow", "init"),
        ("sow", "project", "new", "trial", "--type", "quick", "--phase", phase),
        ("sow", "task", "add", "Try it", "--agent", "implementer", "--id", task_id),
    )
    for program, *arguments in steps:
        run = sandbox.sow if program == "sow" else (lambda *rest: sandbox.run("git", *rest))
        done = run(*arguments)
        assert done.returncode == 0, done.stderr
    folder = sandbox.repository / ".sow/project/phases" / phase / "tasks" / task_id
    assert folder.is_dir()
    return Journey(sandbox, task_id, folder)


def tool_results(request: Json) -> list[Json]:
    """Return the results of all tools in a request, oldest first."""
    return [
        block
        for message in request["messages"]
        if isinstance(message["content"], list)
        for block in message["content"]
        if block["type"] == "tool_result"
    ]


def shell_commands(request: Json) -> list[str]:
    """Return the commands of all tool uses in a request, oldest first."""
    return [
        block["input"]["command"]
        for message in request["messages"]
        if message["role"] == "assistant"
        for block in message["content"]
        if block["type"] == "tool_use"
    ]
