"""`sow task list` and `sow task show`: plain text, so that they start fast.

Each function imports what it needs by itself, so that none waits for another's modules.
"""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from sow.cli import completing
from sow.cli import late_click as click
from sow.cli.arguments import here, ids_option, named_tasks
from sow.cli.failure import for_each
from sow.cli.output import (
    echo_json,
    echo_json_lines,
    echo_table,
    json_option,
    shown_state,
    terminal_width,
)
from sow.clock import Times, ago, utc_now
from sow.errors import UsageError
from sow.paths import display_path, may_be_on_server
from sow.terminal_text import folded, printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sow.paths import Workspace
    from sow.schema.output.costs import CostSum
    from sow.schema.task import Task
    from sow.state.waiting import Among


HEADER = ("ID", "STATUS", "AGENT", "PHASE", "ITERATION", "UPDATED", "WAITS FOR", "NAME")
SPARE = ("ITERATION", "PHASE", "UPDATED")
"""What a narrow terminal goes without; `sow task show` has it."""


@click.command("list")
@click.option("--status", help="Only tasks of this status.", shell_complete=completing.statuses)
@click.option("--phase", help="Only tasks of this phase.", shell_complete=completing.phases)
@click.option("--ready", is_flag=True, help="Only tasks that can start.")
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

    Tasks whose state cannot be read are left out; the error at the end names the
    first of them.
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
    from sow.cli.review import steering_note

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


BEFORE_VALUES = 15
"""How many characters stand before each value."""
LEAST_COLUMNS = 40
"""On a terminal narrower than this, values are not folded: it would leave a word a line."""


@click.command()
@click.argument("tasks", metavar="[TASK]...", nargs=-1, shell_complete=completing.tasks)
@ids_option
@click.option("--description", is_flag=True, help="Print only its description.md.")
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
    from sow.cli.log_entries import end_of_log
    from sow.state.tasks import find_task, read_task

    if description:
        from sow.cli.log import print_description

        print_description(workspace, find_task(workspace, task_id), as_json=as_json)
        return
    found = read_task(workspace, task_id)
    if as_json:
        from sow.reports.task_views import task_shown

        echo_json(task_shown(workspace, found, _costs(workspace, found)))
        return
    facts, log = _facts(workspace, found), end_of_log(find_task(workspace, found.id))
    click.echo(f"{found.id}  {printable(found.name)}")
    columns = terminal_width()
    width = columns - BEFORE_VALUES if columns and columns >= LEAST_COLUMNS else None
    entries = [("" if number else "log", line) for number, line in enumerate(log)]
    for label, value in [*facts, *entries]:
        is_status = label == STATUS
        lines = [shown_state(value)] if is_status else folded(printable(value), width)
        for number, line in enumerate(lines):
            click.echo(f"  {'' if number else printable(label):<12} {line}")


def _facts(workspace: "Workspace", task: "Task") -> list[tuple[str, str]]:
    """Return what there is to say of `task`, a line each."""
    from msgspec import UnsetType

    from sow.ids import PhaseName, TaskId

    times = Times(utc_now())
    facts = [
        (STATUS, task.status.value),
        ("agent", task.assigned_agent),
        ("phase", task.phase),
        ("iteration", str(task.iteration)),
        ("key", "" if isinstance(task.key, UnsetType) else task.key),
        ("depends on", ", ".join(task.depends_on)),
        ("priority", "" if isinstance(task.priority, UnsetType) else str(task.priority)),
        ("session", _session(task)),
        ("clone", _clone(task)),
        *((name, _time(getattr(task, f"{name}_at"), times)) for name in _TIMES),
        ("references", ", ".join(map(str, task.references))),
        *_review(task),
        ("checks", "" if isinstance(task.checks, UnsetType) else ", ".join(task.checks)),
        ("requires", "" if isinstance(task.requires, UnsetType) else ", ".join(task.requires)),
        *_check(task, times),
        ("merged", _merged(task, times)),
        *_used(_costs(workspace, task)),
        ("files", ", ".join(task.files_modified)),
        *((key, str(value)) for key, value in task.metadata.items()),
        ("folder", os.path.relpath(workspace.task(PhaseName(task.phase), TaskId(task.id)))),
    ]
    return [(label, value) for label, value in facts if value]


def _review(task: "Task") -> "Iterator[tuple[str, str]]":
    """Yield the last verdict, what it lets steer agents, and the corrections, if there are any."""
    from msgspec import UNSET

    if task.review is UNSET and not task.feedback:
        return
    from sow.cli.review import feedback_words, steering_words, verdict_words

    yield "review", verdict_words(task)
    yield "steering", steering_words(task)
    yield "feedback", ", ".join(map(feedback_words, task.feedback))


STATUS = "status"
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


def _costs(workspace: "Workspace", task: "Task") -> "CostSum | None":
    """Return what its agents have used; None where no agent has, or nobody can tell now."""
    is_there = os.path.exists(workspace.queue_db)  # noqa: PTH110 - nor can every user see it
    if not is_there and not may_be_on_server(workspace):
        return None
    # They read the queue's file: nothing is in it of a task before its first job.
    from contextlib import closing

    from sow.errors import QueueError
    from sow.ids import ProjectId, TaskId
    from sow.jobs import spending
    from sow.jobs.database import open_existing_queue
    from sow.state.kept.store import project_id_at

    try:
        database = open_existing_queue(workspace)
        if database is None:
            return None
        project = ProjectId(project_id_at(workspace.root))
        with closing(database):
            used = spending.used_for_task(database, project, TaskId(task.id), now=utc_now())
    except QueueError:
        return None
    if not used.runs:
        return None
    from sow.reports.costs import cost_sum

    return cost_sum(used)


def _used(total: "CostSum | None") -> list[tuple[str, str]]:
    """Return what its agents have used, if any has."""
    if total is None:
        return []
    # Only where there is something to tell.
    from sow.reports.costs import cost_words, token_words

    return [("cost", cost_words(total)), ("tokens", token_words(total))]


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
