"""`sow task list`: plain text, so that it starts fast.

What reads the tasks is imported when the options have been read.
"""

from typing import TYPE_CHECKING

import click

from sow.cli import completing
from sow.cli.arguments import here
from sow.cli.output import echo_json_lines, echo_table, json_option
from sow.clock import ago, utc_now
from sow.errors import UsageError

if TYPE_CHECKING:
    from sow.schema.task import Task
    from sow.state.waiting import Among

HEADER = ("ID", "STATUS", "AGENT", "PHASE", "ITERATION", "UPDATED", "WAITS FOR", "NAME")
SPARE = ("ITERATION", "PHASE", "UPDATED")
"""What a narrow terminal goes without; `sow task show` has it."""


@click.command("list")
@click.option("--status", help="Only tasks of this status.", shell_complete=completing.statuses)
@click.option("--phase", help="Only tasks of this phase.", shell_complete=completing.phases)
@click.option("--ready", is_flag=True, help="Only tasks that can begin.")
@click.option("--waiting", is_flag=True, help="Only tasks that wait for others.")
@click.option(
    "--blocked",
    is_flag=True,
    help="Only tasks that wait for a task that failed, was abandoned or does not exist.",
)
@json_option
def list_all(
    status: str | None, phase: str | None, ready: bool, waiting: bool, blocked: bool, as_json: bool
) -> None:
    """List the tasks of the project, with what each waits for.

    Tasks whose state cannot be read are left out, and the first of them is
    the error at the end.
    """
    from sow.reports.task_views import listed_view
    from sow.state.fields import parse_status
    from sow.state.tasks import scan_tasks
    from sow.state.waiting import Among

    standing = _standing(ready=ready, waiting=waiting, blocked=blocked)
    workspace = here()
    wanted = parse_status(status) if status else None
    tasks, errors = scan_tasks(workspace)
    among = Among(tasks)
    shown = [
        task
        for task in tasks
        if wanted in (None, task.status)
        and phase in (None, task.phase)
        and standing in (None, among.standing_of(task))
    ]
    if as_json:
        echo_json_lines(listed_view(workspace, task, among) for task in shown)
    elif shown:
        now, says_why = utc_now(), standing is not None
        rows = [_row(task, _waits(task, among, says_why=says_why), now) for task in shown]
        echo_table(HEADER, rows, ["STATUS"], SPARE)
    elif not errors:
        first = "No tasks. Add one: sow task add NAME --agent implementer"
        click.echo(_none(status or standing, phase) if tasks else first, err=True)
    if errors:
        raise errors[0]


def _standing(**asked: bool) -> str | None:
    """Return the one standing that is asked for, if any. Raises UsageError."""
    words = [word for word, is_asked in asked.items() if is_asked]
    if len(words) > 1:
        options = " and ".join(f"--{word}" for word in words)
        raise UsageError(f"{options} are given together", hint="No task is both. Give one.")
    return words[0] if words else None


def _none(wanted: str | None, phase: str | None) -> str:
    """Return what to say where a filter leaves nothing of the tasks that there are."""
    of = f" of phase {phase}" if phase else ""
    return f"No task{of} is {wanted or 'there'}. `sow task list` shows them all."


def _waits(task: "Task", among: "Among", *, says_why: bool) -> str:
    """Return what a task waits for: how each stands where that keeps it from ever beginning."""
    ends = among.dead_ends(task)
    unmet = among.unmet(task).items()
    words = [f"{other} ({word})" if says_why or other in ends else other for other, word in unmet]
    return f"{'blocked: ' if ends else ''}{', '.join(words)}" or "-"


def _row(task: "Task", waits: str, now: float) -> tuple[str, ...]:
    """Return a task as a line of the table; `waits` is what it waits for."""
    # Only a table has notes.
    from sow.cli.verdict_words import steering_note

    note = steering_note(task)
    return (
        task.id,
        task.status.value,
        task.assigned_agent,
        task.phase,
        str(task.iteration),
        ago(task.updated_at.timestamp(), now),
        waits,
        f"{task.name} ({note})" if note else task.name,
    )
