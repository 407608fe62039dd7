"""A terminal on which the real Claude Code runs; nobody reads its screen but the test."""

import fcntl
import json
import os
import pty
import select
import struct
import termios
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from subprocess import Popen, TimeoutExpired

from sandbox import PATIENCE, PROGRAMS, Sandbox, wait_until

LINES, COLUMNS = 40, 120
PROMPT = "\N{HEAVY RIGHT-POINTING ANGLE QUOTATION MARK ORNAMENT}".encode()
"""Stands before the line on which a person types."""


class Terminal:
    """A terminal on which sow was called."""

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


def answer_first_questions(sandbox: Sandbox) -> None:
    """Answer beforehand what Claude Code asks a person at the first start."""
    file = sandbox.home / ".claude.json"
    known = json.loads(file.read_text("utf-8")) if file.exists() else {}
    key = sandbox.environ["ANTHROPIC_API_KEY"][-20:]
    known |= {"hasCompletedOnboarding": True, "theme": "dark"}
    known["customApiKeyResponses"] = {"approved": [key], "rejected": []}
    known.setdefault("projects", {})[str(sandbox.repository)] = {
        "hasTrustDialogAccepted": True,
        "hasCompletedProjectOnboarding": True,
    }
    file.write_text(json.dumps(known), encoding="utf-8")


@contextmanager
def open_terminal(sandbox: Sandbox, *words: str) -> Iterator[Terminal]:
    """Call sow on a terminal, and see that it has ended."""
    answer_first_questions(sandbox)
    opened = Terminal(sandbox, *words)
    try:
        yield opened
    finally:
        opened.process.terminate()
        with suppress(TimeoutExpired):
            opened.process.wait(PATIENCE)
        os.close(opened.keyboard)
