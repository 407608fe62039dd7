"""A process that opens a queue and stops at one statement of its upgrade: ROOT STATEMENT.

It says "here" when it has come there, and goes on when it is told to.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

from sow.jobs import migrations
from sow.jobs.database import open_queue
from sow.paths import Workspace


def stopping(number: int) -> Iterator[str]:
    """Yield the statements of a step, with a stop in front of one of them, or behind the last."""
    for at, statement in enumerate((*STATEMENTS(number), "select 1")):
        if number == 2 and at == int(sys.argv[2]):
            print("here", flush=True)
            sys.stdin.readline()
        yield statement


STATEMENTS = migrations.statements
migrations.statements = stopping
open_queue(Workspace(Path(sys.argv[1]))).close()
print("opened", flush=True)
