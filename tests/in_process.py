"""A command line run in the test's own process, with an environment and a folder given to it.

It is `sow` but for the start of an interpreter, which costs a third of a second on a busy
machine. Where the start itself, a terminal or a signal is what a test is about, it starts `sow`.
"""

import io
import os
import sys
from collections.abc import Mapping
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch


@dataclass(frozen=True)
class Ended:
    """How a command ended, and what it printed."""

    code: int
    out: str
    err: str


def run_in_process(*words: str, env: Mapping[str, str], cwd: Path) -> Ended:
    """Run a command line with this environment, the test's home, and with nothing to read."""
    from sow.cli.root import run

    encoding = env.get("PYTHONIOENCODING", "utf-8")
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding, write_through=True) for _ in range(2))
    with (
        patch.dict(os.environ, {"HOME": os.environ["HOME"], **env}, clear=True),
        chdir(cwd),
        Path(os.devnull).open(encoding="utf-8") as nothing,
        patch.object(sys, "stdin", nothing),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        code = run(words)
    return Ended(code, *(stream.buffer.getvalue().decode(encoding) for stream in (out, err)))
