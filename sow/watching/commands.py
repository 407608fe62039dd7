"""The commands that keys run: sow itself, each as a process of its own.

Owns the process and what of its words is shown. It is in a session of its own and goes on when
the view is left: what was asked for happens.
"""

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from sow import env_vars
from sow.environment import own_environment, own_process
from sow.errors import ExitCode
from sow.terminal_text import printable_lines, without_sequences

MOST_BYTES = 1 << 20
"""Of what a command prints; what comes after it is read and dropped."""


class Ran(Struct, frozen=True):
    """A command that has ended: its exit code, and all it has said, line by line."""

    argv: Sequence[str]
    code: int
    lines: Sequence[str]
    is_cut: bool = False
    """Whether it has said more than is kept."""


def run_command(
    argv: Sequence[str], folder: Path, environ: Mapping[str, str], *, for_person: bool = False
) -> Ran:
    """Run a command of sow's to its end. Nobody is there to answer it.

    `for_person`: it asks nothing, and counts as a person's word where this process has a terminal.
    """
    try:
        process = subprocess.Popen(
            own_process("sow", *argv),
            cwd=folder,
            env=own_environment({**environ, env_vars.WATCHED: "1"}),
            stdin=None if for_person else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except OSError as error:
        return cannot_start(argv, error)
    assert process.stdout is not None  # noqa: S101 - it was asked for
    with process.stdout:
        data = process.stdout.read(MOST_BYTES)
        is_cut = False
        while process.stdout.read(MOST_BYTES):
            is_cut = True
    text = without_sequences(data.decode("utf-8", "replace")).expandtabs()
    return Ran(argv, process.wait(), tuple(printable_lines(text)), is_cut)


def cannot_start(argv: Sequence[str], error: OSError) -> Ran:
    """Return what is told of a command that the system has not begun."""
    return Ran(argv, int(ExitCode.FAILED), (f"it cannot be started: {error.strerror}",))
