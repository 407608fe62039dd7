"""`result.json`, as a program of ours leaves it: it bears the id of the attempt that this is.

Owns its writing.
"""

import os

import msgspec

from sow import env_vars
from sow.files import write_atomically
from sow.paths import AttemptPaths
from sow.schema.step_result import StepResult


def leave_result(result: StepResult, paths: AttemptPaths) -> None:
    """Put a result into the attempt's folder, whole. Raises NotWritten, OSError."""
    attempt = os.environ.get(env_vars.ATTEMPT_ID, "")
    data = msgspec.json.encode(msgspec.structs.replace(result, attempt=attempt))
    write_atomically(paths.result, data, mode=0o600)
