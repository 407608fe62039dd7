"""`sow job logs`."""

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import wraps
from typing import Any, TypeVar, cast

import click

from sow.cli import completing
from sow.cli.arguments import here
from sow.cli.chunks import chunks_of
from sow.cli.following import LOOK_SECONDS
from sow.cli.job_record import find_job, open_jobs
from sow.cli.output import COUNT, echo_json_lines, json_option
from sow.cli.shown import outcome_is_shown
from sow.cli.step_logs import StepReader
from sow.clock import format_time, utc_now
from sow.config.merge_check import SETUP
from sow.errors import UsageError
from sow.executors.base import Event, EventKind
from sow.executors.lines import WholeLines
from sow.executors.registry import make_executor
from sow.jobs import jobs
from sow.jobs.database import Database
from sow.paths import AttemptPaths, Workspace
from sow.reports.last_deed import retry_words
from sow.reports.outcome import line_of
from sow.reports.views import dollars, outcome_of
from sow.schema.job import Job

F = TypeVar("F", bound=Callable[..., Any])


MARKS = {
    EventKind.TEXT: "  ",
    EventKind.TOOL_USE: "> ",
    EventKind.TOOL_RESULT: "< ",
    EventKind.API_RETRY: "! ",
    EventKind.RATE_LIMIT: "! ",
    EventKind.DENIAL: "! ",
    EventKind.RESULT: "= ",
}


@dataclass(frozen=True)
class LogOptions:
    """What is printed of the agents' output, and in which form."""

    follow: bool
    raw: bool
    errors: bool
    as_json: bool
    attempt: int | None


def log_options(function: F) -> F:
    """Give a command the options of `sow job logs`, passed to it as `options`."""

    @wraps(function)
    def with_options(
        *, follow: bool, raw: bool, errors: bool, as_json: bool, attempt: int | None, **others: Any
    ) -> Any:
        if as_json and (raw or errors):
            raise click.UsageError("--json tells events; --raw and --stderr are bytes")
        return function(options=LogOptions(follow, raw, errors, as_json, attempt), **others)

    decorators = (
        click.option("-f", "--follow", is_flag=True, help="Go on until the job has ended."),
        click.option("--raw", is_flag=True, help="The CLI's own output, byte for byte."),
        click.option("--stderr", "errors", is_flag=True, help="What it wrote to standard error."),
        json_option,
        click.option("--attempt", type=COUNT, help="Only this attempt."),
    )
    command: Any = with_options
    for decorator in reversed(decorators):
        command = decorator(command)
    return cast("F", command)


@click.command()
@click.argument("job_id", metavar="JOB", shell_complete=completing.jobs)
@log_options
def logs(job_id: str, options: LogOptions) -> None:
    """Print what the agent of JOB said and did, attempt by attempt.

    What `clones.setup` has printed stands before it. Standard error tells last
    how the job ended, if it has.
    """
    workspace = here()
    database = open_jobs(workspace)
    job = find_job(database, job_id)
    assert database is not None  # noqa: S101 - a job was found in it
    print_logs(workspace, database, job, options)


def print_logs(workspace: Workspace, database: Database, job: Job, options: LogOptions) -> None:
    """Print what a job's agents said and did, and how the job ended, if it has.

    Raises UsageError for an attempt that the job has not had.
    """
    _refuse_no_attempt(database, job, options)
    reader = _reader_of(job, options)

    def numbers() -> list[int]:
        found = [attempt.number for attempt in jobs.attempts(database, job.id)]
        return [number for number in found if options.attempt in (None, number)]

    def paths(number: int) -> AttemptPaths:
        return workspace.attempt(job.id, number)

    _print_all(reader, numbers, paths, several=not options.attempt)
    if options.follow:
        _follow(reader, numbers, paths, database, LOOK_SECONDS)
    _print_end(workspace, database, jobs.get_job(database, job.id))


