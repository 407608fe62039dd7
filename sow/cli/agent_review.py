"""`sow agent review`."""

from collections.abc import Mapping
from typing import Any

from msgspec import UNSET

from sow.agents.roles import get_agent
from sow.calls.caller import Caller
from sow.calls.kinds.review import REVIEWER
from sow.calls.project_review import review_task as task_of_review
from sow.calls.request import Request
from sow.cli import completing
from sow.cli import late_click as click
from sow.cli.arguments import ids_option, named_tasks, this_caller
from sow.cli.call_options import (
    WaitOptions,
    again_option,
    call_options,
    dry_run_option,
    feature_options,
)
from sow.cli.calling import place_and_wait
from sow.clones.project_work import work_of
from sow.errors import ExitCode, UsageError
from sow.ids import TaskId
from sow.schema.job import Verb
from sow.schema.task import ReviewVerdict, TaskStatus
from sow.state.projects import read_project
from sow.state.tasks import read_task
from sow.terminal_text import printable, readable


@click.command("review")
@click.argument("tasks", metavar="[TASK]...", nargs=-1, shell_complete=completing.tasks)
@ids_option
@click.option("--project", "whole", is_flag=True, help="Review the project as a whole.")
@click.option(
    "--agent", help="The role that reviews (default: reviewer).", shell_complete=completing.roles
)
@click.option("--prompt", default="", help="More instructions for the reviewer.")
@again_option
@feature_options
@dry_run_option
@call_options()
def review_task(
    tasks: tuple[str, ...],
    task_options: tuple[str, ...],
    whole: bool,
    agent: str | None,
    prompt: str,
    again: bool,
    asked: Mapping[str, Any],
    dry_run: bool,
    options: WaitOptions,
) -> int:
    """Have an agent review the work of each TASK, wait, and print its verdict.

    The task keeps its status, and no other job of it can start meanwhile. If the
    task has its own clone, the reviewer works in a temporary clone of its last
    commit; otherwise in the working tree. `sow review show` prints the verdict.
    With --project the whole project is reviewed, in the working tree, as a task
    of the phase `project`.

    Exit: 0 for either verdict, 1 without one, 4 refused, 5 executor missing,
    7 cancelled, 75 still running or held, 130 interrupted (the job continues).
    """
    caller = this_caller()
    if whole:
        if tasks or task_options:
            raise UsageError("--project and task ids exclude each other", hint="Give either.")
        if dry_run:
            raise UsageError(
                "--dry-run shows the review of a task, and --project makes a task first",
                hint="Give only one of them. The reviewer starts with `sow prompt"
                " guidance/reviewer/base`.",
            )
        request = _of_whole(caller, agent, readable(prompt), again=again, asked=asked)
        return _review_whole(caller, request, options)
    requests = [
        Request(
            verb=Verb.REVIEW,
            task_id=task_id,
            agent=agent,
            prompt=readable(prompt),
            again=again,
            asked=asked,
        )
        for task_id in named_tasks(tasks, task_options, caller.environ)
    ]
    if dry_run:
        # Few calls ask for a preview.
        from sow.cli.preview import show_review_dry_run

        for request in requests:
            show_review_dry_run(caller, request, as_json=options.as_json, detach=options.detach)
        return 0
    return place_and_wait(caller, requests, options)


def _review_whole(caller: Caller, request: Request, options: WaitOptions) -> int:
    """Have the whole reviewed, and return the exit code: 1 where its agent gave no verdict."""
    code = place_and_wait(caller, [request], options)
    if code or options.detach:
        return code
    task = read_task(caller.workspace, request.task_id)
    if task.status is not TaskStatus.NEEDS_REVIEW:
        if not options.as_json:
            _say_verdict(caller)
        return code
    words = f"task {task.id} has ended without a verdict: `sow task log {task.id}`"
    click.echo(f"Note: {words}. Run the same command again to ask for one.", err=True)
    return int(ExitCode.FAILED)


def _say_verdict(caller: Caller) -> None:
    """Print the verdict on the whole, where there is one."""
    review = read_project(caller.workspace).review
    if review is not UNSET:
        verdict = "accepted" if review.verdict is ReviewVerdict.ACCEPTED else "to be corrected"
        summary = f": {printable(review.summary)}" if review.summary else ""
        click.echo(f"  The project is {verdict}, says {review.by}{summary}")


def _of_whole(caller: Caller, agent: str | None, prompt: str, **given: Any) -> Request:
    """Return the request for the review of the whole: a task of its own, for a reviewing role."""
    role = get_agent(agent or REVIEWER).name
    work = work_of(caller.workspace.root)
    task = task_of_review(caller.workspace, work, role, now=caller.now())
    goes_on = task.session_started and task.status is not TaskStatus.IN_PROGRESS
    if not goes_on:
        return Request(
            verb=Verb.SPAWN, task_id=TaskId(task.id), prompt=prompt, clone=False, **given
        )
    words = prompt or "Go on, and end with a verdict."
    return Request(verb=Verb.RESUME, task_id=TaskId(task.id), prompt=words, **given)
