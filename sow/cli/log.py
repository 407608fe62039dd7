"""`sow log` and `sow task log`, and what else commands show of the texts beside a task's state.

Owns how an entry of a log reads: its local time with its date, who did it, what.
"""

import sys
import time

from sow.cli import completing
from sow.cli import late_click as click
from sow.cli.arguments import about_tasks, here, task_argument
from sow.cli.log_entries import entry_lines
from sow.cli.output import MOST, echo_json, echo_json_lines, json_option
from sow.clock import format_time, parse_time, utc_now
from sow.errors import UsageError
from sow.files import NotAFile, read_inside, unreadable
from sow.ids import TaskId, parse_task_id
from sow.paths import Workspace
from sow.schema.output.tasks import Description, LogEntryView, LogLine
from sow.state.all_logs import LogFollower, Logged, Wanted, read_logs
from sow.state.places import TaskPlace, find_task
from sow.state.task_log import last_entries, read_entries

DESCRIPTION_LIMIT = 1 << 24
"""The largest description that is printed, in bytes."""


@click.command()
@task_argument
@click.option(
    "-n", "--last", type=click.IntRange(min=1), metavar="N", help="Only the last N entries."
)
@json_option
def log(task_id: TaskId, last: int | None, as_json: bool) -> None:
    """Print the log of TASK: what was done, entry by entry, in local time.

    `sow agent log` adds to it.
    """
    place = find_task(here(), task_id)
    entries = last_entries(place.log, last) if last else read_entries(place.log)
    if as_json:
        echo_json_lines(LogEntryView(**entry._asdict()) for entry in entries)
    elif not entries:
        click.echo(f"Nothing is in the log of task {place.task_id} yet.", err=True)
    for line in [] if as_json else entry_lines(entries):
        click.echo(line)


def print_description(workspace: Workspace, place: TaskPlace, *, as_json: bool) -> None:
    """Print what is to be done, as the file has it. Raises NotAFile."""
    try:
        data = read_inside(place.description, workspace.root, DESCRIPTION_LIMIT)
        text = data.decode("utf-8", "replace")
    except FileNotFoundError as error:
        raise unreadable(place.description, error) from error
    if as_json:
        echo_json(Description(task=place.task_id, description=text))
    else:
        click.echo(text, nl=not text.endswith("\n"))


FOLLOW_SECONDS = 0.5
"""How often whoever follows asks for the sizes of the logs."""
PROJECT = "-"
"""What stands for the project where a task's id would."""


def moment_of(text: str, now: float) -> float:
    """Return the moment that an option names, in seconds since the epoch. Raises UsageError."""
    from sow.config.units import parse_duration  # of the configuration, and used here alone

    try:
        return _within_calendars(now - parse_duration(text))
    except (ValueError, OverflowError, OSError):
        pass
    try:
        return _within_calendars(parse_time(text))
    except (ValueError, OverflowError, OSError):
        raise UsageError(
            f"--since: not a length of time, and not a time: {text!r}",
            hint="For example: --since 2h, or --since 2026-01-31T12:00:00Z",
        ) from None


def _within_calendars(moment: float) -> float:
    format_time(moment)  # raises for what no calendar holds
    return moment


@click.command("log")
@click.option("--task", help="Only this task's log.", shell_complete=completing.tasks)
@click.option(
    "--agent",
    help="Only entries of this role, and entries of sow about its jobs.",
    shell_complete=completing.roles,
)
@click.option(
    "--since", metavar="D", help="Only entries since then: 30m, 2h or 1d ago, or a time (ISO 8601)."
)
@click.option("-n", "--last", type=click.IntRange(1, MOST), help="Only this many, the newest.")
@click.option("-f", "--follow", is_flag=True, help="Follow until Ctrl-C.")
@json_option
def show_log(
    task: str | None,
    agent: str | None,
    since: str | None,
    last: int | None,
    follow: bool,
    as_json: bool,
) -> None:
    """Show the logs of the project and of its tasks, the oldest entry first.

    The logs have the entries of agents and people (`sow agent log`), each change
    of a task's status and of the project's state, and the end of each job. A log
    that cannot be read is named; the others are still shown.
    """
    about_tasks(*([task] if task else []))
    workspace = here()
    wanted = Wanted(
        task=parse_task_id(task) if task else None,
        agent=agent,
        since=format_time(moment_of(since, utc_now())) if since else None,
    )
    if not follow:
        errors: list[NotAFile] = []
        entries = read_logs(workspace, wanted, errors.append)
        if agent and not entries:
            _refuse_unknown(agent, read_logs(workspace, Wanted(), errors.append))
        _print(entries[-last:] if last else entries, as_json=as_json)
        if errors:
            raise errors[0]
        if not entries and not as_json:
            click.echo("No log entry matches.", err=True)
        return
    follower = LogFollower(workspace, wanted, _note)
    entries = follower.new()
    _print(entries[-last:] if last else entries, as_json=as_json)
    while True:
        time.sleep(FOLLOW_SECONDS)
        _print(follower.new(), as_json=as_json)


def _note(error: NotAFile) -> None:
    click.echo(f"Note: {error.message}", err=True)


def _refuse_unknown(agent: str, entries: list[Logged]) -> None:
    """Raise UnknownAgent where no role is called so, and nobody who has logged anything."""
    from sow.agents.roles import get_agent  # nearly always somebody has logged

    if all(agent not in (entry.agent, entry.role) for _, entry in entries):
        get_agent(agent)


def _print(entries: list[Logged], *, as_json: bool) -> None:
    for task, entry in entries:
        if as_json:
            echo_json(LogLine(task=task, **entry._asdict()))
            continue
        for number, line in enumerate(entry_lines([entry])):
            click.echo(f"{task or PROJECT:<4}  {line}" if number == 0 else f"      {line}")
    sys.stdout.flush()