def _reader_of(job: Job, options: LogOptions) -> "_Reader | StepReader":
    if job.executor is None:
        return StepReader(
            job,
            raw=options.raw or options.errors,
            errors=options.errors,
            as_json=options.as_json,
        )
    return _Reader(job, raw=options.raw, errors=options.errors, as_json=options.as_json)


def _refuse_no_attempt(database: Database, job: Job, options: LogOptions) -> None:
    """Say that there is no such attempt, unless it is followed and may still begin."""
    count = len(jobs.attempts(database, job.id))
    if not options.attempt or options.attempt <= count:
        return
    if options.follow and not job.state.is_final:
        return
    raise UsageError(
        f"job {job.id} has no attempt {options.attempt}: it has had {count}",
        hint=f"`sow job show {job.id}` lists its attempts.",
    )


def _print_end(workspace: Workspace, database: Database, job: Job) -> None:
    """Tell on stderr how a job ended; stdout is the agents' own."""
    if job.state.is_final:
        outcome = outcome_of(job, jobs.attempts(database, job.id))
        click.echo(line_of(outcome, now=utc_now()), err=True)
        outcome_is_shown(workspace, database, job)


def _print_all(
    reader: "_Reader | StepReader",
    numbers: Callable[[], list[int]],
    paths: Callable[[int], AttemptPaths],
    *,
    several: bool,
) -> None:
    for number in numbers():
        reader.print_new(number, paths(number), heading=several)


def _follow(
    reader: "_Reader | StepReader",
    numbers: Callable[[], list[int]],
    paths: Callable[[int], AttemptPaths],
    database: Database,
    seconds: float,
) -> None:
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
        self.executor = make_executor(job.agents_executor)
        self.setup = StepReader(job, raw=False, errors=False, as_json=as_json)
        self.positions: dict[int, int] = {}
        self.lines: dict[int, WholeLines] = {}

    def print_new(self, number: int, paths: AttemptPaths, *, heading: bool) -> None:
        """Print what an attempt's file has gained."""
        if not self.raw:
            self.setup.print_file(number, SETUP, paths.setup_log, heading=heading)
        if heading and not self.as_json and number not in self.positions:
            click.echo(f"==> attempt {number} <==")
        position = self.positions.setdefault(number, 0)
        path = paths.stderr if self.errors else paths.output
        for chunk in chunks_of(path, position):
            self.positions[number] += len(chunk)
            self._print(number, chunk)
        sys.stdout.flush()

    def _print(self, number: int, chunk: bytes) -> None:
        if self.raw:
            sys.stdout.buffer.write(chunk)
            return
        lines = self.lines.setdefault(number, WholeLines())
        found = self.executor.read(lines.feed(chunk))
        events = (event for event in found if event.kind is not EventKind.USAGE)
        if self.as_json:
            echo_json_lines(event_record(number, event) for event in events)
            return
        for event in events:
            for words in describe(event):
                click.echo(words)


def event_record(attempt: int, event: Event) -> dict[str, Any]:
    """Return an event as one object; what its kind does not tell is left out."""
    record = {
        "attempt": attempt,
        "kind": event.kind.value,
        "text": _told_text(event),
        "session_id": event.session_id,
        "tool": event.tool,
        "is_error": event.is_error or None,
        "http_status": event.status,
        "resets_at": format_time(event.resets_at) if event.resets_at else None,
        "cost_usd": dollars(event.cost_usd),
        "count": event.count if event.kind is EventKind.BACKGROUND else None,
    }
    return {name: value for name, value in record.items() if value is not None}


def _told_text(event: Event) -> str | None:
    """Return an event's words; what a tool has answered well is left to `--raw`: it is long."""
    answered_well = event.kind is EventKind.TOOL_RESULT and not event.is_error
    return None if answered_well else event.text or None


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
        case EventKind.TOOL_RESULT if not event.is_error:
            return ""
        case EventKind.API_RETRY:
            return retry_words(event)
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
