"""`sow task list` and `sow task show`: plain text, so that they start fast.

Each imports what it needs by itself, so that neither waits for the other's modules.
"""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sow.cli import completing
from sow.cli.arguments import here, named_tasks
from sow.cli.failure import for_each
from sow.cli.output import echo_json, echo_json_lines, echo_table, json_option, shown_state
from sow.cli.task_options import ids_option
from sow.cli.verdict_words import feedback_words, steering_words, verdict_words
from sow.clock import Times, ago, utc_now
from sow.paths import display_path
from sow.terminal_text import printable

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from sow.paths import Workspace
    from sow.schema.task import Task

HEADER = ("ID", "STATUS", "AGENT", "PHASE", "ITERATION", "UPDATED", "WAITS FOR", "NAME")
SPARE = ("ITERATION", "PHASE", "UPDATED")
"""What a narrow terminal goes without; `sow task show` has it."""


@click.command("list")
@click.option("--status", help="Only tasks of this status.", shell_complete=completing.statuses)
@click.option("--phase", help="Only tasks of this phase.", shell_complete=completing.phases)
@json_option
def list_all(status: str | None, phase: str | None, as_json: bool) -> None:
    """List the tasks of the project.

    Tasks whose state cannot be read are left out, and the first of them is
    the error at the end.
    """
    from sow.reports.task_views import task_view
    from sow.state.fields import parse_status
    from sow.state.tasks import scan_tasks

    workspace = here()
    wanted = parse_status(status) if status else None
    tasks, errors = scan_tasks(workspace)
    shown = [
        task for task in tasks if wanted in (None, task.status) and phase in (None, task.phase)
    ]
    if as_json:
        echo_json_lines(task_view(workspace, task) for task in shown)
    elif shown:
        done = {task.id for task in tasks if task.status.value == "completed"}
        now = utc_now()
        echo_table(HEADER, [_row(task, done, now) for task in shown], ["STATUS"], SPARE)
    elif not errors:
        first = "No tasks. Add one: sow task add NAME --agent implementer"
        click.echo(_none(status, phase) if tasks else first, err=True)
    if errors:
        raise errors[0]


def _none(status: str | None, phase: str | None) -> str:
    """Return what to say where a filter leaves nothing of the tasks that there are."""
    of = f" of phase {phase}" if phase else ""
    wanted = f" is {status}" if status else " is there"
    return f"No task{of}{wanted}. `sow task list` shows them all."


def _row(task: "Task", done: "Collection[str]", now: float) -> tuple[str, ...]:
    """Return a task as a line of the table; `done` are the ids of the completed ones."""
    return (
        task.id,
        task.status.value,
        task.assigned_agent,
        task.phase,
        str(task.iteration),
        ago(task.updated_at.timestamp(), now),
        ", ".join(other for other in task.depends_on if other not in done) or "-",
        task.name,
    )


@click.command()
@click.argument("tasks", metavar="[TASK]...", nargs=-1, shell_complete=completing.tasks)
@ids_option
@click.option("--description", is_flag=True, help="Print its description.md, and nothing else.")
@json_option
def show(
    tasks: tuple[str, ...], task_options: tuple[str, ...], description: bool, as_json: bool
) -> int:
    """Show each TASK, with the last entries of its log."""
    workspace = here()
    named = named_tasks(tasks, task_options, os.environ)
    return for_each(
        named,
        lambda task_id: _show(workspace, task_id, description=description, as_json=as_json),
        as_json=as_json,
    )


def _show(workspace: "Workspace", task_id: str, *, description: bool, as_json: bool) -> None:
    from sow.cli.task_log import end_of_log, print_description
    from sow.state.tasks import find_task, read_task

    if description:
        print_description(find_task(workspace, task_id), as_json=as_json)
        return
    found = read_task(workspace, task_id)
    if as_json:
        from sow.reports.task_views import task_view

        echo_json(task_view(workspace, found))
        return
    click.echo(f"{found.id}  {found.name}")
    for label, value in _facts(workspace, found):
        click.echo(f"  {label:<12} {value}")
    for number, line in enumerate(end_of_log(find_task(workspace, found.id))):
        click.echo(f"  {'' if number else 'log':<12} {line}")


def _facts(workspace: "Workspace", task: "Task") -> list[tuple[str, str]]:
    """Return what there is to say of `task`, a line each."""
    from msgspec import UnsetType

    from sow.reports.task_views import task_folder

    times = Times(utc_now())
    facts = [
        ("status", shown_state(task.status.value)),
        ("agent", task.assigned_agent),
        ("phase", task.phase),
        ("iteration", str(task.iteration)),
        ("depends on", ", ".join(task.depends_on)),
        ("session", _session(task)),
        ("clone", _clone(task)),
        *((name, _time(getattr(task, f"{name}_at"), times)) for name in _TIMES),
        ("references", ", ".join(map(str, task.references))),
        ("review", verdict_words(task)),
        ("steering", steering_words(task)),
        ("feedback", ", ".join(map(feedback_words, task.feedback))),
        ("checks", "" if isinstance(task.checks, UnsetType) else ", ".join(task.checks)),
        *_check(task, times),
        ("merged", _merged(task, times)),
        ("files", ", ".join(task.files_modified)),
        *((key, str(value)) for key, value in task.metadata.items()),
        ("folder", os.path.relpath(workspace.root / task_folder(workspace, task))),
    ]
    return [(label, value) for label, value in facts if value]


_TIMES = ("created", "updated", "started", "completed")


def _check(task: "Task", times: Times) -> "Iterator[tuple[str, str]]":
    """Yield the outcome of its last check, then the last lines of what did not pass."""
    from msgspec import UnsetType

    check = task.check
    if isinstance(check, UnsetType):
        return
    commit = f" at {check.commit[:12]}" if check.commit else ""
    with_changes = " with changes" if check.dirty else ""
    how = "passed" if check.passed else "red"
    yield "last check", f"{how}{commit}{with_changes}, {_time(check.at, times)}"
    for result in check.results:
        yield "", f"{result.name}: {'passed' if result.passed else result.reason}"
        yield from (("", f"  | {printable(line)}") for line in result.lines)


def _merged(task: "Task", times: Times) -> str:
    from msgspec import UnsetType

    merged = task.merged
    if isinstance(merged, UnsetType):
        return ""
    return f"{merged.commit[:12]} into {printable(merged.into)}, {_time(merged.at, times)}"


def _session(task: "Task") -> str:
    if not isinstance(task.session_id, str):
        return ""
    executor = getattr(task.session, "executor", "unknown executor")
    begun = "started" if task.session_started else "not started"
    return f"{task.session_id} ({executor}, {begun})"


def _time(value: object, times: Times) -> str:
    from datetime import datetime

    return times.when(value.timestamp()) if isinstance(value, datetime) else ""


def _clone(task: "Task") -> str:
    path = getattr(task.clone, "path", "")
    return f"{display_path(Path(path))} on {getattr(task.clone, 'branch', '')}" if path else ""
