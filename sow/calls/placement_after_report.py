"""Placing a job whose task's last job has reported and is only ending.

Between an agent's `sow task set status needs_review` and the end of its
process lie moments in which a resume would be refused for a job that is over
in all but name. Such a call waits for that end, and no longer than it may take.
"""

from collections.abc import Callable

from sow.calls.caller import Caller
from sow.calls.placement import place
from sow.calls.report import has_reported
from sow.calls.request import Placed, Request
from sow.calls.same_call import TaskHasJob
from sow.calls.wait import Progress, Waiter
from sow.clock import format_duration
from sow.config.configuration import Configuration
from sow.errors import StateError
from sow.ids import JobId, TaskId
from sow.jobs.database import Database
from sow.schema.task import TaskStatus
from sow.state.tasks import read_task

ENDING_SECONDS = 30.0


class AgentIsEnding(StateError):
    """The task's last agent has reported, but its program is still there."""

    def __init__(self, task_id: TaskId, job_id: JobId, status: TaskStatus, waited: float) -> None:
        super().__init__(
            f"nothing was queued for task {task_id}: the agent of job {job_id} has left {status}, "
            f"but its program has not ended ({format_duration(waited)} waited)",
            hint=f"`sow agent wait {task_id}` waits for its end. Then make the same call again.",
        )


def place_when_settled(
    caller: Caller,
    database: Database,
    config: Configuration,
    request: Request,
    waiter: Waiter | None = None,
    *,
    seconds: float | None = None,
    on_tick: Callable[[Progress], None] = lambda _: None,
) -> Placed:
    """Place a request; a resume first lets a job end that has already reported.

    That takes no longer than `seconds`, which the whole call may take, and
    `on_tick` is told of it. Raises AgentIsEnding, and what `place` raises.
    """
    patience = ENDING_SECONDS if seconds is None else min(ENDING_SECONDS, seconds)
    try:
        return place(caller, database, config, request, waiter)
    except TaskHasJob as refusal:
        if not request.continues_session:
            raise
        status = read_task(caller.workspace, request.task_id).status
        if not has_reported(refusal.job, status):
            raise
        with Waiter(caller, database, passing=True) as passing:
            passing.begin([refusal.job.id])
            still_there = passing.wait(seconds=patience, on_tick=on_tick)
        if still_there:
            raise AgentIsEnding(request.task_id, refusal.job.id, status, patience) from None
    return place(caller, database, config, request, waiter)
