"""One look at what lies beside the records of jobs: what those do that have not ended.

What looking at a live job needs is imported where there is one.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from sow.plain_record import PlainRecord

if TYPE_CHECKING:
    from sow.ids import JobId
    from sow.jobs.database import Database
    from sow.paths import Workspace
    from sow.reports.prospects import Staff, Surroundings
    from sow.schema.job import Job


class Seen(PlainRecord):
    """What a look beside a job's records has shown."""

    quiet_seconds: float | None = None
    """How long ago its agent wrote its last line; None where it does not run."""
    standing: str = ""
    """What it does or waits for, in a few words; empty where it has ended."""
    in_doubt: bool = False
    """Whether nobody here can tell if its agent runs."""
    host: str | None = None
    """The host that runs it, or had its last attempt, of a queue that several share."""


NOT_LOOKED = Seen()


def see_jobs(
    workspace: "Workspace", database: "Database", found: "Sequence[Job]", now: float
) -> list[Seen]:
    """Look at what lies beside the records of some jobs. Raises QueueError."""
    hosts = _hosts_of_ended(database, [job for job in found if job.state.is_final])
    if all(job.state.is_final for job in found):
        return [Seen(host=hosts.get(job.id)) for job in found]
    # What ended jobs need nothing of.
    from sow.reports.prospects import look_at_staff

    staff = look_at_staff(workspace, database)
    return [
        Seen(host=hosts.get(job.id))
        if job.state.is_final
        else see_job(workspace, database, job, now, staff)
        for job in found
    ]


def see_job(
    workspace: "Workspace",
    database: "Database",
    job: "Job",
    now: float,
    staff: "Staff | None" = None,
) -> Seen:
    """Look at what lies beside one job's records. Raises QueueError."""
    if job.state.is_final:
        return Seen(host=_hosts_of_ended(database, [job]).get(job.id))
    # As above.
    from sow.reports.prospects import look_around

    return seen_in(job, look_around(workspace, database, job, now=now, staff=staff), now)


def seen_in(job: "Job", around: "Surroundings", now: float) -> Seen:
    """Return what a look around a job that has not ended has shown."""
    # As above.
    from sow.reports.live_job_words import words_of

    quiet = around.activity.quiet_seconds if around.activity else None
    return Seen(quiet, words_of(job, around, now), around.in_doubt, around.ran_on)


def _hosts_of_ended(database: "Database", ended: "Sequence[Job]") -> "Mapping[JobId, str]":
    """Return where jobs ran that have ended."""
    if not (ended and database.is_shared):
        return {}
    # Few queues are shared.
    from sow.jobs.hosts import last_hosts

    return last_hosts(database, [job.id for job in ended])
