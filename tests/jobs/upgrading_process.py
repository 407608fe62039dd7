"""A process that opens a queue and stops at one statement of its upgrade: ROOT STATEMENT.

It says "here" when it has come there, and goes on when it is told to.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

from sow.jobs import migrations
from sow.jobs.database import open_queue
from sow.paths import Workspace


class Stopping(tuple[str, ...]):
    """The statements of a step, with a stop in front of one of them, or behind the last."""

    def __iter__(self) -> Iterator[str]:
        for number, statement in enumerate((*super().__iter__(), "select 1")):
            if number == int(sys.argv[2]):
                print("here", flush=True)
                sys.stdin.readline()
            yield statement


migrations.MIGRATIONS[2] = Stopping(migrations.MIGRATIONS[2])
open_queue(Workspace(Path(sys.argv[1]))).close()
print("opened", flush=True)
