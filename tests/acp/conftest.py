"""Fixtures of the tests of sow's client of ACP: a run of it with a scripted agent."""

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from sow.executors.acp import CLIENT

STAND_IN = Path(__file__).parents[1] / "standins/acp_agent.py"
COMMANDS = ("task show", "task set", "agent log")
"""Of sow, that the agent may run."""
SECONDS = 60


@dataclass(frozen=True)
class Ended:
    """A run that has ended."""

    code: int
    events: list[dict[str, Any]]
    errors: str
    got: list[dict[str, Any]]
    """What the agent got."""

    def of_kind(self, kind: str) -> list[dict[str, Any]]:
        """Return the events of a kind."""
        return [event for event in self.events if event["type"] == kind]

    @property
    def kinds(self) -> list[str]:
        """The kinds of all events, in their order."""
        return [event["type"] for event in self.events]

    def sent(self, method: str) -> list[dict[str, Any]]:
        """Return the parameters of the agent's messages of a method."""
        return [message["params"] for message in self.got if message.get("method") == method]

    @property
    def answers(self) -> list[dict[str, Any]]:
        """What the agent's own requests were answered with."""
        return [message for message in self.got if "method" not in message]


def whole_lines(file: Path) -> list[str]:
    """Return the lines of a file; the last one may have been cut off."""
    return file.read_text("utf-8").rpartition("\n")[0].splitlines()


@dataclass(frozen=True)
class Client:
    """A place where the client can be run."""

    folder: Path

    @property
    def work(self) -> Path:
        """The agent's folder."""
        return self.folder / "work"

    def start(
        self, script: dict[str, Any], *, prompt: str = "Do it.", **orders: Any
    ) -> "subprocess.Popen[bytes]":
        """Start the client with an agent that follows a script."""
        (self.folder / "script.json").write_text(json.dumps(script), encoding="utf-8")
        (self.folder / "prompt").write_text(prompt, encoding="utf-8")
        whole = {
            "command": [sys.executable, str(STAND_IN), str(self.folder / "script.json")],
            "folder": str(self.work),
            "session": None,
            "preset": None,
            "commands": COMMANDS,
            "denied": (),
            "readable": (),
            "unwritable": (),
            "writable": (),
            "allows_all": False,
            **orders,
        }
        (self.folder / "acp.json").write_text(json.dumps(whole), encoding="utf-8")
        self.work.mkdir(exist_ok=True)
        with (self.folder / "prompt").open("rb") as stdin:
            return subprocess.Popen(
                [sys.executable, *CLIENT, str(self.folder / "acp.json")],
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )

    def end(self, process: "subprocess.Popen[bytes]") -> Ended:
        """Wait for the end of a run, and return all of it."""
        output, errors = process.communicate(timeout=SECONDS)
        got = self.folder / "script.json.got"
        return Ended(
            process.returncode,
            [json.loads(line) for line in output.splitlines()],
            errors.decode(),
            [json.loads(line) for line in whole_lines(got)] if got.exists() else [],
        )

    def run(self, script: dict[str, Any], **orders: Any) -> Ended:
        """Run the client to its end."""
        return self.end(self.start(script, **orders))

    def record(self) -> list[dict[str, Any]]:
        """Return the record of the wire."""
        text = (self.folder / "acp.jsonl").read_text("utf-8")
        return [json.loads(line) for line in text.splitlines()]


@pytest.fixture
def client(tmp_path: Path) -> Client:
    """Return a place for runs."""
    return Client(tmp_path)
