"""A person takes the real Claude Code's session over on a terminal, by `sow agent open`."""

import fcntl
import json
import os
import pty
import select
import struct
import termios
from collections.abc import Callable, Iterator
from contextlib import suppress
from subprocess import Popen, TimeoutExpired

import pytest
from journey import Journey, shell_commands
from sandbox import PATIENCE, PROGRAMS, Sandbox, wait_until
from scripted_model import REPORT

pytestmark = pytest.mark.real

LINES, COLUMNS = 40, 120
WORDS = "Reconsider"
PROMPT = "\N{HEAVY RIGHT-POINTING ANGLE QUOTATION MARK ORNAMENT}".encode()
"""Stands before the line on which a person types."""


class Terminal:
    """A terminal on which sow was called; nobody reads its screen but the test."""

    def __init__(self, sandbox: Sandbox, *words: str) -> None:
        self.keyboard, screen = pty.openpty()
        fcntl.ioctl(screen, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
        self.shown = b""
        self.process: Popen[str] = sandbox.namespace.start(
            [str(PROGRAMS / "sow"), *words],
            cwd=sandbox.repository,
            env={**sandbox.environ, "TERM": "xterm-256color"},
            stdin=screen,
            stdout=screen,
            stderr=screen,
            start_new_session=True,
            preexec_fn=_take_terminal,
        )
        os.close(screen)

    def wait_until(self, condition: Callable[[], object], what: str) -> None:
        """Read the screen until `condition` holds; who writes to it must never be stopped."""

        def looked() -> object:
            self._read()
            return condition()

        wait_until(looked, f"{what}: {self.shown[-2000:]!r}")

    def type(self, keys: str) -> None:
        os.write(self.keyboard, keys.encode())

    def has_ended(self) -> bool:
        return self.process.poll() is not None

    def _read(self) -> None:
        while select.select([self.keyboard], [], [], 0.1)[0]:
            try:
                self.shown += os.read(self.keyboard, 65536)
            except OSError:  # the other end is closed
                return


def _take_terminal() -> None:
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def settle_in(sandbox: Sandbox) -> None:
    """Answer beforehand what Claude Code asks a person at the first start."""
    file = sandbox.home / ".claude.json"
    known = json.loads(file.read_text("utf-8"))
    key = sandbox.environ["ANTHROPIC_API_KEY"][-20:]
    known |= {"hasCompletedOnboarding": True, "theme": "dark"}
    known["customApiKeyResponses"] = {"approved": [key], "rejected": []}
    known.setdefault("projects", {})[str(sandbox.repository)] = {
        "hasTrustDialogAccepted": True,
        "hasCompletedProjectOnboarding": True,
    }
    file.write_text(json.dumps(known), encoding="utf-8")


@pytest.fixture
def terminal(journey: Journey) -> Iterator[Terminal]:
    """The task's session, open."""
    done = journey.spawn()
    assert done.returncode == 0, done.stderr
    settle_in(journey.sandbox)
    opened = Terminal(journey.sandbox, "agent", "open", journey.task_id)
    yield opened
    opened.process.terminate()
    with suppress(TimeoutExpired):
        opened.process.wait(PATIENCE)
    os.close(opened.keyboard)


def test_the_conversation_goes_on_and_its_report_stands(
    journey: Journey, terminal: Terminal
) -> None:
    terminal.wait_until(lambda: PROMPT in terminal.shown, "a prompt")
    assert journey.task()["status"] == "in_progress"
    before = len(journey.sandbox.requests())
    terminal.type(WORDS)
    terminal.wait_until(lambda: WORDS.encode() in terminal.shown, "the words")
    terminal.type("\r")
    terminal.wait_until(lambda: journey.task()["status"] == "needs_review", "the report")
    asked = next(
        request
        for request in journey.sandbox.requests()[before:]
        if WORDS in json.dumps(request["messages"])
    )
    earlier = [command.replace("{task_id}", journey.task_id) for command in REPORT]
    assert shell_commands(asked) == earlier
    terminal.type("/exit\r")
    terminal.wait_until(terminal.has_ended, "the end")
    assert terminal.process.returncode == 0
    task = journey.task()
    assert (task["status"], task["iteration"]) == ("needs_review", 1)
    (attempt,) = journey.attempts(2)
    assert (attempt["verb"], attempt["cause"]) == ("open", "reported")
    assert attempt["session_id"] == task["session_id"]
