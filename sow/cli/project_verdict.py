"""`sow review accept --project` and `sow review correct --project`: the verdict on the whole."""

from msgspec import UNSET

from sow import env_vars
from sow.calls.approving import is_reviewer_of_whole, judge_of_whole
from sow.calls.caller import Caller
from sow.calls.project_review import refuse_changed, refuse_unjudged
from sow.cli import late_click as click
from sow.cli.arguments import this_caller
from sow.cli.confirming import is_at_terminal
from sow.cli.output import echo_json
from sow.clock import format_time
from sow.clones.project_work import work_of
from sow.schema.output.projects import WholeJudged
from sow.schema.project import Project
from sow.schema.task import TaskStatus
from sow.state import lifecycle
from sow.state.authors import Author
from sow.state.projects import read_project
from sow.state.tasks import change_task, read_task
from sow.state.transitions import enter


def accept_whole(summary: str, *, as_json: bool) -> None:
    """Put on record that the whole is accepted.

    Raises StateError.
    """
    caller = this_caller()
    by = _judge(caller)
    work = _work(caller, by)
    project = lifecycle.accept_whole(caller.workspace, work, summary, by=by, now=caller.now())
    _complete_own_task(caller, by)
    _print(project, "The project is accepted", as_json=as_json)


def correct_whole(findings: bytes, summary: str, *, as_json: bool) -> None:
    """Ask for corrections of the whole. Raises StateError."""
    caller = this_caller()
    by = _judge(caller)
    work = _work(caller, by)
    project, number = lifecycle.correct_whole(
        caller.workspace, work, summary, findings, by=by, now=caller.now()
    )
    _complete_own_task(caller, by)
    # Corrections are begun where the project is judged; finalizing leads back to that.
    back = "" if project.standing == "reviewing" else "sow advance review && "
    words = f"Corrections of the project are requested in feedback {number}"
    _print(project, f"{words}\n  {back}sow advance correct", as_json=as_json)


def _judge(caller: Caller) -> Author:
    refuse_unjudged(read_project(caller.workspace))
    config = caller.load_configuration()
    return judge_of_whole(caller, config, at_terminal=is_at_terminal())


def _work(caller: Caller, by: Author) -> str:
    """Return the work that is judged: of a reviewer, that which the review began with.

    Raises StateError.
    """
    work = work_of(caller.workspace.root)
    if caller.job_id is not None and is_reviewer_of_whole(caller):
        task = read_task(caller.workspace, caller.environ[env_vars.TASK_ID])
        refuse_changed(caller.workspace, task, work, by, now=caller.now())
    return work


def _complete_own_task(caller: Caller, by: Author) -> None:
    """Complete the task of an agent that has reviewed the whole: its verdict is its work."""
    if caller.job_id is None or not is_reviewer_of_whole(caller):
        return
    now = caller.now()
    change_task(
        caller.workspace,
        caller.environ[env_vars.TASK_ID],
        lambda task: enter(task, TaskStatus.COMPLETED, now=now, keep_session=True),
        now=now,
        by=by,
    )


def _print(project: Project, line: str, *, as_json: bool) -> None:
    review = project.review
    assert review is not UNSET  # noqa: S101 - it was just written
    if not as_json:
        click.echo(f"{line}, by {review.by}" if "\n" not in line else line)
        return
    echo_json(
        WholeJudged(
            verdict=review.verdict.value,
            by=review.by,
            at=format_time(review.at.timestamp()),
            summary=review.summary,
            feedback_id=None if review.feedback is UNSET else review.feedback,
        )
    )
