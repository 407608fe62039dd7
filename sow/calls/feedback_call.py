"""What a call hands over that names no words of its own: the feedback of a task's last review.

Owns that the same call says the same once more after its agent has run: what
was open is addressed by then, and the outcome may still be owed.
"""

from contextlib import closing

from sow.calls.caller import Caller
from sow.errors import StateError
from sow.ids import ProjectId, TaskId
from sow.jobs import jobs, waiters
from sow.jobs.database import open_existing_queue
from sow.prompts.compose import feedback_message
from sow.schema.task import FeedbackStatus
from sow.state.projects import read_project
from sow.state.tasks import read_task
from sow.state.verdicts import feedback_in


def feedback_prompt(caller: Caller, task_id: TaskId, more: str) -> str:
    """Return the open feedback of a task as a prompt, with `more` below it.

    Where the very same was handed over before and is still awaited, it is that
    again. Raises StateError.
    """
    task = read_task(caller.workspace, task_id)
    found = feedback_in(caller.workspace, task, FeedbackStatus.OPEN)
    if found:
        return feedback_message(found, more)
    handed_over = feedback_in(caller.workspace, task, FeedbackStatus.ADDRESSED)
    prompt = feedback_message(handed_over, more)
    if handed_over and _is_awaited(caller, task_id, prompt):
        return prompt
    raise StateError(
        f"task {task.id} has no open feedback",
        hint=f"`sow review correct {task.id} --file FILE` asks for corrections. To send its"
        f' agent another message: `sow agent resume {task.id} "…"`.',
    )


def _is_awaited(caller: Caller, task_id: TaskId, prompt: str) -> bool:
    """Whether the last job of a task was given this prompt, and has not been told of yet."""
    database = open_existing_queue(caller.workspace)
    if database is None:
        return False
    with closing(database):
        project_id = ProjectId(read_project(caller.workspace).id)
        job = jobs.last_job(database, project_id, task_id)
        if job is None or job.prompt != prompt:
            return False
        return not job.state.is_final or waiters.is_owed(database, caller.workspace, job.id)
