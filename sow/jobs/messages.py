"""The queue message of a job, in the form in which huey's task row carries it.

Owns the bytes: a JSON object with the fields of huey's `Message` that are set.
A caller writes it without importing huey (26 ms, twice the interpreter's own
start); the worker's huey reads it, and writes the very same form when a job is
enqueued through huey's own API (`worker.broker`).
"""

from typing import Any

import msgspec

from sow.ids import JobId

TASK_NAME = "worker.broker.run_job"
"""The name under which the worker registers its one task."""


def job_message(job_id: JobId) -> bytes:
    """Return the message that asks a worker to run `job_id`. It carries nothing else."""
    fields = {
        "args": [job_id],
        "id": f"job-{job_id}",
        "kwargs": {},
        "name": TASK_NAME,
        "retries": 0,
        "retry_backoff": 0,
        "retry_delay": 0,
    }
    return msgspec.json.encode(fields, order="sorted")


def job_of(data: bytes) -> JobId | None:
    """Return the job that a message asks to run, or None for any other message."""
    try:
        fields = msgspec.json.decode(data, type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    arguments, named = fields.get("args"), fields.get("kwargs")
    if arguments == [] and isinstance(named, dict):
        arguments = list(named.values())
    if fields.get("name") != TASK_NAME or not isinstance(arguments, list) or len(arguments) != 1:
        return None
    return JobId(arguments[0]) if type(arguments[0]) is int else None
