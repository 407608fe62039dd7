"""Work that is judged on another host: what goes along with a review or a check.

Owns which of these jobs may run elsewhere. Asked in a queue that several hosts share alone.
"""

from msgspec import UNSET
from msgspec.structs import replace

from sow.calls.caller import Caller
from sow.clones.listing import removal_risks_of
from sow.clones.main_checkout import main_checkout
from sow.clones.mark import own_mark
from sow.config.configuration import Configuration
from sow.git.repository import branch_commit
from sow.jobs import travels
from sow.jobs.database import Database
from sow.schema.job import Job
from sow.schema.travel import Travel
from sow.state.tasks import read_task
from sow.travel.leaving import send_out


def send_work(caller: Caller, config: Configuration, job: Job, commit: str | None) -> Travel | None:
    """Have the work that a job judges where other hosts get it; return what goes on record then.

    The job is on no record yet. None for one that stays here: of a task without a clone, of an
    agent, or where the task's branch is not at `commit` by now. Raises StateError.
    """
    if commit is None or job.parent is not None:
        return None
    task = read_task(caller.workspace, job.task_id)
    if task.clone is UNSET:
        return None
    remote = config.queue_remote
    sent = send_out(caller.workspace, config.clones, remote, job.id, job.task_id, is_made=True)
    return sent if sent is not None and sent.tip == commit else None


def checked_commit(caller: Caller, config: Configuration, job: Job) -> str | None:
    """Return the last commit of a task's branch; None where its clone here has something else."""
    main = main_checkout(caller.workspace, config.clones)
    task = read_task(caller.workspace, job.task_id)
    place = main.place(task)
    if own_mark(place) is not None and removal_risks_of(main, place).losses:
        return None
    return branch_commit(main.repository, place.branch)


def put_on_record(database: Database, job: Job, sent: Travel) -> None:
    """Put on record what was sent for a job; in the transaction that queues it, before that."""
    travels.send(database, replace(sent, job_id=job.id))
