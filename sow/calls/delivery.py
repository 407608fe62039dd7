"""What a call delivers: the outcome of a job that has ended, and how one stands that goes on.

Owns what is looked at for it: the job's records, its task, its agent's words. A
call imports it once its jobs are queued: its callers wait then in any case.
"""

from sow.calls.caller import Caller
from sow.calls.request import Placed
from sow.jobs import jobs
from sow.jobs.database import Database
from sow.reports.agents_words import agents_words
from sow.reports.seen import see_job
from sow.reports.task_now import look_at_task
from sow.reports.views import outcome_of
from sow.schema.job import Job
from sow.schema.output.outcome import Outcome


def outcome_for(
    caller: Caller, database: Database, job: Job, owed: Placed | None = None
) -> Outcome:
    """Return the outcome of a job that has ended; `owed` is how the call found it, if it was."""
    return outcome_of(
        job,
        jobs.attempts(database, job.id),
        owed=owed is not None,
        anew_with=owed.anew_with if owed else None,
        task=look_at_task(caller.workspace, job, database),
        agent_says=agents_words(caller.workspace, job),
    )


def as_it_stands(caller: Caller, database: Database, job: Job) -> Outcome:
    """Return what is known of a job that goes on, with what it does or waits for."""
    seen = see_job(caller.workspace, database, job, caller.now())
    return outcome_of(job, jobs.attempts(database, job.id), seen=seen)
