"""What the records of attempts tell of a session: whether it is kept, or to be replaced.

Owns which sessions may be replaced without a person's word. A session that never began holds
nothing. One that began and was cut off before its CLI had kept it holds nothing either: no turn
of it ended in good order, and no transcript of it was ever seen. Any other is never replaced.
"""

from collections.abc import Sequence

from msgspec import UNSET

from sow.executors.base import Executor
from sow.executors.session import SessionSource
from sow.jobs import jobs
from sow.jobs.database import Database
from sow.schema.cause_table import (
    ELSEWHERE,
    GOOD_ORDER,
    SESSION_TAKEN,
    SESSION_UNKNOWN,
    WITHOUT_AGENT,
)
from sow.schema.job import Attempt
from sow.schema.kinds import SessionUse, kind_of
from sow.schema.task import Task


def lacks_session(task: Task, executor: Executor, history: Sequence[Attempt]) -> bool:
    """Whether another session must take the place of the one on record: its CLI does not know it.

    A spawn by the same id would do for one that never began and whose id sow
    chooses, unless the CLI has called that id taken as well.
    """
    source = executor.session_source
    if task.session_id is UNSET:  # somebody put the state back to what it was before the job
        return source in (SessionSource.CHOSEN, SessionSource.CREATED)
    if source is SessionSource.NONE:
        return False
    refusals = [
        attempt.cause
        for attempt in history
        if attempt.session_id == task.session_id
        and attempt.cause in SESSION_TAKEN | SESSION_UNKNOWN
    ]
    if not refusals or not history or history[-1].cause not in SESSION_UNKNOWN:
        return False
    is_taken = any(cause in SESSION_TAKEN for cause in refusals)
    return source is SessionSource.CREATED or task.session_started or is_taken


def is_kept(database: Database, session_id: str, *, started: bool) -> bool:
    """Whether a session may hold what must not be lost without a person's word.

    All jobs on record are asked. One that began where no record tells of it
    (they were pruned, say) proves nothing, and counts as kept. `started` is
    what the task's state says of it.
    """
    tried = jobs.attempts_on(database, session_id)
    if any(_held_a_turn(attempt) for attempt in tried):
        return True
    if not started:
        return False
    began_here = any(
        kind_of(attempt).session is SessionUse.BEGINS and attempt.cause not in WITHOUT_AGENT
        for attempt in tried
    )
    return not began_here or any(attempt.transcript_seen for attempt in tried)


def _held_a_turn(attempt: Attempt) -> bool:
    is_unseen = kind_of(attempt).is_interactive  # nobody saw what the person did in it
    return is_unseen or attempt.finished_turn or attempt.cause in GOOD_ORDER


def ran_in(history: Sequence[Attempt], session_id: str) -> bool:
    """Whether an agent has run in a session in one of these attempts, and not in another one."""
    return any(
        attempt.session_id == session_id
        and attempt.cause is not None
        and attempt.cause not in WITHOUT_AGENT | ELSEWHERE
        for attempt in history
    )


def warning_of_loss(session_id: str) -> str:
    """Return what a caller is told of a session that was lost before it was kept."""
    return (
        f"session {session_id} was cut off before its CLI had kept it, and is lost;"
        " the task went on in a new session"
    )


def lost_attempts(database: Database, task: Task, history: Sequence[Attempt]) -> Sequence[Attempt]:
    """Return the attempts, of all jobs, on the sessions that this job has given up."""
    lost = dict.fromkeys(
        attempt.session_id
        for attempt in history
        if attempt.cause in SESSION_UNKNOWN and attempt.session_id not in (None, task.session_id)
    )
    return [
        attempt
        for session_id in lost
        for attempt in jobs.attempts_on(database, session_id or "")
        if attempt.cause not in WITHOUT_AGENT
    ]
