"""Records what the real agent CLIs besides Claude Code print and how they end.

Owns the list of scenarios. Each is run with the command line of sow's own executor, without sow,
in a place of its own. Run it by hand when a pinned version moves:

    python tests/real/record_natives.py NAME [SCENARIO …]

writes `tests/recordings/<name>-<version>/<scenario>.jsonl` (stdout, byte for byte but for the
scrubbing) and `<scenario>.json` (argv, stderr, how it ended).
"""

import json
import os
import re
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from signal import Signals
from subprocess import PIPE
from typing import Any

from native_trial import Trial, open_trial
from natives import NATIVES, install_native
from sandbox import wait_until

from sow.attempts.homes import home_of, in_home, make_home
from sow.executors.base import LaunchRequest
from sow.executors.registry import make_executor
from sow.executors.session import Session, SessionSource
from sow.schema.executor import ExecutorConfig
from sow.schema.executor_type import ExecutorType

RECORDINGS = Path(__file__).parents[1] / "recordings"
PROMPT = "Carry out task 010.\nIt lies in .sow/project/phases/build/tasks/010/\n"
UNKNOWN = "0f0c0b5e-1111-4222-8333-444455556667"
COMMANDS = ("task show", "task set", "agent log", "prompt")
SECONDS = 300.0
Json = dict[str, Any]
SLEEP: Json = {"run": "true; sleep 600"}
TOUCH: tuple[Json, ...] = ({"run": "sow prompt guidance/implementer/base"}, {"run": "echo done"})


@dataclass(frozen=True)
class Scenario:
    """One run to record."""

    answers: tuple[Json, ...] = ()
    then: Json = field(default_factory=lambda: {"say": "That is all."})
    prompt: str = PROMPT
    environ: Mapping[str, str] = field(default_factory=dict)
    custom_args: tuple[str, ...] = ()
    yolo_mode: bool = False
    begins: bool = True
    """Whether it spawns a session; else it resumes one."""
    after_spawn: bool = False
    """Whether the session exists: a spawn, not recorded, goes before."""
    signal: Signals | None = None
    """Sent to the program while a command of its agent runs."""
    gives_up: bool = True
    """Whether it ends by itself; else it is killed after a minute."""
    past_launcher: bool = False
    """Whether the program behind its launcher is run, where there is such a one."""
    elsewhere: bool = False
    """Whether it runs in a folder below the one in which a session before it ran."""


SCENARIOS: Mapping[str, Scenario] = {
    "spawn": Scenario(TOUCH, yolo_mode=True),
    "spawn-no-tools": Scenario(),
    "resume": Scenario(TOUCH, prompt="Once more.", begins=False, after_spawn=True, yolo_mode=True),
    "denied-tool": Scenario(({"run": "npm test"},)),
    "failed-tool": Scenario(({"run": "ls no-such-file"},), yolo_mode=True),
    "session-in-use": Scenario(after_spawn=True),
    "session-unknown": Scenario(begins=False),
    "api-400": Scenario(then={"status": 400}),
    "api-401": Scenario(then={"status": 401}),
    "api-403": Scenario(then={"status": 403}),
    "api-404": Scenario(then={"status": 404}),
    "api-429": Scenario(then={"status": 429}, gives_up=False),
    "api-429-retry-after": Scenario(
        then={"status": 429, "headers": {"retry-after": "1"}}, gives_up=False
    ),
    "api-500": Scenario(then={"status": 500}, gives_up=False),
    "empty-answer": Scenario(then={"empty": True}),
    "stream-cut-once": Scenario(({"cut": True},)),
    "unknown-flag": Scenario(custom_args=("--no-such-flag",)),
    "empty-prompt": Scenario(prompt=""),
    "slash-command": Scenario(prompt="/nosuchcommand do it"),
    "terminated": Scenario(({"run": "sleep 600"},), yolo_mode=True, signal=Signals.SIGTERM),
    "interrupted": Scenario(({"run": "sleep 600"},), yolo_mode=True, signal=Signals.SIGINT),
    "killed": Scenario(({"run": "sleep 600"},), yolo_mode=True, signal=Signals.SIGKILL),
    "binary-terminated": Scenario(
        ({"run": "sleep 600"},), yolo_mode=True, signal=Signals.SIGTERM, past_launcher=True
    ),
    "binary-interrupted": Scenario(
        ({"run": "sleep 600"},), yolo_mode=True, signal=Signals.SIGINT, past_launcher=True
    ),
}

OWN: Mapping[str, Mapping[str, Scenario]] = {
    "qwen": {  # its shell refuses a `sleep` that stands alone
        "terminated": Scenario((SLEEP,), yolo_mode=True, signal=Signals.SIGTERM),
        "interrupted": Scenario((SLEEP,), yolo_mode=True, signal=Signals.SIGINT),
        "killed": Scenario((SLEEP,), yolo_mode=True, signal=Signals.SIGKILL),
    },
    "gemini": {
        "api-429": Scenario(then={"status": 429}),
        "resume-elsewhere": Scenario(begins=False, after_spawn=True, elsewhere=True),
        "commands-in-a-list": Scenario(({"run": 'sow agent log "a > b" && sow task show 010'},)),
        "denied-redirection": Scenario(({"run": "sow task show 010 > file"},)),
        "denied-edit": Scenario(
            ({"call": "write_file", "with": {"file_path": "package.json", "content": "{}"}},)
        ),
        "edit": Scenario(
            ({"call": "write_file", "with": {"file_path": "new.txt", "content": "new\n"}},)
        ),
        "named-file": Scenario(prompt="Look at @README.md, and write to me@README.md.\n"),
    },
}
"""Where a CLI has traps of its own."""


