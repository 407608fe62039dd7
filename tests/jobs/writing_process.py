"""A process that changes the queue until it is killed, with a log that begins anew often: ROOT."""

import sys
from pathlib import Path

from sow.jobs.database import open_queue
from sow.paths import Workspace

database = open_queue(Workspace(Path(sys.argv[1])))
database.connection.execute("pragma wal_autocheckpoint = 5")
print("ready", flush=True)
number = 0
while True:
    number += 1
    with database.transaction():
        for name in range(number % 7):
            database.run(
                "insert or replace into control values (?, ?)", (f"{name}", f"{number}" * 900)
            )
