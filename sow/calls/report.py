"""Whether the agent of a job has reported: its task's status tells, where its kind reports so."""

from sow.schema.job import Job
from sow.schema.kinds import kind_of
from sow.schema.task import TaskStatus
from sow.state.transitions import NO_REPORTS


def has_reported(job: Job, status: TaskStatus) -> bool:
    """Whether `status`, in which the task of a live job stands, is what its agent has left.

    Such a job is over in all but name: its agent's program is only ending.
    """
    return kind_of(job).reports_status and status not in NO_REPORTS
