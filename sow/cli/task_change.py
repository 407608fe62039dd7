"""`sow task set`, `abandon`, `reopen`, and the agents' `set-status`.

Owns who may end a task: its own agent at any time, anybody else only while no
job of it lives. Each step imports what it needs by itself: agents run `sow task set`
all the time, and most of the steps belong to rare commands.
"""

import os
import time
from typing import TYPE_CHECKING

from sow.cli import completing
from sow.cli import late_click as click
from sow.cli.arguments import (
    here,
    id_option,
    ids_option,
    is_own_agent,
    named_task,
    named_tasks,
    task_argument,
    working_folder,
)
from sow.cli.confirming import author_here
from sow.cli.failure import for_each
from sow.cli.output import echo_json, json_option
from sow.errors import UsageError
from sow.ids import TaskId, parse_task_id
from sow.paths import may_have_queue
from sow.state.authors import author_of
from sow.state.log_writing import is_carried_out
from sow.state.places import find_task
from sow.terminal_text import readable

if TYPE_CHECKING:
    from sow.paths import Workspace
    from sow.schema.job import Job
    from sow.schema.task import Task
    from sow.state.transitions import FieldChanges

cancel_option = click.option(
    "--cancel-job", is_flag=True, help="Cancel the task's running job, if there is one."
)


@click.command("set")
@click.argument(
    "words", nargs=-1, metavar="[TASK]... FIELD VALUE", shell_complete=completing.field_words
)
@ids_option
@cancel_option
@json_option
def set_field(
    words: tuple[str, ...], task_options: tuple[str, ...], cancel_job: bool, as_json: bool
) -> int:
    """Set one FIELD of each TASK to VALUE.

    Fields: name, status, assigned_agent, depends_on, references, feedback,
    files_modified, checks, requires (lists are written a,b), priority and
    metadata.KEY.
    In references, ref:ID names one of `sow refs list`.
    """
    tasks, field, value = _split(words)
    return for_each(
        named_tasks(tasks, task_options, os.environ),
        lambda task: _set(task, field, readable(value), cancel_job=cancel_job, as_json=as_json),
        as_json=as_json,
    )


@click.command("set-status")
@click.argument("status", shell_complete=completing.statuses)
@id_option
@cancel_option
@json_option
def set_status(status: str, task_option: str | None, cancel_job: bool, as_json: bool) -> None:
    """Set the STATUS of your task: needs_review, paused, failed or completed."""
    task_id = parse_task_id(named_task(None, task_option, os.environ))
    _set(task_id, "status", status, cancel_job=cancel_job, as_json=as_json)


@click.command()
@task_argument
@cancel_option
@json_option
def abandon(task_id: TaskId, cancel_job: bool, as_json: bool) -> None:
    """Abandon a TASK. `sow task reopen` reverses this."""
    _set(task_id, "status", "abandoned", cancel_job=cancel_job, as_json=as_json)


@click.command()
@task_argument
@json_option
def reopen(task_id: TaskId, as_json: bool) -> None:
    """Make a completed or abandoned TASK pending again."""
    from sow.state import tasks

    workspace = here()
    reopened = tasks.reopen(
        workspace,
        task_id,
        now=time.time(),
        check=lambda: _refuse_while_live(workspace, task_id, has_option=False),
        by=author_here(),
    )
    _release_waiting(workspace)
    _touch_batch(workspace, reopened)
    _print(workspace, reopened, f"Task {task_id} is {reopened.status}", as_json=as_json)


def _split(words: tuple[str, ...]) -> tuple[tuple[str, ...], str, str]:
    """Return tasks, field and value of the command line's words. Raises UsageError."""
    tasks, rest = words[:-2], words[-2:]
    are_tasks = len(tasks) == 1 or all(map(str.isdecimal, tasks))
    if len(rest) < 2 or not are_tasks or (not tasks and rest[0].isdecimal()):
        raise UsageError(
            f"`sow task set` takes [TASK]... FIELD VALUE, not {len(words)} words",
            hint="For example: sow task set 010 status needs_review. "
            "Quote a value that has spaces.",
        )
    return tasks, rest[0], rest[1]


def _set(task_id: TaskId, field: str, value: str, *, cancel_job: bool, as_json: bool) -> None:
    workspace = here()
    own = is_own_agent(task_id, os.environ)
    value = value.strip() if field == "status" else value
    ends = field == "status" and not own and value in ("completed", "abandoned")
    if ends and cancel_job:
        _end_live_job(workspace, task_id)
    _refuse_unknown(workspace, field, value)
    why = ""
    if own and field == "status" and value == "completed":
        value, why = _as_authors_word(workspace, task_id)
    changed = _write(workspace, task_id, field, value, keep_session=own, ends=ends)
    if not own and field in ("status", "depends_on"):
        _release_waiting(workspace)
        _touch_batch(workspace, changed)
    shown = changed.status if field == "status" else value or "none"
    _print(workspace, changed, f"Task {task_id}: {field} is {shown}", as_json=as_json)
    if why:
        click.echo(f"Note: completed counts as needs_review here: {why}", err=True)
    if ends and value == "abandoned":
        _say_what_stays(changed)


