"""Closing what a job's attempt has left open that nobody will judge: its job has ended otherwise.

Owns that no attempt and no row of what it uses outlives its job: a row without an end counts as
an agent that runs, and keeps its share of every budget for ever.
"""

from sow.ids import JobId
from sow.jobs import records, spending
from sow.jobs.database import Database
from sow.schema.causes import Cause


def close_attempt(
    database: Database, job_id: JobId, cause: Cause, reason: str, *, now: float
) -> None:
    """Say how a job's attempt has ended, unless that is on record; in the job's last transaction.

    What is on record of its end stays. Where nothing is, nobody can tell that its CLI has not kept
    the session: it counts as kept.
    """
    words = records.to_columns({"cause": cause, "reason": reason})
    database.run(
        "update attempt set cause = coalesce(cause, :cause), ended_at = coalesce(ended_at, :now),"
        " reason = iif(cause is null, :reason, reason),"
        " transcript_seen = transcript_seen or cause is null and ended_at is null"
        " where job_id = :job and (cause is null or ended_at is null)",
        {**words, "now": now, "job": job_id},
    )
    spending.close(database, job_id, now=now)
