"""A job in the tables that people read, and how a command line names one.

Owns what is a job's number and what is not: a task's id is never taken for one.
An outcome that a command has shown is owed to nobody any more.
What programs are told of a job is `sow.reports.views`.
"""

import os
import re
import sys
from collections.abc import Sequence
from contextlib import suppress

from sow.cli import late_click as click
from sow.cli.this_call import this_call
from sow.clock import format_duration, utc_now
from sow.errors import QueueError, StateError
from sow.ids import TASK_ID_PATTERN, JobId
from sow.jobs import jobs
from sow.jobs.database import Database, open_existing_queue
from sow.jobs.jobs import UnknownJob
from sow.paths import Workspace
from sow.reports.seen import Seen
from sow.schema.job import CHANGED_NOTHING, Job, JobState

JOB_ID_PATTERN = "[1-9][0-9]{0,17}"
"""A number that SQLite can hold. Nothing with a zero in front: so are tasks' ids written."""
TASK_COMMANDS = {
    "show": "sow task show",
    "explain": "sow task explain",
    "logs": "sow task output",
    "wait": "sow agent wait",
    "cancel": "sow agent cancel",
}
"""The command of tasks for each command of `sow job` that has one."""


def open_job(workspace: Workspace, text: str) -> tuple[Database, Job]:
    """Return the records, and the job in them that a command names by its number.

    Raises StateError, as for a task's id.
    """
    job_id = job_id_of(text)
    database = open_existing_queue(workspace)
    if database is None:
        raise UnknownJob(job_id)
    return database, jobs.get_job(database, job_id)


def find_job(database: Database, text: str) -> Job:
    """Return the job that a command names by its number. Raises as `open_job`."""
    return jobs.get_job(database, job_id_of(text))


def job_id_of(text: str) -> JobId:
    """Return the job's number that a text is. Raises StateError."""
    if not re.fullmatch(JOB_ID_PATTERN, text):
        raise _not_a_job_id(text)
    return JobId(int(text))


def _not_a_job_id(text: str) -> StateError:
    """Return the refusal of what is no job's number; for a task's id, the command of tasks."""
    if text[:1] != "0" or not re.fullmatch(TASK_ID_PATTERN, text):
        return StateError(f"not a job id: {text!r}", hint="`sow job list` shows the jobs.")
    command = this_call().words.rpartition(" ")[2]
    for_task = (
        f"For the task: `{TASK_COMMANDS[command]} {text}`. " if command in TASK_COMMANDS else ""
    )
    return StateError(
        f"{text} looks like a task's id: a job's number has no leading zero",
        hint=f"{for_task}`sow job list --task {text}` shows the numbers of its jobs.",
    )


def duration_text(job: Job, now: float) -> str:
    """Return how long a job has taken since its first start, for people."""
    if job.started_at is None:
        return "-"
    return format_duration((job.ended_at or now) - job.started_at)


def note_on(job: Job, seen: Seen) -> str:
    """Return the one thing more that a person wants to know of a job."""
    if seen.in_doubt:
        return f"unverifiable: see `sow job explain {job.id}`"
    if not job.state.is_final:
        return seen.standing
    if job.state is JobState.DONE:
        return "changed nothing" if CHANGED_NOTHING in job.warnings else ""
    return job.reason.strip().partition("\n")[0]


def echo_facts(facts: Sequence[tuple[str, object]]) -> None:
    """Print names and values, a pair a line, the values aligned; empty ones left out."""
    shown = [(name, value) for name, value in facts if value not in (None, "", [], ())]
    width = max((len(name) for name, _ in shown), default=0)
    for name, value in shown:
        click.echo(f"{name:<{width}}  {value}")


def outcome_is_shown(workspace: Workspace, database: Database, job: Job) -> None:
    """Owe a job's outcome to no caller that went away; nothing while the job has not ended.

    Call it last. What was printed is out before the debt is struck, and a debt
    that cannot be struck (the queue is locked, the disk full) stays: the next
    call prints the outcome once more, which harms nobody.
    """
    # A list shows no outcome.
    from sow.agents.rights import calling_agent
    from sow.jobs import waiters

    agent = calling_agent(os.environ)
    if not job.state.is_final or (agent is not None and not agent.orchestrates):
        return
    if sys.stdout is not None:  # whoever started us may have closed it
        sys.stdout.flush()
    with suppress(QueueError):
        escrow = waiters.escrow_in(os.environ)
        waiters.strike_gone(database, workspace, job.id, escrow=escrow, now=utc_now())
