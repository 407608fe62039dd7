"""`sow job logs`."""

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click

from sow.cli import completing
from sow.cli.arguments import here
from sow.cli.job_record import find_job, open_jobs
from sow.cli.output import echo_json_lines, json_option
from sow.clock import format_time
from sow.executors.base import Event, EventKind
from sow.executors.lines import WholeLines
from sow.executors.registry import make_executor
from sow.files import open_regular, unreadable
from sow.jobs import jobs
from sow.jobs.database import Database
from sow.paths import AttemptPaths
from sow.schema.job import Job

CHUNK_BYTES = 1 << 18

MARKS = {
    EventKind.TEXT: "  ",
    EventKind.TOOL_USE: "> ",
    EventKind.TOOL_RESULT: "< ",
    EventKind.API_RETRY: "! ",
    EventKind.RATE_LIMIT: "! ",
    EventKind.DENIAL: "! ",
    EventKind.RESULT: "= ",
}


@click.command()
@click.argument("job_id", metavar="JOB", shell_complete=completing.jobs)
@click.option("-f", "--follow", is_flag=True, help="Go on until the job has ended.")
@click.option("--raw", is_flag=True, help="The CLI's own output, byte for byte.")
@click.option("--stderr", "errors", is_flag=True, help="What it wrote to standard error.")
@json_option
@click.option("--attempt", type=click.IntRange(min=1), help="Only this attempt.")
def logs(
    job_id: str, follow: bool, raw: bool, errors: bool, as_json: bool, attempt: int | None
) -> None:
    """Print what the agent of JOB said and did, attempt by attempt."""
    if as_json and (raw or errors):
        raise click.UsageError("--json tells events; --raw and --stderr are bytes")
    workspace = here()
    database = open_jobs(workspace)
    job = find_job(database, job_id)
    assert database is not None  # noqa: S101 - a job was found in it
    reader = _Reader(job, raw=raw, errors=errors, as_json=as_json)

    def numbers() -> list[int]:
        found = [one.number for one in jobs.attempts(database, job.id)]
        return [number for number in found if attempt in (None, number)]

    _print_all(
        reader, numbers, lambda number: workspace.attempt(job.id, number), several=not attempt
    )
    if follow:
        from sow.cli.following import LOOK_SECONDS

        _follow(reader, numbers, lambda n: workspace.attempt(job.id, n), database, LOOK_SECONDS)


def _print_all(
    reader: "_Reader",
    numbers: Callable[[], list[int]],
    paths: Callable[[int], AttemptPaths],
    *,
    several: bool,
) -> None:
    for number in numbers():
        reader.print_new(number, paths(number), heading=several)


def _follow(
    reader: "_Reader",
    numbers: Callable[[], list[int]],
    paths: Callable[[int], AttemptPaths],
    database: Database,
    seconds: float,
) -> None:
    import time

    while True:
        ended = jobs.get_job(database, reader.job.id).state.is_final
        _print_all(reader, numbers, paths, several=True)
        if ended:
            return
        time.sleep(seconds)


class _Reader:
    """Prints the files of a job's attempts from where it stopped."""

    def __init__(self, job: Job, *, raw: bool, errors: bool, as_json: bool = False) -> None:
        self.job = job
        self.as_json = as_json
        self.raw = raw or errors
        self.errors = errors
        self.executor = make_executor(job.executor)
        self.positions: dict[int, int] = {}
        self.lines: dict[int, WholeLines] = {}

    def print_new(self, number: int, paths: AttemptPaths, *, heading: bool) -> None:
        """Print what an attempt's file has gained."""
        if heading and not self.as_json and number not in self.positions:
            click.echo(f"==> attempt {number} <==")
        position = self.positions.setdefault(number, 0)
        path = paths.stderr if self.errors else paths.output
        for chunk in _chunks(path, position):
            self.positions[number] += len(chunk)
            self._print(number, chunk)
        sys.stdout.flush()

    def _print(self, number: int, chunk: bytes) -> None:
        if self.raw:
            sys.stdout.buffer.write(chunk)
            return
        lines = self.lines.setdefault(number, WholeLines())
        events = self.executor.read(lines.feed(chunk))
        if self.as_json:
            echo_json_lines(event_record(number, one) for one in events)
            return
        for event in events:
            for words in describe(event):
                click.echo(words)


def _chunks(path: Path, position: int) -> Iterator[bytes]:
    try:
        descriptor = open_regular(path)
    except FileNotFoundError:
        return
    except OSError as error:
        raise unreadable(path, error) from error
    try:
        while chunk := os.pread(descriptor, CHUNK_BYTES, position):
            position += len(chunk)
            yield chunk
    finally:
        os.close(descriptor)


def event_record(attempt: int, event: Event) -> dict[str, Any]:
    """Return an event as one object; what its kind does not tell is left out."""
    told = {
        "attempt": attempt,
        "kind": event.kind.value,
        "text": event.text or None,
        "session_id": event.session_id,
        "tool": event.tool,
        "is_error": event.is_error or None,
        "status": event.status,
        "resets_at": format_time(event.resets_at) if event.resets_at else None,
        "cost_usd": event.cost_usd,
        "count": event.count if event.kind is EventKind.BACKGROUND else None,
    }
    return {name: value for name, value in told.items() if value is not None}


def describe(event: Event) -> Iterator[str]:
    """Return one event as lines for people; nothing where it has no words."""
    text = _words(event)
    if text:
        mark = MARKS.get(event.kind, "  ")
        yield mark + text.replace("\n", "\n" + " " * len(mark))


def _words(event: Event) -> str:
    match event.kind:
        case EventKind.SESSION:
            return ""
        case EventKind.API_RETRY:
            return f"request failed ({event.status or 'no answer'}), tried again"
        case EventKind.RATE_LIMIT:
            return event.text or "usage limit"
        case EventKind.DENIAL:
            return f"denied: {event.tool}"
        case EventKind.TOOL_USE:
            return event.text or event.tool or "tool"
        case EventKind.RESULT:
            return f"{'failed' if event.is_error else 'ended'}: {event.text}" if event.text else ""
        case _:
            return event.text.strip()
