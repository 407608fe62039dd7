"""Asking a program about itself: `--version`, `--help`, and nothing that makes a request.

Owns the time it may take and that nothing of it is left. What the answer means
is nothing to this module.
"""

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from sow.environment import agent_environment

SECONDS = 15.0
PLAIN = {"NO_COLOR": "1"}
"""Keeps the output plain."""


class Answer(msgspec.Struct, frozen=True):
    """What a program said of itself."""

    text: str
    """Its output, standard error last."""
    fault: str = ""
    """Why it is no answer; empty where the program ended well."""


def ask(
    argv: Sequence[str],
    environ: Mapping[str, str],
    cwd: Path,
    *,
    quiet: Mapping[str, str] = PLAIN,
    seconds: float = SECONDS,
) -> Answer:
    """Run a program for its words, for `seconds` at most; then it and its children are ended.

    `quiet` are variables that keep it from doing anything else meanwhile.
    """
    try:
        process = subprocess.Popen(
            list(argv),
            cwd=cwd,
            env={**agent_environment(environ), **PLAIN, **quiet},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        return Answer("", f"cannot be run: {error.strerror}")
    with process:
        try:
            output, errors = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            return Answer("", f"did not answer within {seconds:g} s")
    text = b"\n".join((output, errors)).decode("utf-8", "replace").strip()
    return Answer(text, _fault(process.returncode, text))


def _fault(code: int, text: str) -> str:
    if code == 0:
        return ""
    how = f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
    return f"{how}: {text.splitlines()[0][:200]}" if text else f"{how}, without a word"
