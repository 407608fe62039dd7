"""A worker-like process that claims and settles until no job is left: ROOT WORKER TOTAL OWN.

After each claim it looks at all leases in one transaction and reports what
exceeds a limit.
"""

import json
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from sow.ids import WorkerId
from sow.jobs import jobs, leases, messages
from sow.jobs.database import Database, open_queue
from sow.paths import Workspace
from sow.schema.job import JobState


def main() -> None:
    root, worker, total, own = sys.argv[1:]
    database = open_queue(Workspace(Path(root)))
    print("ready", flush=True)
    sys.stdin.readline()
    claimed: list[int] = []
    violations: list[str] = []
    while jobs.has_active_jobs(database):
        data = leases.claim(
            database, WorkerId(worker), total=int(total), own=int(own), now=time.time()
        )
        violations += excesses(database, WorkerId(worker), int(total), int(own))
        if data is None:
            continue
        job_id = messages.job_of(data)
        assert job_id is not None
        lease = leases.lease_of(database, job_id)
        assert lease is not None
        claimed.append(job_id)
        leases.settle(database, lease, state=JobState.DONE, ended_at=time.time())
    print(json.dumps({"claimed": claimed, "violations": violations}))


def excesses(database: Database, worker: WorkerId, total: int, own: int) -> list[str]:
    """Return a line for each limit that is exceeded at this moment."""
    rows = database.rows(
        "select lease.worker_id, lease.executor, job.max_parallel"
        " from lease join job on job.id = lease.job_id"
    )
    found = [f"{len(rows)} of {total} in all"] if len(rows) > total else []
    mine = [row for row in rows if row["worker_id"] == worker]
    if len(mine) > own:
        found.append(f"{len(mine)} of {own} by {worker}")
    for row in rows:
        alike = [other for other in rows if other["executor"] == row["executor"]]
        if row["max_parallel"] is not None and len(alike) > row["max_parallel"]:
            found.append(f"{len(alike)} of {row['max_parallel']} by {row['executor']}")
    return found


main()
