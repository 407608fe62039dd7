"""The commands that wait for tasks and jobs, as a call is told to go on with them.

Pure, and small: what refuses a call names them too, before there is an outcome.
"""

import shlex
from collections.abc import Sequence

from sow.schema.job import Job


def waiting_command(
    *task_ids: str,
    jobs: Sequence[int] = (),
    any_one: bool = False,
    wait: str | None = None,
    as_json: bool = False,
) -> str:
    """Return the command that waits for these tasks, or jobs, as the call at hand does."""
    words = ["sow", "job", "wait", *map(str, jobs)] if jobs else ["sow", "agent", "wait", *task_ids]
    words += ["--any"] if any_one else []
    words += ["--wait", wait] if wait else []
    words += ["--json"] if as_json else []
    return shlex.join(words)


def wait_for_job(job: Job) -> str:
    """Return the command that waits for a job: by its task, or by its number where it has none."""
    return waiting_command(job.task_id) if job.task_id else waiting_command(jobs=[job.id])
