"""What a command has shown of a job's outcome is owed to nobody any more.

Owns which commands tell an outcome: those that were asked about one job, by
its number or by its task, and that have said how it ended. A table of many
jobs, such as `sow job list`, tells none. What an agent reads of other agents'
jobs tells its orchestrator nothing, and strikes nothing either.
"""

import os
import sys
from contextlib import suppress

from sow.agents.rights import calling_agent
from sow.clock import utc_now
from sow.errors import QueueError
from sow.jobs import waiters
from sow.jobs.database import Database
from sow.paths import Workspace
from sow.schema.job import Job


def outcome_is_shown(workspace: Workspace, database: Database, job: Job) -> None:
    """Owe a job's outcome to no caller that went away; nothing while the job has not ended.

    Call it last. What was printed is out before the debt is struck, and a debt
    that cannot be struck (the queue is locked, the disk full) stays: the next
    call prints the outcome once more, which harms nobody.
    """
    agent = calling_agent(os.environ)
    if not job.state.is_final or (agent is not None and not agent.orchestrates):
        return
    if sys.stdout is not None:  # whoever started us may have closed it
        sys.stdout.flush()
    with suppress(QueueError):
        escrow = waiters.escrow_in(os.environ)
        waiters.strike_gone(database, workspace, job.id, escrow=escrow, now=utc_now())
