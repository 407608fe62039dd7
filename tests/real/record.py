"""Records what the real Claude Code prints and how it ends, for tests that replay it.

Owns the list of scenarios and the scrubbing of this machine's paths. Run it by
hand when the pinned version moves, or for another version:

    python tests/real/record.py [VERSION]

writes `tests/recordings/claude-<version>/<scenario>.jsonl` (stdout, byte for
byte but for the scrubbing) and `<scenario>.json` (argv, stderr, how it ended).
"""

import json
import os
import re
import shutil
import sys
import tempfile
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from signal import Signals

from claude_install import install, pinned_version
from sandbox import SUBSCRIBER, Json, Sandbox, end_of, open_sandbox, wait_until
from scripted_model import HANG, quota

RECORDINGS = Path(__file__).parents[1] / "recordings"
PROMPT = "Carry out task 010.\nIt lies in .sow/project/phases/build/tasks/010/\n"
CLAUDE = ("claude", "-p", "--output-format", "stream-json", "--verbose")
ALLOWED = ("--permission-mode", "acceptEdits", "--allowedTools", "Bash(echo:*)")


@dataclass(frozen=True)
class Scenario:
    """One run to record. `{session}` in the arguments becomes the run's session id."""

    arguments: tuple[str, ...] = (*ALLOWED, "--session-id", "{session}")
    behaviour: Mapping[str, object] = field(default_factory=dict)
    prompt: str = PROMPT
    environ: Mapping[str, str] = field(default_factory=dict)
    program: tuple[str, ...] = CLAUDE
    after_spawn: bool = False
    """Whether the session exists: a spawn, not recorded, goes before."""
    signal: Signals | None = None
    """Sent while a shell command hangs."""


RESUME = (*ALLOWED, "--resume", "{session}")
TOUCH = {"commands": ["echo done {task_id}", "ls -a"]}

SCENARIOS: Mapping[str, Scenario] = {
    "spawn": Scenario(behaviour=TOUCH),
    "spawn-no-tools": Scenario(behaviour={"commands": []}),
    "resume": Scenario(RESUME, TOUCH, prompt="Once more.", after_spawn=True),
    "denied-tool": Scenario(behaviour={"commands": ["npm test"]}),
    "failed-tool": Scenario(behaviour={"commands": ["ls no-such-file"]}),
    "session-in-use": Scenario(after_spawn=True),
    "session-unknown": Scenario(RESUME),
    "session-not-a-uuid": Scenario(("--session-id", "010")),
    "api-400": Scenario(behaviour={"status": 400}),
    "api-401": Scenario(behaviour={"status": 401}),
    "api-403": Scenario(behaviour={"status": 403}),
    "api-404": Scenario(behaviour={"status": 404}),
    "api-429": Scenario(behaviour={"status": 429}),
    "api-500": Scenario(behaviour={"status": 500}),
    "api-529": Scenario(behaviour={"status": 529}),
    "api-429-once": Scenario(behaviour={**TOUCH, "status": 429, "times": 1}),
    "api-429-retry-after": Scenario(
        behaviour={"status": 429, "headers": (("retry-after", "3600"),)}
    ),
    "quota-rejected": Scenario(
        behaviour={"status": 429, "headers": quota("rejected")}, environ=SUBSCRIBER
    ),
    "quota-allowed": Scenario(
        behaviour={"commands": [], "headers": quota("allowed")}, environ=SUBSCRIBER
    ),
    "quota-warning": Scenario(
        behaviour={"commands": [], "headers": quota("allowed_warning")}, environ=SUBSCRIBER
    ),
    "stream-cut-in-a-block": Scenario(behaviour={**TOUCH, "cut": 3, "times": 1}),
    "stream-cut-after-a-block": Scenario(behaviour={**TOUCH, "cut": 4, "times": 1}),
    "connection-refused": Scenario(environ={"ANTHROPIC_BASE_URL": "http://127.0.0.1:9"}),
    "no-key": Scenario(environ={"ANTHROPIC_API_KEY": ""}),
    "root-without-sandbox": Scenario(("--dangerously-skip-permissions",)),
    "unknown-flag": Scenario(("--no-such-flag",)),
    "without-verbose": Scenario((), program=("claude", "-p", "--output-format", "stream-json")),
    "empty-prompt": Scenario(prompt=""),
    "slash-command": Scenario(behaviour={"commands": []}, prompt="/nosuchcommand do it"),
    "max-turns": Scenario((*ALLOWED, "--max-turns", "1"), TOUCH),
    "interrupted": Scenario(("--allowedTools", "Bash"), signal=Signals.SIGINT),
    "terminated": Scenario(("--allowedTools", "Bash"), signal=Signals.SIGTERM),
    "hung-up": Scenario(("--allowedTools", "Bash"), signal=Signals.SIGHUP),
    "killed": Scenario(("--allowedTools", "Bash"), signal=Signals.SIGKILL),
}