@dataclass(frozen=True)
class Recorded:
    """What a run left behind."""

    argv: tuple[str, ...]
    code: int
    """As subprocess tells it: negative for a signal."""
    stdout: str
    stderr: str


def perform(scenario: Scenario, trial: Trial) -> Recorded:
    """Run a scenario in a fresh place."""
    session = UNKNOWN
    if scenario.after_spawn:
        trial.tell()
        found = _run(Scenario(), trial, session)
        session = _session_of(trial, found.stdout) or session
    trial.tell(*scenario.answers, then=scenario.then)
    return _run(scenario, trial, session)


def _run(scenario: Scenario, trial: Trial, session: str) -> Recorded:
    native = trial.native
    config = ExecutorConfig(
        name=native.name,
        type=ExecutorType(native.name),
        model=native.model,
        yolo_mode=scenario.yolo_mode,
        custom_args=(*native.custom_args, *scenario.custom_args),
    )
    executor = make_executor(config)
    os.environ["XDG_STATE_HOME"] = str(trial.records)
    home = trial.records / "sow/homes/one" if home_of(config) else None
    begins = scenario.begins and executor.session_source is not SessionSource.CHOSEN
    request = LaunchRequest(
        session=None if begins else Session(session),
        prompt=scenario.prompt,
        prompt_file=trial.records / "prompt.md",
        task_dir=trial.repository / ".sow/project/phases/build/tasks/010",
        cwd=trial.repository / "below" if scenario.elsewhere else trial.repository,
        as_root=os.geteuid() == 0,
        environ=trial.environ,
        commands=COMMANDS,
        writable=(trial.repository / ".sow",),
        home=home,
    )
    request.cwd.mkdir(exist_ok=True)
    launch = executor.spawn(request) if scenario.begins else executor.resume(request)
    launch = in_home(launch, config, home, trial.environ)
    if home is not None:
        make_home(home, config, trial.environ, launch.home_files)
    for name, text in launch.files.items():
        (trial.records / name).write_text(text, encoding="utf-8")
    around = {**trial.environ, **launch.env, **scenario.environ, "SOW_ROOT": str(trial.repository)}
    argv = (native.binary, *launch.argv[1:]) if scenario.past_launcher else launch.argv
    process = trial.namespace.start(
        argv, cwd=launch.cwd, env=around, stdin=PIPE, stdout=PIPE, stderr=PIPE
    )
    assert process.stdin
    process.stdin.write(launch.stdin)
    process.stdin.close()
    process.stdin = None
    if scenario.signal is not None:
        wait_until(lambda: "sleep 600" in trial.namespace.inhabitants().values(), "its command")
        time.sleep(1)
        process.send_signal(scenario.signal)
        time.sleep(5)
        for pid, line in trial.namespace.inhabitants().items():
            if pid != trial.server and line:
                os.kill(pid, Signals.SIGKILL)
    if not scenario.gives_up:
        deadline = time.monotonic() + 60
        while process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.2)
        if process.poll() is None:
            for pid in trial.namespace.inhabitants():
                if pid != trial.server:
                    os.kill(pid, Signals.SIGKILL)
    output, errors = process.communicate(timeout=SECONDS)
    return Recorded(tuple(argv), process.returncode, output, errors)


def _session_of(trial: Trial, output: str) -> str | None:
    executor = make_executor(ExecutorConfig(name="x", type=ExecutorType(trial.native.name)))
    events = executor.read(output.encode())
    return next((event.session_id for event in events if event.session_id), None)


def scrub(text: str, trial: Trial) -> str:
    """Return a text without what is this machine's."""
    port = (trial.records / "port").read_text("utf-8")
    for machine, neutral in (
        (str(trial.repository), "/home/user/repository"),
        (str(trial.home), "/home/user"),
        (str(trial.records), "/home/user/records"),
        (trial.environ["TMPDIR"], "/home/user/tmp"),
        (f"127.0.0.1:{port}", "127.0.0.1:8080"),
    ):
        text = text.replace(machine, neutral)
    text = re.sub(r'"slash_commands":\[[^\]]*\]', '"slash_commands":[]', text)
    return re.sub(r"/[^\s\"']*/\.tools/", "/usr/lib/", text)


def main(name: str, *wanted: str) -> None:
    """Record scenarios of a CLI anew."""
    native = NATIVES[name]
    program = install_native(native, os.environ)
    target = RECORDINGS / f"{name}-{native.version}"
    target.mkdir(parents=True, exist_ok=True)
    own = {
        name: each for name, each in SCENARIOS.items() if native.binary or not each.past_launcher
    }
    scenarios = {**own, **OWN.get(name, {})}
    for scenario_name in wanted or scenarios:
        with (
            tempfile.TemporaryDirectory() as folder,
            open_trial(Path(folder), native, program, os.environ) as trial,
        ):
            done = perform(scenarios[scenario_name], trial)
            facts: Json = {
                "argv": [scrub(word, trial) for word in done.argv],
                "exit_code": done.code if done.code >= 0 else None,
                "signal": -done.code if done.code < 0 else None,
                "stderr": scrub(done.stderr, trial)[-8192:],
            }
            text = scrub(done.stdout, trial)
            (target / f"{scenario_name}.jsonl").write_text(text, encoding="utf-8")
            written = json.dumps(facts, indent=2) + "\n"
            (target / f"{scenario_name}.json").write_text(written, encoding="utf-8")
        print(scenario_name, facts["exit_code"], facts["signal"], flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
