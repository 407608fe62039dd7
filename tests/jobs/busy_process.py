"""A process that leads jobs through their whole life, over and over, to be killed in it: ROOT.

It says the number of each job whose last step is committed.
"""

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from queue_cases import MANY, insert

from sow.ids import WorkerId
from sow.jobs import leases
from sow.jobs.database import Database, open_queue
from sow.paths import Workspace
from sow.schema.job import JobState, Lease

ME = WorkerId("w3-busy")


def claim(database: Database) -> Lease:
    leases.claim(database, ME, total=MANY, own=MANY, now=time.time())
    (lease,) = leases.leases_of(database, ME)
    return lease


def main() -> None:
    database = open_queue(Workspace(Path(sys.argv[1])))
    leases.take_over(database, WorkerId("w3-busy"), WorkerId("w4-heir"), now=time.time())
    number = int(sys.argv[2])
    while True:
        number += 1
        with database.transaction():
            leases.enqueue(database, insert(database, f"{number:06}").id, now=time.time())
        lease = claim(database)
        leases.requeue(database, lease, state=JobState.QUEUED, retry_at=0.0, now=time.time())
        lease = claim(database)
        leases.settle(database, lease, state=JobState.DONE, ended_at=time.time())
        print(lease.job_id, flush=True)


main()