def _touch_batch(workspace: "Workspace", task: "Task") -> None:
    """Have the batch that a task belongs to, if any, look at what was set; no queue, no batch."""
    if not may_have_queue(workspace):
        return
    from sow.calls.batch_touch import touch_from_here

    touch_from_here(os.environ, working_folder(), task)


def _as_authors_word(workspace: "Workspace", task_id: TaskId) -> tuple[str, str]:
    """Return what `completed` counts as where a task's own agent says it, and why, if not itself.

    Raises InvalidConfiguration or QueueError where nobody can tell.
    """
    from msgspec import UNSET

    from sow.state.tasks import read_task

    if read_task(workspace, task_id).clone is not UNSET:
        return "needs_review", "what is done in a clone is judged before it is merged"
    from sow.config.checks import review_is_required

    if review_is_required(workspace.repository_config):
        return "needs_review", f"{workspace.repository_config} has `reviews: required`"
    from sow.calls.live_jobs import find_live_job

    job = find_live_job(workspace, task_id)
    if job is not None and job.batch is not None:
        return "needs_review", f"task {task_id} belongs to batch {job.batch}, where work is judged"
    return "completed", ""


def _say_what_stays(task: "Task") -> None:
    """Say that an abandoned task's work is not gone, and how it goes."""
    from msgspec import UNSET

    if task.clone is not UNSET:
        click.echo(
            f"Note: its branch {task.clone.branch} stays, and so does its clone until"
            f" `sow clone remove {task.id} --discard`",
            err=True,
        )


def _end_live_job(workspace: "Workspace", task_id: TaskId) -> None:
    """End the job of a task; without a queue there is none.

    Where a report comes a second time, the job that lives now may be another one.
    """
    if not may_have_queue(workspace):
        return
    if is_carried_out(find_task(workspace, task_id).folder, author_of(os.environ)):
        return
    from sow.calls.live_jobs import end_live_job

    end_live_job(workspace, task_id, os.environ, _say_ended)


def _say_ended(job: "Job") -> None:
    click.echo(f"Note: job {job.id} of task {job.task_id} has ended: {job.state}", err=True)


def _release_waiting(workspace: "Workspace") -> None:
    """Let the jobs go on that waited for this; without a queue there are none."""
    if may_have_queue(workspace):
        from sow.cli.releasing import release_and_say

        release_and_say()


def _refuse_while_live(workspace: "Workspace", task_id: TaskId, *, has_option: bool) -> None:
    """Refuse to change a task whose job lives; without a queue there is none."""
    if may_have_queue(workspace):
        from sow.calls.live_jobs import refuse_while_live

        refuse_while_live(workspace, task_id, has_option=has_option)


def _refuse_unknown(workspace: "Workspace", field: str, value: str) -> None:
    """Refuse a role, a check or a reference that there is not.

    A task names checks of the repository, never a command line.
    """
    if field == "assigned_agent":
        from sow.agents.roles import get_agent

        get_agent(value)
    elif field == "checks":
        from sow.config import checks
        from sow.state.fields import parse_list

        checks.refuse_unknown(workspace.repository_config, parse_list(value))
    elif field == "references" and "ref:" in value:
        from sow.refs import for_task
        from sow.state.fields import parse_list

        for_task.refuse_unknown(workspace, parse_list(value))


def _write(
    workspace: "Workspace",
    task_id: TaskId,
    field: str,
    value: str,
    *,
    keep_session: bool,
    ends: bool,
) -> "Task":
    from sow.state import fields, tasks

    now, by = time.time(), author_here()
    if field == "depends_on":
        depends_on = fields.parse_list(value)
        return tasks.set_dependencies(workspace, task_id, depends_on, now=now, by=by)

    def change(task: "Task") -> "FieldChanges":
        if ends:
            _refuse_while_live(workspace, task_id, has_option=True)
        return fields.set_field(task, field, value, now=now, keep_session=keep_session)

    return tasks.change_task(workspace, task_id, change, now=now, by=by)


def _print(workspace: "Workspace", task: "Task", line: str, *, as_json: bool) -> None:
    if as_json:
        from sow.reports.task_views import task_view

        echo_json(task_view(workspace, task))
    else:
        click.echo(line)
