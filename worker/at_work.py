"""One look at an attempt that is not over: a cancel is passed on, limits kept, what it tells noted.

Owns the order. What an agent can break by what it writes into its task's files
comes last: nothing of it may keep a limit or a cancel from the agent.
"""

import time

from sow.errors import StateError
from sow.jobs.leases import end_is_asked
from sow.jobs.stalls import waits_for_others
from worker.attempt_over import ask_to_end
from worker.context import WorkerContext, tell
from worker.features import worker_features
from worker.kinds.work.end import persist_session
from worker.metering import note_usage_so_far
from worker.orphans import press
from worker.quiet import note_quiet
from worker.running import Running
from worker.standstill import keep_going
from worker.task_state import has_reported
from worker.watchdog import overdue

SESSION_SECONDS = 10.0
"""How often it is tried again to put a session on record in a task's state that is broken."""


def look_at_running(
    context: WorkerContext, running: Running, *, reading_seconds: float, is_alone: bool
) -> None:
    """See to an attempt whose agent goes on; read its output for so long at the most.

    `is_alone`: it has no supervisor any more, so this ends what is to be ended. Raises Fenced.
    """
    running.over_since = None  # something of it runs on
    _pass_on_cancellation(context, running)  # first: nothing below may keep it from the agent
    keep_going(running, now=time.monotonic())
    running.output.read_for(reading_seconds)
    _end_if_overdue(context, running)
    note_quiet(context, running)
    if is_alone:
        press(running, now=time.monotonic())
    _note_session(context, running, now=time.monotonic())
    note_usage_so_far(context, running)


def _pass_on_cancellation(context: WorkerContext, running: Running) -> None:
    if running.asked_to_end:
        return
    if end_is_asked(context.database, running.job.id):
        ask_to_end(running)


def _end_if_overdue(context: WorkerContext, running: Running) -> None:
    looks = [feature.on_usage(context, running) for feature in worker_features()]
    if running.asked_to_end:
        return
    verdict = overdue(
        running,
        time.monotonic(),
        lambda: has_reported(context, running.job),
        lambda: waits_for_others(context.database, running.job.id),
    ) or next(filter(None, looks), None)
    if verdict is not None:
        tell(running.job, f"{verdict.reason}; ending it")
        running.ended_for = verdict
        ask_to_end(running)


def _note_session(context: WorkerContext, running: Running, *, now: float) -> None:
    """Put the session on record; where the task's state is broken, try it again now and then.

    The agent may have broken it, or git left a conflict there. Nothing else waits for its mend.
    """
    if now < running.session_at:
        return
    try:
        persist_session(context, running)
    except StateError as error:
        running.session_at = now + SESSION_SECONDS
        tell(running.job, f"its session cannot be put on record yet: {error.message}")
