"""What the refs are called by which a task's work travels."""

from sow.ids import JobId

ID_DIGITS = 8
COMMIT_DIGITS = 12


def outward_ref(project_id: str, task_id: str, packed: str) -> str:
    """Return the ref of what an agent begins with; its commit makes it one that is made once."""
    return f"refs/sow/tasks/{project_id[:ID_DIGITS]}/{task_id}/{packed[:COMMIT_DIGITS]}"


def attempt_ref(project_id: str, job_id: JobId, number: int) -> str:
    """Return the ref of what an attempt has left."""
    return f"refs/sow/attempts/{project_id[:ID_DIGITS]}/{job_id}-{number}"
