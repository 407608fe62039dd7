"""`result.json`, as a program of ours leaves it: it bears the id of the attempt that this is.

Owns its writing.
"""

import os

import msgspec

from sow import env_vars
from sow.errors import ExecutorError, SowError
from sow.faults import passing_fault, words_of_bug
from sow.files import write_atomically
from sow.paths import AttemptPaths
from sow.schema.causes import Cause
from sow.schema.step_result import StepResult
from sow.terminal_text import printable_lines


def leave_result(result: StepResult, paths: AttemptPaths) -> None:
    """Put a result into the attempt's folder, whole. Raises NotWritten, OSError."""
    attempt = os.environ.get(env_vars.ATTEMPT_ID, "")
    data = msgspec.json.encode(msgspec.structs.replace(result, attempt=attempt))
    write_atomically(paths.result, data, mode=0o600)


def failure_result(error: Exception, *, passing: Cause, lasting: Cause) -> StepResult:
    """Return what an error has come to: one cause where it passes, another where it stays.

    A sandbox that cannot be made has a cause of its own, whoever asks for it.
    """
    cause = passing if passing_fault(error) is not None else lasting
    if cause is lasting and isinstance(error, ExecutorError):
        from sow.sandbox.probe import SandboxUnavailable  # asked for by few

        if isinstance(error, SandboxUnavailable):
            cause = Cause.SANDBOX_FAILED
    return StepResult(cause=cause, reason=words_of(error))


def words_of(error: Exception) -> str:
    """Return what failed, fit for any terminal and any JSON: agents have named files in it."""
    if isinstance(error, SowError):
        text = f"{error.message}\n{error.hint}".rstrip()
    elif isinstance(error, OSError):
        text = error.strerror or str(error)
        text = f"{error.filename}: {text}" if error.filename else text
    else:
        text = words_of_bug(error)
    return "\n".join(printable_lines(text))
