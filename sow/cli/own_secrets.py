"""What an agent says to `sow` without its secrets: their names stand in the place of the values.

An agent that was given secrets has `SOW_SECRETS`, which names the variables. Whatever it writes by
a command of sow (a log, a task, feedback) comes from its command line, or from a file or standard
input that this names. Owns the replacing of both, and that the agent and its worker are told: the
note lies in the attempt's folder, or, where that is not there inside of a sandbox, beside the
socket for reports. Imported only in commands of such an agent.
"""

import os
import sys
from collections.abc import Mapping, Sequence

from sow import env_vars
from sow.blanking import Blanker, note_blanked, values_in


def without_secrets(line: Sequence[str], environ: Mapping[str, str]) -> list[str]:
    """Return a command line with the names of secrets in the place of their values."""
    blanker = _blanker(environ)
    words = [blanker.whole(word.encode("utf-8", "surrogateescape")) for word in line]
    return [word.decode("utf-8", "surrogateescape") for word in words]


def text_without_secrets(text: bytes, environ: Mapping[str, str]) -> bytes:
    """Return a text that was read for a command, likewise."""
    return _blanker(environ).whole(text)


def _blanker(environ: Mapping[str, str]) -> Blanker:
    values = values_in(environ, environ.get(env_vars.SECRETS, ""))
    return Blanker(values, lambda name: _tell(name, environ))


def _tell(name: bytes, environ: Mapping[str, str]) -> None:
    words = name.decode("utf-8", "replace")
    print(
        f"Note: this contains the value of {words}; sow writes [{words}] instead", file=sys.stderr
    )
    attempt = environ.get(env_vars.ATTEMPT_ID, "")
    if folder := _folder_of_note(attempt, environ):
        note_blanked(folder, attempt, name)


def _folder_of_note(attempt: str, environ: Mapping[str, str]) -> str:
    """Return where it is noted that a value was replaced; empty for what is no attempt."""
    if socket := environ.get(env_vars.REPORT_SOCKET, ""):
        return os.path.dirname(socket)  # noqa: PTH120 - pathlib is heavy
    job, number, *_ = (*attempt.split("."), "", "")
    root = environ.get(env_vars.ROOT, "")
    if not (root and job.isdecimal() and number.isdecimal()):
        return ""
    return os.path.join(root, ".sow/run/jobs", job, number)  # noqa: PTH118 - pathlib is heavy
