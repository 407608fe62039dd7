"""A command that sets a status and is killed after the file is written, before its note: ROOT."""

import os
import signal
import sys
import time
from pathlib import Path

from sow.paths import Workspace
from sow.schema.task import TaskStatus
from sow.state import status_notes
from sow.state.tasks import change_task

status_notes._append = lambda _path, _line: os.kill(os.getpid(), signal.SIGKILL)
change_task(
    Workspace(Path(sys.argv[1])),
    "010",
    lambda _: {"status": TaskStatus.IN_PROGRESS},
    now=time.time(),
)
