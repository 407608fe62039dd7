"""Which host what is on record is of, where several hosts share a queue.

A host is a checkout on one machine that uses the queue as one role of its server. Its id is a code
of all of these (`server_checkout`), and the server keeps it for the role that came with it first
(`server_forms/hosts.sql`). In a shared queue the names of workers and of calls that wait end with
the id of their host (`Database.named`), and a job has that of the host it was queued from. So
whoever reads a row knows whose it is before it looks at anything: what another host has is told by
deadlines alone (`server_deadlines`). No lock, process or folder of this machine says anything of
it. Imported where a queue is shared.
"""

from sow.ids import JobId
from sow.jobs.store import HOST_MARK, Database


def host_of(name: str) -> str:
    """Return the id of the host that a name is of; empty for one from before the queue was shared.

    That is of the checkout which used the queue then.
    """
    return name.partition(HOST_MARK)[2]


def is_queued_elsewhere(database: Database, job_id: JobId) -> bool:
    """Whether a job was queued from another host: there its call is, and the state of its task."""
    host_id = database.value("select host_id from job where id = ?", (job_id,))
    return host_id is not None and database.is_elsewhere(f"{HOST_MARK}{host_id}")


def runs_elsewhere(database: Database, job_id: JobId) -> bool:
    """Whether another host's worker has a job's lease or, where nobody has, had its last attempt.

    What its agent has written lies there.
    """
    sql = """
        select coalesce(
            (select worker_id from lease where job_id = :job),
            (select worker_id from attempt where job_id = :job order by number desc limit 1))
    """
    name = database.value(sql, {"job": job_id})
    return name is not None and database.is_elsewhere(name)
