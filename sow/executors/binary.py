"""Where an executor's program lies.

Owns the one look-up on PATH; reads no configuration.
"""

import os
from pathlib import Path

from sow.executors.executor_errors import ExecutorBinaryNotFound


def find_program(name: str, path: str) -> str | None:
    """Return the first program of this name on `path`, or None; one with a slash is a path.

    It is `shutil.which` of POSIX, without `shutil`: that loads three libraries which compress.
    """
    folders = path.split(os.pathsep) if path else []
    places = [name] if "/" in name else [f"{folder or os.curdir}/{name}" for folder in folders]
    return next((place for place in places if _is_program(place)), None)


def _is_program(place: str) -> bool:
    try:
        return os.access(place, os.X_OK) and not Path(place).is_dir()
    except ValueError:  # a name that no file can have
        return False


def require_binary(executor: str, binary: str, *, path: str | None, install: str) -> str:
    """Return the absolute path of `binary` on `path` (None: this process's PATH).

    A name with a slash in it is taken as a path. `install` ends the error:
    how to get the program. Raises ExecutorBinaryNotFound.
    """
    found = find_program(binary, os.environ.get("PATH", os.defpath) if path is None else path)
    if found is None:
        raise ExecutorBinaryNotFound(executor, binary, install=install)
    return os.path.abspath(found)  # noqa: PTH100 - a link is kept: some CLIs look at their name
