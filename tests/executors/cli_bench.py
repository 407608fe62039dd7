"""Runs launches of the executors against the stand-ins, as processes, without the queue."""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from standins import CursorDialect, install_standins

from sow.attempts.launch import commands_of_role, denied_to_role
from sow.errors import ExecutorError
from sow.executors.base import Ending, Event, Executor, Launch, LaunchRequest, Observation, Verdict
from sow.executors.session import Session

TAIL = 8192


@dataclass(frozen=True)
class Outcome:
    """What a run told, through the executor's eyes."""

    ending: Ending
    events: tuple[Event, ...]
    seen: Observation
    verdict: Verdict


@dataclass(frozen=True)
class Bench:
    """A folder with stand-ins on PATH."""

    root: Path
    path: str
    environ: Mapping[str, str]

    def request(self, session: Session | None, prompt: str = "Do task 010.") -> LaunchRequest:
        """Return a request for task 010 in this folder."""
        return LaunchRequest(
            session=session,
            prompt=prompt,
            prompt_file=self.root / "prompt.md",
            task_dir=self.root / ".sow/project/phases/implementation/tasks/010",
            cwd=self.root,
            as_root=os.geteuid() == 0,
            commands=commands_of_role("implementer"),
            denied=denied_to_role("implementer"),
        )

    def run_command(self, argv: Sequence[str]) -> str:
        """Be the `RunCommand` of `create_session`."""
        process = subprocess.run(
            argv, env=self.environ, cwd=self.root, capture_output=True, text=True, check=False
        )
        if process.returncode != 0:
            raise ExecutorError(process.stderr)
        return process.stdout

    def run(self, executor: Executor, launch: Launch) -> Outcome:
        """Run a launch to its end and let the executor judge it."""
        for name, text in launch.files.items():
            (self.root / name).write_text(text, encoding="utf-8")
        process = subprocess.run(
            launch.argv,
            input=launch.stdin.encode(),
            env={**self.environ, **launch.env},
            cwd=launch.cwd,
            capture_output=True,
            check=False,
            timeout=240,
        )
        code = process.returncode
        ending = Ending(
            code=code if code >= 0 else None,
            signal=-code if code < 0 else None,
            stderr_tail=process.stderr[-TAIL:].decode(errors="replace"),
            output_tail=process.stdout[-TAIL:].decode(errors="replace"),
        )
        return judge(executor, ending, process.stdout)


def judge(executor: Executor, ending: Ending, output: bytes) -> Outcome:
    """Read an output line by line and classify its ending."""
    events = tuple(event for line in output.split(b"\n") for event in executor.read_line(line))
    seen = Observation()
    for event in events:
        seen = seen.after(event)
    return Outcome(ending, events, seen, executor.classify(ending, seen))


def make_bench(tmp_path: Path, dialect: CursorDialect = CursorDialect.TODAY) -> Bench:
    """Install the stand-ins below `tmp_path`."""
    bin_dir = tmp_path / "bin"
    install_standins(bin_dir, sys.executable, cursor=dialect)
    root = tmp_path / "checkout"
    home = tmp_path / "home"
    root.mkdir()
    home.mkdir()
    path = f"{bin_dir}:/usr/bin:/bin"
    return Bench(root, path, {"PATH": path, "HOME": str(home), "SOW_TASK_ID": "010"})
