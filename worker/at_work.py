"""One look at an attempt that is not over: a cancel is passed on, limits kept, what it tells noted.

Owns the order. What an agent can break by what it writes into its task's files
comes last: nothing of it may keep a limit or a cancel from the agent.
"""

import os
import signal
import time
from contextlib import suppress

from sow.errors import StateError
from sow.jobs.attempt_evidence import declare_void, has_exit, is_given_up
from sow.jobs.leases import end_is_asked
from sow.jobs.stalls import waits_for_others
from sow.processes import process_facts
from sow.processes.process_facts import Life
from worker.context import WorkerContext, tell
from worker.features import worker_features
from worker.kinds.work.end import persist_session
from worker.orphans import is_carried, pids_of, press
from worker.running import Running
from worker.task_state import has_reported
from worker.watchdog import note_quiet, overdue

AGAIN_SECONDS = 10.0
"""Stops that lie no further back than this are the work of one hand."""
MOST_STOPS = 3
"""How often within that time a supervisor is continued before it is given up."""
SESSION_SECONDS = 10.0
"""How often it is tried again to put a session on record in a task's state that is broken."""


def keep_going(running: Running, *, now: float) -> None:
    """Continue an attempt's supervisor if it was stopped, or kill it. `now` is monotonic."""
    supervisor = running.attempt.supervisor
    if supervisor is None or not process_facts.is_stopped(supervisor):
        return
    lately = [at for at in running.continued_at if now - at < AGAIN_SECONDS]
    with suppress(ProcessLookupError):
        if len(lately) < MOST_STOPS:
            running.continued_at = [*lately, now]
            tell(running.job, "its supervisor was stopped; continuing it")
            os.kill(supervisor.pid, signal.SIGCONT)
        else:
            tell(running.job, "its supervisor is stopped again and again; the worker replaces it")
            os.kill(supervisor.pid, signal.SIGKILL)


def has_ended(running: Running) -> bool:
    """Whether an attempt is over: its supervisor has gone, and nothing of the agent is left.

    A supervisor that was killed leaves its agent behind; such an agent is left
    to run, and has ended when no process carries the attempt's id. One that
    cannot be verified is over when a person has given it up. A record of the
    end proves nothing while the agent is seen at work: it may have made that
    file itself, and a second agent would be started beside it.
    """
    paths, attempt = running.paths, running.attempt.id
    if has_exit(paths, attempt) or is_given_up(paths, attempt):
        return not is_carried(running)
    if supervisor_lives(running):
        return False
    return not pids_of(running) and declare_void(paths, attempt)


def supervisor_lives(running: Running) -> bool:
    """Whether the attempt has a supervisor to end it; one elsewhere is never called dead."""
    if running.process is not None:
        return running.process.poll() is None
    identity = running.attempt.supervisor
    folder = running.paths.folder
    return identity is not None and process_facts.life_of(identity, folder) is not Life.DEAD


def ask_to_end(running: Running) -> None:
    """Ask the supervisor to end its whole tree; without one, the monitor's looks end it."""
    if running.asked_to_end:
        return
    running.asked_to_end = True
    identity = running.attempt.supervisor
    if identity is not None and process_facts.life_of(identity) is Life.ALIVE:
        with suppress(ProcessLookupError):
            os.kill(identity.pid, signal.SIGTERM)


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
    running.note_usage_so_far(context.database)


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
