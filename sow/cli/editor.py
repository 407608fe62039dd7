"""The user's editor: found, and run on a file until it is closed."""

import shlex
import shutil
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path

from sow.environment import caller_environment
from sow.errors import ConfigurationError, SowError
from sow.surrounding_programs import users_environment

USUAL = ("editor", "vi", "nano")
"""What is tried where no variable names one."""


class NoEditor(ConfigurationError):
    """No editor is named that could be run."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason, hint="Set EDITOR to a program, with arguments if need be: vim -n")


def find_editor(environ: Mapping[str, str]) -> list[str]:
    """Return the editor's argv: VISUAL, else EDITOR, split as a shell does; else a usual one.

    Raises NoEditor.
    """
    variable = next((name for name in ("VISUAL", "EDITOR") if environ.get(name, "").strip()), "")
    if not variable:
        found = next((name for name in USUAL if shutil.which(name)), None)
        if found is None:
            raise NoEditor("no editor is set, and none of the usual ones is installed")
        return [found]
    try:
        argv = shlex.split(environ[variable])
    except ValueError as error:
        raise NoEditor(f"{variable} cannot be read ({error}): {environ[variable]}") from None
    if shutil.which(argv[0]) is None:
        raise NoEditor(f"{variable} names a program that is not there: {argv[0]}")
    return argv


def run_editor(argv: list[str], path: Path, environ: Mapping[str, str]) -> None:
    """Open `path` and return when the editor has ended. Raises SowError.

    An interrupt from the keyboard is for the editor, which shares our terminal.
    """
    command = [*argv, str(path)]
    previous = signal.signal(signal.SIGINT, _left_to_the_editor)
    try:
        done = subprocess.run(
            command, env=caller_environment(users_environment(environ)), check=False
        )
    except OSError as error:
        raise NoEditor(f"{argv[0]} cannot be run: {error.strerror}") from None
    finally:
        signal.signal(signal.SIGINT, previous)
    if done.returncode:
        how = (
            f"was killed by signal {-done.returncode}"
            if done.returncode < 0
            else f"ended with exit code {done.returncode}"
        )
        raise SowError(f"the editor {how}: {shlex.join(command)}", hint="Run the same again.")


def _left_to_the_editor(_signum: int, _frame: object) -> None:
    """Do nothing; to ignore the signal instead would be inherited by the editor."""
