"""A stand-in's opposite: the true `sow`, with a witness of who called it and what it changed.

Owns the record of each call. It stands as `sow` first on the agent's PATH, runs
the true one with the same arguments and streams, and appends one JSON line:
`argv`, `ancestors` (the `exe` of every process above, nearest first), the
statuses of all tasks `before` and `after`, the `exit` code, the `seconds` it took, and the
`role` of the job's agent that called, if any.

    python -I witness.py LOG TRUE_SOW [ARGUMENT...]
"""

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

STATUS = re.compile(r"^  status: *[\"']?(\w+)", re.MULTILINE)


def ancestors() -> list[str]:
    """Return the program of each process above this one, nearest first."""
    programs = []
    pid = os.getppid()
    while pid > 1:
        programs.append(str(Path(f"/proc/{pid}/exe").readlink()))
        after_name = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2]
        pid = int(after_name.split()[1])
    return programs


def statuses(root: Path) -> dict[str, str]:
    """Return the status of every task below `root`, read as plain text, without sow's help."""
    found = {}
    for state in root.glob(".sow/project/phases/*/tasks/*/state.yaml"):
        status = STATUS.search(state.read_text("utf-8"))
        found[state.parent.name] = status.group(1) if status else ""
    return found


def main(log: str, true_sow: str, *arguments: str) -> int:
    """Run the true sow, and record the call."""
    root = Path(os.environ.get("SOW_ROOT", "."))
    above = ancestors()
    before, begun = statuses(root), time.monotonic()
    code = subprocess.run([true_sow, *arguments], check=False).returncode
    seconds, role = time.monotonic() - begun, os.environ.get("SOW_AGENT", "")
    call = {"argv": arguments, "ancestors": above, "exit": code, "seconds": seconds, "role": role}
    line = json.dumps({**call, "before": before, "after": statuses(root)}) + "\n"
    descriptor = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(descriptor, line.encode())
    os.close(descriptor)
    return code


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
