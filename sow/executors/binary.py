"""Where an executor's program lies.

Owns the one look-up on PATH; reads no configuration.
"""

import os
import shutil

from sow.executors.executor_errors import ExecutorBinaryNotFound


def require_binary(executor: str, binary: str, *, path: str | None, install: str) -> str:
    """Return the absolute path of `binary` on `path` (None: this process's PATH).

    A name with a slash in it is taken as a path. `install` ends the error:
    how to get the program. Raises ExecutorBinaryNotFound.
    """
    found = shutil.which(binary, path=path)
    if found is None:
        raise ExecutorBinaryNotFound(executor, binary, install=install)
    return os.path.abspath(found)  # noqa: PTH100 - a link is kept: some CLIs look at their name
