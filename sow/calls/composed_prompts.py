"""What a call hands over that names no words of its own: the feedback of a review, or a conflict.

Owns that the same call says the same once more while its agent is at work and after it has ended:
what was open is addressed by then, fewer files are in conflict, and the outcome may still be owed.
"""

from contextlib import closing

from sow.calls.caller import Caller
from sow.clones.conflicts import conflict_in
from sow.clones.main_checkout import main_checkout
from sow.errors import StateError
from sow.executors.registry import can_resume
from sow.ids import ProjectId, TaskId
from sow.jobs import jobs, waiters
from sow.jobs.database import open_existing_queue
from sow.lifecycle.task_ways import solving, solving_now
from sow.prompts.compose import CONFLICT, conflict_message, feedback_message
from sow.schema.task import FeedbackStatus, TaskStatus
from sow.state.projects import read_project
from sow.state.tasks import read_task
from sow.state.verdicts import feedback_in
from sow.terminal_text import printable, readable


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
    if handed_over and _awaited(caller, task_id) == prompt:
        return prompt
    raise StateError(
        f"task {task.id} has no open feedback",
        hint=f"`sow review correct {task.id} --file FILE` asks for corrections. To send its"
        f' agent another message: `sow agent resume {task.id} "…"`.',
    )


def conflict_prompt(caller: Caller, task_id: TaskId, more: str, *, anew: bool = False) -> str:
    """Return the conflict in a task's clone as a prompt, with `more` below it.

    `anew`: it is for another session, not for more of the one on record.

    Where one was handed over before, with the same words, and is still awaited,
    it is that again. Raises StateError, and what
    `conflict_in` raises.
    """
    earlier = _awaited(caller, task_id)
    if earlier.startswith(CONFLICT) and earlier.endswith(more):
        return earlier
    task = read_task(caller.workspace, task_id)
    config = caller.load_configuration()
    main = main_checkout(caller.workspace, config.clones)
    place = main.place(task)
    found = conflict_in(main, place)
    if found is None:
        raise StateError(
            f"no merge is in progress in the clone of task {task.id}",
            hint=f"`sow clone update {task.id}` merges the project's branch into the clone.",
        )
    if task.status is TaskStatus.COMPLETED:
        raise StateError(
            f"task {task.id} is completed, and its session is over",
            hint="Reopen the task and start a new session to solve the conflict:"
            f" {solving(task.id, is_completed=True)}.",
        )
    if not anew and not can_resume(config, task):
        files = ", ".join(map(_readable, found.unsolved)) or "files that are solved already"
        raise StateError(
            f"the work of task {task.id} conflicts with {found.branch} in {files}, and its"
            " executor cannot resume its session",
            hint="Start a new session to solve the conflict in the same clone:"
            f" `{solving_now(task.id, resumes=False)}`. Or solve it yourself in"
            f" {printable(str(place.path))}, and commit.",
        )
    return conflict_message(found.branch, [_readable(path) for path in found.unsolved], more)


def _readable(path: str) -> str:
    """Return a file's name as a prompt may hold it: names can be any bytes."""
    return printable(readable(path))


def _awaited(caller: Caller, task_id: TaskId) -> str:
    """Return what the last job of a task was given; empty where its outcome has been told of."""
    database = open_existing_queue(caller.workspace)
    if database is None:
        return ""
    with closing(database):
        project_id = ProjectId(read_project(caller.workspace).id)
        job = jobs.last_job(database, project_id, task_id)
        if job is None:
            return ""
        is_awaited = not job.state.is_final or waiters.is_owed(database, caller.workspace, job.id)
        return job.prompt if is_awaited else ""
