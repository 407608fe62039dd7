"""How far a call has come, and what there is to wait for where it is left in the middle.

Owns which jobs are the call's own: those that it has placed, or that it was
asked for, and whose outcome it has not delivered.
"""

from collections.abc import Sequence

from msgspec import Struct, field

from sow.calls.caller import Caller
from sow.calls.request import Request
from sow.errors import SowError
from sow.ids import JobId, ProjectId, TaskId
from sow.jobs import jobs
from sow.jobs.database import Database
from sow.schema.job import Job
from sow.state.projects import read_project


class Course(Struct):
    """How far a call has come, for whoever leaves it in the middle."""

    task_ids: Sequence[TaskId]
    newest_before: JobId | None = None
    """The newest job on record when it began; None where it places none and waits for any."""
    job_ids: Sequence[JobId] = ()
    """The jobs that a call names by their numbers; it names no task then."""
    placed: set[JobId] = field(default_factory=set)
    delivered: set[JobId] = field(default_factory=set)

    @property
    def is_of_several(self) -> bool:
        """Whether the call names more than one task, or job."""
        return len(self.job_ids or self.task_ids) > 1


def begin(database: Database, requests: Sequence[Request]) -> Course:
    """Return the course of a call of these requests that has not placed anything yet."""
    return Course([request.task_id for request in requests], jobs.newest_id(database))


def left_to_wait_for(caller: Caller, database: Database, course: Course) -> list[TaskId]:
    """Return the tasks that there is something to wait for, of a call that was left midway.

    Not those whose outcome was delivered, nor those that no job was placed for:
    an older job of the same task is another call's. Of several tasks with one job
    (a merge) it is the first.
    """
    try:
        project_id = ProjectId(read_project(caller.workspace).id)
        last = {task: jobs.last_job(database, project_id, task) for task in course.task_ids}
    except SowError:  # nobody can tell now: rather one name too many
        return list(course.task_ids)
    named: dict[JobId, TaskId] = {}
    for task, job in last.items():
        if job is not None and _is_awaited(job, course):
            named.setdefault(job.id, task)
    return list(named.values())


def _is_awaited(job: Job, course: Course) -> bool:
    before = course.newest_before
    is_ours = before is None or job.id > before or job.id in course.placed
    return is_ours and job.id not in course.delivered


def jobs_left(course: Course) -> list[JobId]:
    """Return the same by the numbers of jobs: those named or placed, and not delivered."""
    ours = course.job_ids or sorted(course.placed)
    return [job_id for job_id in ours if job_id not in course.delivered]