@dataclass(frozen=True)
class Recorded:
    """What a run left behind."""

    argv: tuple[str, ...]
    code: int
    """As subprocess tells it: negative for a signal."""
    stdout: str
    stderr: str


def perform(name: str, scenario: Scenario, sandbox: Sandbox) -> Recorded:
    """Run a scenario in a fresh sandbox."""
    session = str(uuid.uuid5(uuid.NAMESPACE_URL, name))
    arguments = (argument.replace("{session}", session) for argument in scenario.arguments)
    argv = (*scenario.program, *arguments)
    if scenario.after_spawn:
        sandbox.behave(**TOUCH)
        sandbox.run(*CLAUDE, *ALLOWED, "--session-id", session, stdin=PROMPT)
    if scenario.signal:
        return _interrupt(argv, scenario.signal, sandbox)
    sandbox.behave(**scenario.behaviour)
    done = sandbox.run(*argv, stdin=scenario.prompt, environ=scenario.environ)
    return Recorded(argv, done.returncode, done.stdout, done.stderr)


def _interrupt(argv: tuple[str, ...], number: Signals, sandbox: Sandbox) -> Recorded:
    """Send the signal while a shell command hangs."""
    sandbox.behave(commands=[HANG])
    process = sandbox.start(*argv, stdin=PROMPT)
    wait_until(lambda: HANG in sandbox.namespace.inhabitants().values(), "the shell command")
    process.send_signal(number)
    done = end_of(process)
    return Recorded(argv, done.returncode, done.stdout, done.stderr)


def scrubber(sandbox: Sandbox) -> Callable[[str], str]:
    """Return the function that takes this machine out of a text."""
    dashed = re.sub(r"[^A-Za-z0-9]", "-", str(sandbox.repository))
    port = sandbox.environ["ANTHROPIC_BASE_URL"].rpartition(":")[2]
    words = {
        str(sandbox.repository): "/home/user/repository",
        str(sandbox.home): "/home/user",
        sandbox.environ["TMPDIR"]: "/home/user/tmp",
        dashed: "-home-user-repository",
        f"127.0.0.1:{port}": "127.0.0.1:8080",
    }

    def scrub(text: str) -> str:
        for machine, neutral in words.items():
            text = text.replace(machine, neutral)
        return text

    return scrub


def record(name: str, scenario: Scenario, claude: Path, target: Path) -> None:
    """Perform a scenario and write its two files."""
    with (
        tempfile.TemporaryDirectory() as folder,
        open_sandbox(Path(folder), claude, os.environ) as sandbox,
    ):
        done = perform(name, scenario, sandbox)
        scrub = scrubber(sandbox)
    facts: Json = {
        "argv": done.argv,
        "exit_code": done.code if done.code >= 0 else None,
        "signal": -done.code if done.code < 0 else None,
        "stderr": scrub(done.stderr),
    }
    (target / f"{name}.jsonl").write_text(scrub(done.stdout), encoding="utf-8")
    (target / f"{name}.json").write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")


def main(version: str) -> None:
    """Record all scenarios of a version anew."""
    claude = install(os.environ, version)
    target = RECORDINGS / f"claude-{version}"
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    for name, scenario in SCENARIOS.items():
        record(name, scenario, claude, target)
        print(name)


if __name__ == "__main__":
    main(sys.argv[1] if sys.argv[1:] else pinned_version())
