"""`sow task log`, and what else commands show of the texts beside a task's state.

Owns how an entry of a log reads: its local time with its date, who did it, what.
"""

import os
from collections.abc import Iterator
from contextlib import suppress

import click

from sow.cli import completing
from sow.cli.arguments import here, named_task
from sow.cli.output import echo_json, echo_json_lines, json_option
from sow.cli.task_options import id_option
from sow.clock import local_time, parse_time
from sow.files import NotAFile, read_inside, unreadable
from sow.paths import Workspace
from sow.schema.output.tasks import Description, LogEntryView
from sow.state.log_writing import LogEntry
from sow.state.places import TaskPlace, find_task
from sow.state.task_log import last_entries, read_entries
from sow.terminal_text import printable, printable_lines

SHOWN_ENTRIES = 3
"""How many entries `sow task show` tells."""
LOOKED_AT = 4 * SHOWN_ENTRIES
STATUS = "status"
"""The event of an entry that tells of a change of status."""
DESCRIPTION_LIMIT = 1 << 24
"""The largest description that is printed, in bytes."""


@click.command()
@click.argument("task", required=False, shell_complete=completing.tasks)
@id_option
@click.option(
    "-n", "--last", type=click.IntRange(min=1), metavar="N", help="Only the last N entries."
)
@json_option
def log(task: str | None, task_option: str | None, last: int | None, as_json: bool) -> None:
    """Print the log of TASK: what was done, entry by entry, in local time.

    `sow agent log` adds to it.
    """
    place = find_task(here(), named_task(task, task_option, os.environ))
    entries = last_entries(place.log, last) if last else read_entries(place.log)
    if as_json:
        echo_json_lines(LogEntryView(**entry._asdict()) for entry in entries)
    elif not entries:
        click.echo(f"Nothing is in the log of task {place.task_id} yet.", err=True)
    for line in [] if as_json else entry_lines(entries):
        click.echo(line)


def entry_lines(entries: list[LogEntry]) -> Iterator[str]:
    """Yield entries for people: a line each, and below it what more there is to them."""
    for entry in entries:
        yield head_line(entry)
        for line in printable_lines(entry.text):
            yield f"    {line}".rstrip()
        if entry.files:
            yield f"    files: {', '.join(map(printable, entry.files))}"


def head_line(entry: LogEntry) -> str:
    """Return an entry's one line."""
    at = entry.timestamp
    with suppress(ValueError, OverflowError, OSError):  # a year that no calendar of the system has
        at = local_time(parse_time(at))
    result = f" ({printable(entry.result)})" if entry.result else ""
    return f"{at}  {printable(entry.agent)}  {printable(entry.action)}{result}"


def end_of_log(place: TaskPlace) -> list[str]:
    """Return the last entries of a task's log, a line each, or why it cannot be read.

    Changes of status are left out: where the task stands, its reader knows by then.
    """
    try:
        entries = last_entries(place.log, LOOKED_AT)
    except NotAFile as error:
        return [error.message]
    shown = [entry for entry in entries if entry.event != STATUS]
    return [head_line(entry) for entry in shown[-SHOWN_ENTRIES:]]


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
