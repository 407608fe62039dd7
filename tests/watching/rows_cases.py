"""Rows in every state that the live view tells apart."""

from typing import Any

from sow.schema.job import JobState
from sow.schema.task import TaskStatus
from sow.watching.snapshot import Row

NOW = 1_800_000_000.0


def resting(status: TaskStatus | None, **fields: Any) -> Row:
    """Return task 010 of which no job lives."""
    return Row(
        **{
            "key": "010",
            "task": "010",
            "name": "Sign in",
            "who": "implementer",
            "status": status,
            "state": status.value if status else "",
            **fields,
        }
    )


def ended(status: TaskStatus, state: JobState = JobState.DONE, **fields: Any) -> Row:
    """Return task 010 whose newest job has ended."""
    return resting(status, **{"job": 17, "job_state": state, "has_agent": True, **fields})


def live(state: JobState = JobState.RUNNING, **fields: Any) -> Row:
    """Return task 010 with a job that lives."""
    more = {"state": state.value, "job": 17, "job_state": state, "has_agent": True}
    status = fields.pop("status", TaskStatus.IN_PROGRESS)
    return resting(status, **{**more, "begun_at": NOW - 65, **fields})
