"""What the agents of one job have said and done, printed from where it stopped.

Owns the forms: lines for people, events for programs, bytes as they are. Which jobs
and how long is `job_logs`'s; what an event means is `sow.reports.agent_events`.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

import click

from sow.cli.chunks import chunks_of
from sow.cli.event_lines import lines_of
from sow.cli.output import echo_json_lines, shown_state
from sow.cli.step_logs import StepReader
from sow.clock import clock_time, format_time, utc_now
from sow.config.merge_check import SETUP
from sow.executors import base
from sow.executors.base import EventKind
from sow.paths import AttemptPaths
from sow.reports.agent_events import Event, OutputReader
from sow.reports.views import dollars
from sow.schema.job import Job

MANY = 20
"""Of so many first events one tells its time, where an output tells times at all."""


@dataclass(frozen=True)
class LogOptions:
    """What is printed of the agents' output, and in which form."""

    follow: bool
    raw: bool
    errors: bool
    as_json: bool
    attempt: int | None
    since: float | None = None


class AttemptLogs:
    """Prints the files of a job's attempts from where it stopped."""

    def __init__(self, job: Job, options: LogOptions, prefix: str = "") -> None:
        """`prefix` stands before each line for people: whose it is, where several are shown."""
        self.job = job
        self.options = options
        self.prefix = prefix
        self.raw = options.raw or options.errors
        self.steps = StepReader(
            job,
            raw=self.raw,
            errors=options.errors,
            as_json=options.as_json,
            prefix=prefix,
        )
        self._positions: dict[int, int] = {}
        self._readers: dict[int, OutputReader] = {}
        self._timed: set[int] = set()

    def print_new(self, number: int, paths: AttemptPaths, *, heading: bool, live: bool) -> None:
        """Print what an attempt's files have gained. `live`: it came just now."""
        if self.job.executor is None:
            self.steps.print_new(number, paths, heading=heading, since=self.options.since)
            return
        if not self.raw:
            since = self.options.since
            self.steps.print_file(number, SETUP, paths.setup_log, heading=heading, since=since)
        if heading and not self.options.as_json and number not in self._positions:
            click.echo(f"{self.prefix}==> attempt {number} <==")
        self._positions.setdefault(number, 0)
        if self.raw:
            self._print_bytes(number, paths)
        else:
            self._print_events(number, paths, live=live)
        sys.stdout.flush()

    def print_rest(self) -> None:
        """Print what a line tells that nobody has ended: no more is to come."""
        self.steps.print_rest()
        for number, reader in self._readers.items():
            if self.options.as_json:
                self._print_records(number, reader.found_in_rest())
            else:
                self._print_lines(number, reader.read_rest(), live=False)
        sys.stdout.flush()

    def _print_bytes(self, number: int, paths: AttemptPaths) -> None:
        path = paths.stderr if self.options.errors else paths.output
        for chunk in chunks_of(path, self._positions[number]):
            self._positions[number] += len(chunk)
            sys.stdout.buffer.write(chunk)

    def _print_events(self, number: int, paths: AttemptPaths, *, live: bool) -> None:
        since = None if number in self._readers else self.options.since
        if number not in self._readers:
            self._readers[number] = OutputReader(paths.output, self.job.agents_executor)
        reader = self._readers[number]
        if self.options.as_json:
            self._print_records(number, reader.found(since))
        else:
            self._print_lines(number, reader.read(since=since), live=live)

    def _print_records(self, number: int, events: Iterator[base.Event]) -> None:
        wanted = (event for event in events if event.kind is not EventKind.USAGE)
        echo_json_lines(event_record(self.job, number, event) for event in wanted)

    def _print_lines(self, number: int, events: Iterator[Event], *, live: bool) -> None:
        first = list(islice(events, MANY))
        if live or any(event.at is not None for event in first):
            self._timed.add(number)
        for event in chain(first, events):
            clock = self._clock(number, event, live=live)
            for line in lines_of(event, shown_state):
                click.echo(f"{self.prefix}{clock}{line}".rstrip())
                clock = " " * len(clock)

    def _clock(self, number: int, event: Event, *, live: bool) -> str:
        """Return when an event was, in the width of all times; nothing where none is told."""
        if number not in self._timed:
            return ""
        now = utc_now()
        at = now if event.at is None and live else event.at
        return f"{clock_time(at, now) if at is not None else '':8}  "


def event_record(job: Job, attempt: int, event: base.Event) -> dict[str, Any]:
    """Return an event as one object; what its kind does not tell is left out."""
    record = {
        "job": job.id,
        "attempt": attempt,
        "kind": event.kind.value,
        "at": format_time(event.at) if event.at is not None else None,
        "text": _words_for_programs(event),
        "session_id": event.session_id,
        "tool": event.tool,
        "is_error": event.is_error or None,
        "http_status": event.status,
        "resets_at": format_time(event.resets_at) if event.resets_at else None,
        "cost_usd": dollars(event.cost_usd),
        "count": event.count if event.kind is EventKind.BACKGROUND else None,
    }
    return {name: value for name, value in record.items() if value is not None}


def _words_for_programs(event: base.Event) -> str | None:
    """Return an event's words; what a tool has answered well is left to `--raw`: it is long."""
    answered_well = event.kind is EventKind.TOOL_RESULT and not event.is_error
    return None if answered_well else event.text or None
