"""What a command does that may have met the last dependency of a job that is held: let it go on.

Owns what is said of it, and that a worker is there for it. Costs nothing where
no queue was ever made, and one look into it where no job is held.
"""

from contextlib import closing

from sow.calls.autostart import Staffing
from sow.calls.caller import Caller
from sow.calls.held_jobs import release_ready
from sow.cli import late_click as click
from sow.cli.arguments import this_caller
from sow.errors import QueueError
from sow.jobs import jobs
from sow.jobs.database import Database, open_existing_queue


def release_and_say() -> None:
    """Queue the jobs that wait for nothing any more, see to a worker, and name them on stderr."""
    caller = this_caller()
    database = open_existing_queue(caller.workspace)
    if database is None:
        return
    with closing(database):
        released = release_ready(caller.workspace, database, now=caller.now())
        for job_id in released:
            task_id = jobs.get_job(database, job_id).task_id
            click.echo(f"Note: task {task_id} no longer waits: job {job_id}", err=True)
        if released:
            ensure_worker(caller, database)


def ensure_worker(caller: Caller, database: Database) -> None:
    """See to a worker for what is queued; say on stderr where none is there, nor can be started."""
    try:
        Staffing(caller, caller.load_configuration(), database).ensure()
    except QueueError as error:
        click.echo(f"Note: {error.message}. {error.hint}", err=True)
