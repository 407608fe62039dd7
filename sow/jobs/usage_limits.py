"""Which executors have reached a usage limit, as the records of jobs tell it.

A job that is parked waits for one, and a job that another executor went on with has noted when it
ends, where the CLI had told that.
"""

from sow.ids import JobId
from sow.jobs.database import Database


def limited_until(
    database: Database, executor: str, *, now: float, without: JobId | None = None
) -> float | None:
    """Return when an executor's limit ends that some job waits for or has run into; None: none is.

    `without` is the job that asks.
    """
    until = database.value(
        """
        select max(until) from (
            select retry_at as until from job
            where state = 'parked' and executor_name = ?1
                and (cast(?2 as bigint) is null or id <> ?2)
            union all
            select cast(json_extract(gone.value, '$.until') as double precision) from job,
                json_each(job.terms, '$.fallback.left') as gone
            where instr(job.terms, '"until"') > 0 and json_extract(gone.value, '$.name') = ?1
        ) as limits where until > ?3
        """,
        (executor, without, now),
    )
    return None if until is None else float(until)
