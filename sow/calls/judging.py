"""Who judges a task's work, and which commit is judged.

Owns the law that an author never judges its own work: the agent of a job whose
product is the task's work may not say whether that is good, whatever its role.
What a verdict changes is `sow.state.verdicts`.
"""

from contextlib import closing, suppress

from sow import own_variables
from sow.calls.caller import Caller
from sow.errors import SowError, StateError
from sow.git.repository import repository_of
from sow.ids import TaskId
from sow.jobs import jobs
from sow.jobs.database import open_existing_queue
from sow.jobs.jobs import UnknownJob
from sow.schema.kinds import kind_of
from sow.state.verdicts import Judgement

PERSON = "person"
"""Who has judged, where no agent has."""


class OwnWork(StateError):
    """The author of a task has tried to judge it, or to merge it."""

    def __init__(self, task_id: str, deed: str) -> None:
        super().__init__(
            f"the agent of task {task_id} is the author of its work, and cannot {deed} it",
            hint="Leave `needs_review`: `sow task set status needs_review`."
            " Whoever gave you the task has it reviewed.",
        )


def judgement_of(caller: Caller, task_id: TaskId, summary: str) -> Judgement:
    """Return what the caller says of a task's work as it stands now. Raises OwnWork."""
    refuse_author(caller, task_id)
    role = caller.environ.get(own_variables.AGENT, "") if caller.job_id is not None else ""
    return Judgement(
        by=role or PERSON,
        summary=summary,
        commit=_commit(caller),
        job=caller.job_id,
    )


def refuse_author(caller: Caller, task_id: TaskId, deed: str = "judge") -> None:
    """Raise OwnWork where the caller's own job makes the task's work.

    Without its record the variables alone tell: then it is taken for the author.
    """
    if caller.job_id is None or caller.environ.get(own_variables.TASK_ID) != task_id:
        return
    database = open_existing_queue(caller.workspace)
    if database is not None:
        with closing(database), suppress(UnknownJob):
            job = jobs.get_job(database, caller.job_id)
            if job.task_id != task_id or not kind_of(job).makes_work:
                return
    raise OwnWork(task_id, deed)


def _commit(caller: Caller) -> str | None:
    """Return the commit that the work stands on; None where git cannot tell."""
    try:
        return repository_of(caller.workspace.root).commit
    except SowError:
        return None
