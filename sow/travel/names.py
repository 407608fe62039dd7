"""What the refs are called by which a task's work travels."""

import re

from sow.ids import AttemptId, JobId

ID_DIGITS = 8
COMMIT_DIGITS = 12
MARK = re.compile("[0-9a-f]{1,32}")
"""The random part of an attempt's id."""


def outward_ref(project_id: str, task_id: str, packed: str) -> str:
    """Return the ref of what an agent begins with; its commit makes it one that is made once."""
    return f"refs/sow/tasks/{project_id[:ID_DIGITS]}/{task_id}/{packed[:COMMIT_DIGITS]}"


def attempt_ref(project_id: str, attempt_id: AttemptId) -> str:
    """Return the ref of what an attempt has left.

    It ends with the id's random part: a server that was restored from a backup counts anew.
    """
    return f"refs/sow/attempts/{project_id[:ID_DIGITS]}/{attempt_id.replace('.', '-')}"


def is_attempt_ref(ref: str, project_id: str, job_id: JobId, number: int) -> bool:
    """Whether a ref is what `attempt_ref` returns for an attempt of this number of a job."""
    begins = f"refs/sow/attempts/{project_id[:ID_DIGITS]}/{job_id}-{number}-"
    return ref.startswith(begins) and bool(MARK.fullmatch(ref.removeprefix(begins)))
