"""An import that is killed before each of its writes in turn; prints what a reader then sees.

Called as a program: `import_killed.py ROOT`. A child does the import in a copy of the workspace
and kills itself at its n-th write, as Python's audit events tell it.
"""

import json
import os
import shutil
import signal
import sys
from itertools import count
from pathlib import Path
from typing import Any

from sow.paths import Workspace
from sow.state.bulk.entries import read_entries
from sow.state.bulk.importing import import_tasks
from sow.state.bulk.plan import Known
from sow.state.tasks import list_tasks

WRITES = {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate", "shutil.rmtree"}
FILE = b"""
- {id: "010", name: Other, agent: tester, description: "New words"}
- {key: a, name: A, agent: tester, phase: later}
- {key: b, name: B, agent: tester, depends_on: [a], phase: later}
- {key: c, name: C, agent: tester, depends_on: ["010"]}
"""
NOON = 1_769_860_800.0


def is_write(event: str, arguments: tuple[Any, ...]) -> bool:
    if event == "open":
        return bool(isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR))
    return event in WRITES


def bring(root: Path, dies_at: int) -> None:
    left = dies_at

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal left
        if is_write(event, arguments):
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)
    known = Known(["tester"], ["implementation"], list, list, may_make_phases=True)
    import_tasks(Workspace(root), read_entries(FILE, Path("x.yaml")), known, now=NOON)


def killed(root: Path, dies_at: int) -> bool:
    """Import in a child that dies at a write; return whether it did."""
    child = os.fork()
    if child == 0:
        try:
            bring(root, dies_at)
        finally:
            os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


def main(base: Path) -> None:
    for number in count(1):
        root = base.with_name(f"{base.name}-{number}")
        shutil.copytree(base, root)
        was_killed = killed(root, number)
        tasks = [f"{task.id}: {task.name}" for task in list_tasks(Workspace(root))]
        left = [path.name for path in root.rglob(".*.tmp")] + [
            path.name for path in root.rglob(".import.json")
        ]
        print(json.dumps({"killed": was_killed, "tasks": tasks, "left": left}), flush=True)
        shutil.rmtree(root)
        if not was_killed:
            return


if __name__ == "__main__":
    main(Path(sys.argv[1]))
