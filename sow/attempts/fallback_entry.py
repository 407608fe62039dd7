"""The entry in a task's log that another executor took the place of one.

The job's record says so in the same commit in which it changes hands. The entry is written just
before; its id follows from the job, so that one that is written again after a kill stands there
once.
"""

from pathlib import Path

from sow.attempts.fallback import obstacle_words
from sow.clock import format_time
from sow.digest import sha256
from sow.schema.job import Job
from sow.schema.job_terms import LeftExecutor
from sow.state.authors import ID_DIGITS
from sow.state.log_writing import LogEntry, has_entry
from sow.state.task_log import append_entry


def log_moves(folder: Path, job: Job, left: LeftExecutor, place: int, name: str, at: float) -> None:
    """Say in the log of a task's folder that `name` goes on in the place of `left`.

    `place` is how many executors the job had left before. Raises StateLocked, NotWritten.
    """
    entry = LogEntry(
        timestamp=format_time(at),
        agent="sow",
        action=f"Goes on with {name}: {obstacle_words(left)}",
        result="",
        text=left.reason,
        role=job.agent,
        job=job.id,
        attempt=left.attempt or None,
        id=_entry_id(job, place),
    )
    if not has_entry(folder, entry.id, has_text=bool(entry.text.strip())):
        append_entry(folder, entry)


def log_choice(folder: Path, job: Job, at: float) -> None:
    """Say in the log which executors a new job's own takes the place of."""
    for place, left in enumerate(job.fallback.left):
        log_moves(folder, job, left, place, job.executor_name, at)


def _entry_id(job: Job, place: int) -> str:
    whose = f"fallback {place} of {job.project_id} {job.task_id} {job.id} {job.created_at}"
    return str(sha256(whose.encode()).hexdigest())[:ID_DIGITS]
