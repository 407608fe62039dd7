"""A process that stops inside a transaction, or tries to take a task: ROOT WHAT.

`inside`: inserts, enqueues, says so and waits, with nothing committed yet.
`race`: tries to insert a job of task 010 when told to, and says whether it could.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from queue_cases import NOW, insert

from sow.jobs import leases
from sow.jobs.database import open_queue
from sow.jobs.jobs import TaskIsTaken
from sow.paths import Workspace

root, what = sys.argv[1:]
database = open_queue(Workspace(Path(root)))
if what == "inside":
    with database.transaction():
        leases.enqueue(database, insert(database, "010").id, now=NOW)
        print("inside", flush=True)
        sys.stdin.readline()
else:
    print("ready", flush=True)
    sys.stdin.readline()
    try:
        insert(database, "010")
        print("inserted")
    except TaskIsTaken:
        print("taken")
