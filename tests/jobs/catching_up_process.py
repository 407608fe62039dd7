"""A reader of changes that has seen the files, and stops before it writes: ROOT."""

import sys
import time
from pathlib import Path

from sow.jobs import statuses
from sow.jobs.database import open_queue
from sow.paths import Workspace

workspace = Workspace(Path(sys.argv[1]))
database = open_queue(workspace)
look = statuses._changed_files


def look_and_wait(*args: object) -> object:
    """Look, and go on when told to."""
    seen = look(*args)  # type: ignore[arg-type]
    print("seen", flush=True)
    sys.stdin.readline()
    return seen


statuses._changed_files = look_and_wait  # type: ignore[assignment]
statuses.catch_up(workspace, database, now=time.time())
print("done", flush=True)
