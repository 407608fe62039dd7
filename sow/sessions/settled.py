"""Placing a job whose task's last job has reported and is only ending.

Between an agent's `sow task set status needs_review` and the end of its
process lie moments in which a resume would be refused for a job that is over
in all but name. Such a call waits for that end, and no longer than it may take.
"""

from sow.config.configuration import Configuration
from sow.jobs.database import Database
from sow.schema.job import Verb
from sow.sessions.caller import Caller
from sow.sessions.placement import TaskHasJob, place
from sow.sessions.request import Placed, Request
from sow.sessions.wait import Waiter
from sow.state.tasks import read_task
from sow.state.transitions import NO_REPORTS

ENDING_SECONDS = 30.0


def place_when_settled(
    caller: Caller,
    database: Database,
    config: Configuration,
    request: Request,
    waiter: Waiter | None = None,
) -> Placed:
    """Place a request; a resume first lets a job end that has already reported."""
    try:
        return place(caller, database, config, request, waiter)
    except TaskHasJob as refusal:
        if request.verb is not Verb.RESUME:
            raise
        if read_task(caller.workspace, request.task_id).status in NO_REPORTS:
            raise
        with Waiter(caller, database) as passing:
            passing.begin([refusal.job_id])
            passing.wait(seconds=ENDING_SECONDS)
            passing.delivered(refusal.job_id)
    return place(caller, database, config, request, waiter)
